// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// This file has things happen at the one moment at which they could be missed.

func TestALinkThatIsLostWhileSendReturnsIsNotMissed(t *testing.T) {
	// This test loses the link between the sending and the note of the
	// session: the event comes too early to find the request.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", echo, patterns.Limits{})
		w.set(caller, host, func(l *fakeLink) { l.atSend = func() { w.cut(caller, host) } })
		begin := time.Now()
		_, err := do(caller, body("x"))
		require.Equal(t, patterns.ErrInterrupted, err)
		require.Zero(t, time.Since(begin))
	})
}

func TestALinkThatComesUpWhileSendFailsIsNotMissed(t *testing.T) {
	// This test brings the link up between the failed Send and the wait for
	// the link: the event comes too early to find the request.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", echo, patterns.Limits{})
		w.cut(caller, host)
		w.set(caller, host, func(l *fakeLink) { l.atSend = func() { w.connect(caller, host) } })
		begin := time.Now()
		_, err := do(caller, body("x"))
		require.NoError(t, err)
		require.Equal(t, 2*w.latency, time.Since(begin))
	})
}

func TestAPeerThatIsSuspectAlreadyIsDoubtedAtOnce(t *testing.T) {
	// This test sends to a peer whose suspicion was reported before.
	inTriangle(t, takes("first", time.Second), takes("second", 0), func(t *testing.T, w *world, caller, a, _ *fakeNode) {
		w.doubt(caller, a)
		replies(t, caller, "second", patterns.Idempotent())
		reply, err := do(caller, body("x"))
		require.NoError(t, err)
		require.NotEmpty(t, reply.Body)
	})
}

func TestClosingIsNotMissed(t *testing.T) {
	// This test closes the node just before a request is noted as under way,
	// and while one pauses.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", stuck, patterns.Limits{})
		caller.atBegin = func() { _ = caller.engine.Close() }
		begin := time.Now()
		_, err := do(caller, body("x"))
		require.Equal(t, patterns.ErrClosed, err)
		require.Zero(t, time.Since(begin))
	})
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.unknown = true
		w.member(host, 1, "geo", stuck, patterns.Limits{})
		w.set(caller, host, func(l *fakeLink) { l.hang = true })
		w.later(10*time.Millisecond, func() {
			w.unlist("geo", 1)
			w.cut(caller, host)
			time.Sleep(500 * time.Millisecond)
			_ = caller.engine.Close()
		})
		begin := time.Now()
		_, err := do(caller, body("x"), patterns.Idempotent())
		require.Equal(t, patterns.ErrInterrupted, err)
		require.InDelta(t, 510*time.Millisecond, time.Since(begin), float64(250*time.Millisecond))
	})
}

// lateExec starts handlers a moment after it was told to.
type lateExec struct{ *overlay.Workers }

func (x lateExec) Go(k overlay.ExecKey, f func()) bool {
	return x.Workers.Go(k, func() {
		time.Sleep(10 * time.Millisecond)
		f()
	})
}

func TestAHandlerDoesNotStartForNobody(t *testing.T) {
	// This test cancels a request between the decision to run it and its start.
	workers := overlay.NewWorkers(10)
	late := func(c *request.Config) { c.Exec = lateExec{workers} }
	inBubbleOf(t, nil, late, func(t *testing.T, w *world, caller, host *fakeNode) {
		var ran atomic.Int64
		w.member(host, 1, "geo", patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
			ran.Add(1)
			return patterns.Message{}, nil
		}), patterns.Limits{})
		require.ErrorIs(t, <-w.ask(caller, within(t, 5*time.Millisecond), body("x")), context.DeadlineExceeded)
		ctx, cancel := context.WithCancel(t.Context())
		out := w.ask(caller, ctx, body("x"))
		cancel()
		require.ErrorIs(t, <-out, context.Canceled)
		time.Sleep(time.Second)
		require.Zero(t, ran.Load())
		require.EqualValues(t, 2, host.engine.Drops()["cancelled"])
		host.stop()
		require.NoError(t, workers.Close())
	})
}

func TestTheSameAttemptRunsOnce(t *testing.T) {
	// This test has a broken peer send a request twice while the first runs.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", takes("x", 10*time.Millisecond), patterns.Limits{})
		r := wire.Request{ID: 5, Member: 1, Incarnation: 7, Tail: tail(nil)}
		frame := r.AppendTo(nil)
		for range 2 {
			_, err := caller.link(host.id).Send(0, wire.KindRequest, frame)
			require.NoError(t, err)
		}
		time.Sleep(100 * time.Millisecond)
		require.EqualValues(t, 1, host.engine.Status()[0].Handled)
		require.Equal(t, map[string]uint64{"duplicate": 1}, host.engine.Drops())
		require.Equal(t, []wire.Kind{wire.KindReply}, host.link(caller.id).sent)
	})
}
