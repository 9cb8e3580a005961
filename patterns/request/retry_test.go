// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// inTriangle runs f with a caller and two hosts, both linked to it. Host a has
// member 1, host b member 2; the fake directory prefers member 1.
func inTriangle(t *testing.T, first, second patterns.Handler, f func(t *testing.T, w *world, caller, a, b *fakeNode)) {
	t.Helper()
	inBubble(t, func(t *testing.T, w *world, caller, a *fakeNode) {
		b := w.node("b", nil)
		w.connect(caller, b)
		w.member(a, 1, "geo", first, patterns.Limits{Concurrency: 1, QueueLength: -1})
		w.member(b, 2, "geo", second, patterns.Limits{})
		f(t, w, caller, a, b)
	})
}

func TestRequestIsTriedElsewhereWhenItsMemberIsBusy(t *testing.T) {
	// This test checks that a refusal costs a round trip and no more, and what
	// the cluster layer learns of it.
	inTriangle(t, takes("first", time.Minute), takes("second", 0), func(t *testing.T, w *world, caller, a, _ *fakeNode) {
		w.wg.Go(func() { _, _ = do(caller, body("x")) })
		time.Sleep(5 * time.Millisecond)
		var how patterns.RequestReport
		begin := time.Now()
		replies(t, caller, "second", patterns.Report(&how))
		require.Equal(t, patterns.RequestReport{Member: "0000000000000002", Attempts: 2}, how)
		require.Equal(t, 4*w.latency, time.Since(begin))
		require.Equal(t, wire.OutcomeOverloaded, w.done[0].Outcome)
		require.Equal(t, 1, w.done[0].Running)
		require.Equal(t, wire.OutcomeReply, w.done[1].Outcome)
		require.Equal(t, map[string]uint64{"queue_length": 1}, a.engine.Drops())
		require.EqualValues(t, 1, caller.engine.Calls().Retried)
		caller.stop()
	})
}

