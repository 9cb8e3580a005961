// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// resume has a hear b again, in the same session.
func (w *world) resume(a, b *fakeNode) {
	var session uint64
	w.set(a, b, func(l *fakeLink) { l.suspect, l.frozen, l.holds, session = false, false, false, l.session })
	a.link(b.id).event(overlay.PeerEvent{Type: overlay.LinkRecovered, Peer: b.id, Session: session})
}

// breaks starts a call, and breaks the connection to host 5 ms later.
func (w *world) breaks(caller, host *fakeNode, a request.Ask) chan outcome {
	out, _ := start(caller, a)
	time.Sleep(5 * time.Millisecond)
	w.doubt(caller, host)
	return out
}

// inTwo is inBubble with a second member, on a node of its own; the first is
// asked first.
func inTwo(t *testing.T, first patterns.Handler, f func(t *testing.T, w *world, caller, host, other *fakeNode)) {
	t.Helper()
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		other := w.node("other", nil)
		w.connect(caller, other)
		w.member(host, 1, "geo", first, patterns.Limits{})
		w.member(other, 2, "geo", takes("other", 0), patterns.Limits{})
		f(t, w, caller, host, other)
	})
}

func TestWhatWasNotWrittenGoesElsewhere(t *testing.T) {
	// The connection breaks before a request is written: it is taken back and goes to
	// another member at once, whether it may be repeated or not.
	for name, idempotent := range map[string]bool{"once": false, "repeatable": true} {
		t.Run(name, func(t *testing.T) {
			inTwo(t, takes("first", 0), func(t *testing.T, w *world, caller, host, _ *fakeNode) {
				w.set(caller, host, func(l *fakeLink) { l.holds = true })
				out := w.breaks(caller, host, request.Ask{Cluster: "geo", Message: body("x"), Options: patterns.RequestOptions{Idempotent: idempotent}})
				got := answered(t, out, "other")
				require.Equal(t, 7*time.Millisecond, got.after)
				w.resume(caller, host)
				time.Sleep(10 * time.Millisecond)
				require.Zero(t, host.engine.Status()[0].Handled)
			})
		})
	}
}

func TestWhatWasNotWrittenWaitsWhereNobodyElseCanBeAsked(t *testing.T) {
	// The connection to the only member breaks before a request is written: the
	// request stays in its lane, and has its reply when the connection is back.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", takes("only", 0), patterns.Limits{})
		w.set(caller, host, func(l *fakeLink) { l.holds = true })
		out := w.breaks(caller, host, request.Ask{Cluster: "geo"})
		time.Sleep(time.Second)
		require.Empty(t, out)
		w.resume(caller, host)
		got := answered(t, out, "only")
		require.Equal(t, 1, got.answer.Attempts)
	})
}

func TestWhatMayBeRepeatedIsSoonTriedElsewhere(t *testing.T) {
	// A request was written when the connection broke. 20 ms later another member is
	// asked; the first attempt stays open, and whoever replies first has answered.
	inTwo(t, takes("first", 50*time.Millisecond), func(t *testing.T, w *world, caller, host, _ *fakeNode) {
		w.set(host, caller, func(l *fakeLink) { l.frozen = true })
		out := w.breaks(caller, host, request.Ask{Cluster: "geo", Options: patterns.RequestOptions{Idempotent: true}})
		got := answered(t, out, "other")
		require.Equal(t, 27*time.Millisecond, got.after)
		w.set(host, caller, func(l *fakeLink) { l.frozen = false })
	})
}

func TestAConnectionThatIsSoonBackCostsNoSecondAttempt(t *testing.T) {
	// It is back within 20 ms: the request goes on where it is.
	inTwo(t, takes("first", 50*time.Millisecond), func(t *testing.T, w *world, caller, host, other *fakeNode) {
		out := w.breaks(caller, host, request.Ask{Cluster: "geo", Options: patterns.RequestOptions{Idempotent: true}})
		time.Sleep(15 * time.Millisecond)
		w.resume(caller, host)
		got := answered(t, out, "first")
		require.Equal(t, 1, got.answer.Attempts)
		require.Zero(t, other.engine.Status()[0].Handled)
	})
}

func TestWhatMayNotBeRepeatedWaitsForItsSession(t *testing.T) {
	// A request that was written waits for the connection to come back, and then has
	// its reply; it is interrupted when the session ends, and not before.
	inTwo(t, takes("first", 50*time.Millisecond), func(t *testing.T, w *world, caller, host, other *fakeNode) {
		out := w.breaks(caller, host, request.Ask{Cluster: "geo"})
		w.set(host, caller, func(l *fakeLink) { l.frozen = true })
		time.Sleep(time.Second)
		require.Empty(t, out)
		w.set(host, caller, func(l *fakeLink) { l.frozen = false })
		w.resume(caller, host)
		answered(t, out, "first")

		out = w.breaks(caller, host, request.Ask{Cluster: "geo"})
		w.set(host, caller, func(l *fakeLink) { l.frozen = true })
		time.Sleep(time.Second)
		require.Empty(t, out)
		w.cut(caller, host)
		require.ErrorIs(t, (<-out).err, patterns.ErrInterrupted)
		require.Zero(t, other.engine.Status()[0].Handled)
	})
}

func TestAProcessThatIsGoneIsNotWaitedFor(t *testing.T) {
	// The session ends before patience does: what may be repeated goes elsewhere at once.
	inTwo(t, takes("first", time.Second), func(t *testing.T, w *world, caller, host, _ *fakeNode) {
		out := w.breaks(caller, host, request.Ask{Cluster: "geo", Options: patterns.RequestOptions{Idempotent: true}})
		time.Sleep(5 * time.Millisecond)
		w.cut(caller, host)
		got := <-out
		require.NoError(t, got.err)
		require.Equal(t, 12*time.Millisecond, got.after)
	})
}

func TestALinkThatKeepsBreakingDoesNotUseUpTheAttempts(t *testing.T) {
	// Every connection breaks before anything is written: after two attempts that were
	// taken back the third waits for its connection.
	inTwo(t, takes("first", 0), func(t *testing.T, w *world, caller, host, other *fakeNode) {
		third := w.node("third", nil)
		w.connect(caller, third)
		w.member(third, 3, "geo", takes("third", 0), patterns.Limits{})
		hosts := []*fakeNode{host, other, third}
		for _, n := range hosts {
			w.set(caller, n, func(l *fakeLink) { l.holds = true })
		}
		out, _ := start(caller, request.Ask{Cluster: "geo"})
		for range 10 {
			for _, n := range hosts {
				time.Sleep(5 * time.Millisecond)
				w.doubt(caller, n)
			}
		}
		time.Sleep(3 * time.Second)
		require.Empty(t, out)
		w.resume(caller, third)
		got := answered(t, out, "third")
		require.Equal(t, 3, got.answer.Attempts)
	})
}