func TestRequestIsRetriedWhenMemberLeaves(t *testing.T) {
	// This test drains a member under load: callers that have not heard of it
	// are refused and go elsewhere, what was accepted is finished, nobody sees
	// an error, and Drain returns when the last handler has.
	inTriangle(t, takes("first", 30*time.Millisecond), takes("second", time.Millisecond), func(t *testing.T, w *world, caller, a, _ *fakeNode) {
		s, err := a.engine.AddMember(3, "geo", patterns.ServiceOf(takes("third", 30*time.Millisecond)), patterns.Limits{Concurrency: 2})
		require.NoError(t, err)
		w.unlist("geo", 1)
		w.unlist("geo", 2)
		w.list("geo", &cluster.Member{ID: 3, Peer: a.id, Incarnation: 7})
		w.list("geo", &cluster.Member{ID: 2, Peer: "b", Incarnation: 7})
		var ok, third atomic.Int64
		for i := range 100 {
			w.later(time.Duration(i)*time.Millisecond, func() {
				reply, err := do(caller, body("x"))
				if err == nil {
					ok.Add(1)
				}
				if string(reply.Body) == "third" {
					third.Add(1)
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
		begin := time.Now()
		require.NoError(t, s.Drain(t.Context()))
		require.NotZero(t, time.Since(begin))
		require.NoError(t, s.Drain(t.Context()), "it is idempotent")
		require.Empty(t, a.engine.Drops()["queue_length"])
		require.NotZero(t, a.engine.Drops()["draining"])
		time.Sleep(time.Second)
		require.EqualValues(t, 100, ok.Load())
		require.NotZero(t, third.Load())
		_, err = do(caller, body("x"))
		require.NoError(t, err)
		require.NotZero(t, a.engine.Drops()["no_such_member"], "it is gone, and the directory does not know")
	})
}

func TestAnInterruptedRequestIsSentAgainOnlyIfIdempotent(t *testing.T) {
	// This test cuts the link while a handler runs.
	inTriangle(t, takes("first", time.Minute), takes("second", 0), func(t *testing.T, w *world, caller, a, _ *fakeNode) {
		for _, idempotent := range []bool{false, true} {
			w.connect(caller, a)
			w.later(100*time.Millisecond, func() { w.cut(caller, a) })
			var how patterns.RequestReport
			opts := []patterns.RequestOption{patterns.Report(&how)}
			if idempotent {
				opts = append(opts, patterns.Idempotent())
			}
			begin := time.Now()
			reply, err := do(caller, body("x"), opts...)
			if !idempotent {
				require.Equal(t, patterns.ErrInterrupted, err)
				require.Equal(t, patterns.RequestReport{Attempts: 1}, how)
				require.Equal(t, 100*time.Millisecond, time.Since(begin))
				continue
			}
			require.NoError(t, err)
			require.Equal(t, "second", string(reply.Body))
			require.Equal(t, 102*time.Millisecond, time.Since(begin))
			require.Equal(t, 2, how.Attempts)
		}
	})
}

func TestASuspectMembersRequestsAreSentElsewhereIfIdempotent(t *testing.T) {
	// This test checks that doubt sends a second copy after 20 ms, that the first reply
	// wins, and that the other member is told to stop.
	inTriangle(t, takes("first", time.Second), takes("second", 300*time.Millisecond), func(t *testing.T, w *world, caller, a, _ *fakeNode) {
		w.later(100*time.Millisecond, func() { w.doubt(caller, a) })
		var how patterns.RequestReport
		begin := time.Now()
		replies(t, caller, "second", patterns.Idempotent(), patterns.Report(&how))
		require.Equal(t, 422*time.Millisecond, time.Since(begin))
		require.Equal(t, 2, how.Attempts)
		time.Sleep(5 * time.Millisecond)
		require.Equal(t, []wire.Kind{wire.KindRequest, wire.KindCancel}, caller.link(a.id).sent)
		require.Zero(t, a.engine.Status()[0].Running, "the handler's context has ended")
	})
	inTriangle(t, takes("first", 200*time.Millisecond), takes("second", time.Second), func(t *testing.T, w *world, caller, a, _ *fakeNode) {
		w.later(100*time.Millisecond, func() { w.doubt(caller, a) })
		replies(t, caller, "first", patterns.Idempotent()) // it was only slow
	})
	inTriangle(t, takes("first", time.Second), takes("second", 0), func(t *testing.T, w *world, caller, a, _ *fakeNode) {
		w.later(100*time.Millisecond, func() { w.doubt(caller, a) })
		replies(t, caller, "first") // never two copies of what is not idempotent
	})
}

func TestRequestIsTriedElsewhereWhenItsMemberCannotBeReached(t *testing.T) {
	// This test checks a refused dial, and one that hangs.
	inTriangle(t, echo, takes("second", 0), func(t *testing.T, w *world, caller, a, _ *fakeNode) {
		w.cut(caller, a)
		w.set(caller, a, func(l *fakeLink) { l.refuse = true })
		begin := time.Now()
		_, err := do(caller, body("x"))
		require.NoError(t, err)
		require.Equal(t, 4*w.latency, time.Since(begin))

		w.set(caller, a, func(l *fakeLink) { l.refuse, l.hang = false, true })
		begin = time.Now()
		_, err = do(caller, body("x"))
		require.NoError(t, err)
		require.Equal(t, time.Second+2*w.latency, time.Since(begin))
	})
}

func TestAnotherMemberOnALostNodeIsNoChoice(t *testing.T) {
	// This test puts three members on a node that dies: the retry goes to the
	// one elsewhere, though the directory does not know yet.
	inBubble(t, func(t *testing.T, w *world, caller, a *fakeNode) {
		b := w.node("b", nil)
		w.connect(caller, b)
		for id := cluster.MemberID(1); id <= 3; id++ {
			w.member(a, id, "geo", stuck, patterns.Limits{})
		}
		w.member(b, 4, "geo", takes("b", 0), patterns.Limits{})
		w.set(caller, a, func(l *fakeLink) { l.hang = true })
		w.later(10*time.Millisecond, func() { w.cut(caller, a) })
		var how patterns.RequestReport
		begin := time.Now()
		_, err := do(caller, body("x"), patterns.Idempotent(), patterns.Report(&how))
		require.NoError(t, err)
		require.Equal(t, 2, how.Attempts)
		require.Equal(t, 12*time.Millisecond, time.Since(begin))
	})
}

func TestARestartedMemberIsFoundAgain(t *testing.T) {
	// This test checks that an idempotent request survives the restart of the
	// only member, that it does not spin while it waits, and that it gives up
	// after two seconds.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.unknown = true // so that the empty view is not believed
		w.member(host, 1, "geo", stuck, patterns.Limits{})
		w.later(50*time.Millisecond, func() {
			w.unlist("geo", 1)
			w.cut(caller, host)
			time.Sleep(time.Second)
			w.member(host, 2, "geo", takes("again", 0), patterns.Limits{})
		})
		begin := time.Now()
		replies(t, caller, "again", patterns.Idempotent())
		require.Less(t, time.Since(begin), 1400*time.Millisecond)

		w.unlist("geo", 2)
		w.member(host, 3, "geo", stuck, patterns.Limits{})
		w.later(50*time.Millisecond, func() {
			w.unlist("geo", 3)
			w.cut(caller, host)
		})
		begin = time.Now()
		_, err := do(caller, body("x"), patterns.Idempotent())
		require.Equal(t, patterns.ErrInterrupted, err)
		require.InDelta(t, 2050*time.Millisecond, time.Since(begin), float64(250*time.Millisecond))
	})
}

func TestTheBudgetKeepsCallersFromMultiplyingTheLoad(t *testing.T) {
	// This test has every request refused by every member: of a thousand, a
	// hundred and a fifth are sent again.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		b := w.node("b", nil)
		w.connect(caller, b)
		busy := failing(&patterns.Refusal{Cause: patterns.ErrOverloaded})
		w.member(host, 1, "geo", busy, patterns.Limits{})
		w.member(b, 2, "geo", busy, patterns.Limits{})
		for range 1000 {
			_, err := do(caller, body("x"))
			require.Equal(t, patterns.ErrOverloaded, err)
		}
		require.EqualValues(t, 300, caller.engine.Calls().Retried)
		require.EqualValues(t, 700, caller.engine.Drops()["retry_budget"])
	})
}

func TestAReplyAfterTheOutcomeIsCounted(t *testing.T) {
	// This test freezes the way back until the caller has given up.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", echo, patterns.Limits{})
		w.set(host, caller, func(l *fakeLink) { l.frozen = true })
		_, err := do(caller, body("x"))
		require.Equal(t, &patterns.DeadlineError{Cause: context.DeadlineExceeded, MaybeRan: true}, err)
		require.Equal(t, wire.OutcomeFailed, w.done[0].Outcome)
		w.set(host, caller, func(l *fakeLink) { l.frozen = false })
		time.Sleep(10 * time.Millisecond)
		require.Equal(t, map[string]uint64{"reply_late": 1}, caller.engine.Drops())
	})
}

func TestOnlyWhoWasAskedCanAnswer(t *testing.T) {
	// This test has a third node answer a request that it was not asked.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", takes("true", 50*time.Millisecond), patterns.Limits{})
		liar := w.node("liar", nil)
		w.connect(caller, liar)
		w.later(10*time.Millisecond, func() {
			for id := range uint64(10) {
				_, _ = liar.link(caller.id).Send(0, wire.KindReply, encodeReply(wire.Reply{ID: id}, []byte("false")))
			}
			_, _ = liar.link(caller.id).Send(0, wire.KindReply, []byte("garbage"))
			_, _ = liar.link(caller.id).Send(0, wire.KindCancel, []byte("garbage"))
			_, _ = liar.link(caller.id).Send(0, wire.KindRequest, []byte("garbage"))
		})
		replies(t, caller, "true")
		require.Equal(t, map[string]uint64{"reply_late": 10, "malformed": 3}, caller.engine.Drops())
	})
}

func TestWhatIsKeptForPeersAndClustersIsGivenUpWhenIdle(t *testing.T) {
	// This test checks that the watch and the heartbeats last while they are
	// used, are not begun anew by each request, and end when nobody needs them.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", echo, patterns.Limits{})
		for range 100 {
			_, err := do(caller, body("x"))
			require.NoError(t, err)
			time.Sleep(time.Second)
			require.Equal(t, 1, w.watches)
			require.Equal(t, 1, caller.link(host.id).held)
		}
		require.Zero(t, host.link(caller.id).held)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Zero(t, w.watches)
		require.Zero(t, caller.link(host.id).held)
	})
}
