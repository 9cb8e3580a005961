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

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// ask sends a request in the background and tells its outcome.
func (w *world) ask(n *fakeNode, ctx context.Context, m patterns.Message) <-chan error {
	out := make(chan error, 1)
	w.wg.Go(func() {
		_, err := n.engine.Do(ctx, "geo", m, patterns.RequestOptions{})
		out <- err
	})
	time.Sleep(2 * w.latency) // it has arrived, and a refusal is back
	return out
}

func TestCancelReachesTheMember(t *testing.T) {
	// This test cancels a request that runs, whose handler's context ends, and
	// one that waits, which never runs.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		var ran, ended atomic.Int64
		w.member(host, 1, "geo", patterns.HandlerFunc(func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
			ran.Add(1)
			<-ctx.Done()
			if ctx.Err() == context.Canceled {
				ended.Add(1)
			}
			return patterns.Message{}, ctx.Err()
		}), patterns.Limits{Concurrency: 1})
		running, cancelRunning := context.WithCancel(t.Context())
		waiting, cancelWaiting := context.WithCancel(t.Context())
		first, second := w.ask(caller, running, body("x")), w.ask(caller, waiting, body("y"))
		require.Equal(t, 1, host.engine.Status()[0].Waiting)

		cancelWaiting()
		require.Equal(t, &patterns.DeadlineError{Cause: context.Canceled, MaybeRan: true}, <-second)
		cancelRunning()
		require.Equal(t, &patterns.DeadlineError{Cause: context.Canceled, MaybeRan: true}, <-first)
		time.Sleep(w.latency)
		synctest.Wait()
		require.EqualValues(t, 1, ran.Load())
		require.EqualValues(t, 1, ended.Load())
		require.Equal(t, map[string]uint64{"cancelled": 1, "reply_unsent": 1}, host.engine.Drops())
		require.Equal(t, []wire.Kind{wire.KindReply}, host.link(caller.id).sent, "what was taken out is answered")
		require.Zero(t, host.engine.Status()[0].Running)
	})
}

func TestALostLinkEndsWhatItsCallerAskedFor(t *testing.T) {
	// This test checks that a handler's context ends with its caller's link,
	// and that what waited is not run for nobody.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", stuck, patterns.Limits{Concurrency: 1})
		first, second := w.ask(caller, t.Context(), body("x")), w.ask(caller, t.Context(), body("y"))
		w.cut(caller, host)
		require.Equal(t, patterns.ErrInterrupted, <-first)
		require.Equal(t, patterns.ErrInterrupted, <-second)
		synctest.Wait()
		s := host.engine.Status()[0]
		require.Zero(t, s.Running)
		require.Zero(t, s.Waiting)
		require.EqualValues(t, 1, s.Handled)
		require.EqualValues(t, 1, host.engine.Drops()["orphaned"])
	})
}

func TestExpiredWorkIsThrownAwayUnhandled(t *testing.T) {
	// This test lets requests expire in the queue: when their turn comes they
	// do not run.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		var ran atomic.Int64
		w.member(host, 1, "geo", patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
			ran.Add(1)
			time.Sleep(time.Second)
			return patterns.Message{}, nil
		}), patterns.Limits{Concurrency: 1})
		first, second := w.ask(caller, t.Context(), body("x")), w.ask(caller, within(t, 500*time.Millisecond), body("y"))
		require.ErrorIs(t, <-second, context.DeadlineExceeded)
		require.NoError(t, <-first)
		synctest.Wait()
		require.EqualValues(t, 1, ran.Load())
		require.EqualValues(t, 1, host.engine.Drops()["expired"])
	})
}

func TestTheHandlersContextEndsAtTheCallersDeadline(t *testing.T) {
	// This test checks deadline, cause, what derives from the context, and
	// that the context ends when the handler returns.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		var leaked context.Context
		w.member(host, 1, "geo", patterns.HandlerFunc(func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
			leaked = ctx
			if string(r.Body) == "quick" {
				return patterns.Message{}, ctx.Err()
			}
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			stopped := context.AfterFunc(ctx, func() { panic("stopped in time") })
			require.True(t, stopped())
			require.False(t, stopped())
			end, ok := ctx.Deadline()
			require.True(t, ok)
			<-child.Done()
			require.Equal(t, end, time.Now())
			require.Equal(t, context.DeadlineExceeded, ctx.Err())
			require.Equal(t, context.DeadlineExceeded, child.Err())
			require.Nil(t, ctx.Value("key"))
			return patterns.Message{}, ctx.Err()
		}), patterns.Limits{})
		_, err := do(caller, body("slow"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = do(caller, body("quick"))
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, context.Canceled, leaked.Err())
		<-leaked.Done()
		late := make(chan struct{})
		context.AfterFunc(leaked, func() { close(late) })
		<-late
	})
}

func TestRepliesWaitForRoomInTheLane(t *testing.T) {
	// This test fills the way back: the reply waits, on the handler's
	// goroutine, and is given up at the deadline. Refusals wait likewise, so
	// that nobody is left without an answer.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", takes("x", 5*time.Millisecond), patterns.Limits{Concurrency: 1, QueueLength: -1})
		w.set(host, caller, func(l *fakeLink) { l.full = true })
		begin := time.Now()
		first, second := w.ask(caller, t.Context(), body("x")), w.ask(caller, t.Context(), body("y"))
		time.Sleep(time.Second)
		w.set(host, caller, func(l *fakeLink) { l.full = false })
		require.NoError(t, <-first)
		require.Equal(t, patterns.ErrOverloaded, <-second)
		require.Less(t, time.Since(begin), 2*time.Second)

		w.set(host, caller, func(l *fakeLink) { l.full = true })
		third := w.ask(caller, t.Context(), body("x"))
		require.ErrorIs(t, <-third, context.DeadlineExceeded)
		synctest.Wait()
		require.Zero(t, host.engine.Status()[0].Running)
		require.EqualValues(t, 1, host.engine.Drops()["reply_unsent"])
	})
}

func TestDrainAbandonsWhatIsNotFinishedInTime(t *testing.T) {
	// This test checks that a Drain that is cut short refuses what waits,
	// which then goes elsewhere, ends the running handlers' contexts, and lets
	// their callers know at once.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		s := w.member(host, 1, "geo", stuck, patterns.Limits{Concurrency: 1})
		first, second := w.ask(caller, t.Context(), body("x")), w.ask(caller, t.Context(), body("y"))
		other := w.node("other", nil)
		w.member(other, 2, "geo", echo, patterns.Limits{})
		begin := time.Now()
		require.Equal(t, context.DeadlineExceeded, s.Drain(within(t, 300*time.Millisecond)))
		require.Equal(t, 300*time.Millisecond, time.Since(begin))
		require.NoError(t, <-second)
		require.Equal(t, patterns.ErrInterrupted, <-first, "its handler gave no answer")
		require.Less(t, time.Since(begin), 400*time.Millisecond)
		synctest.Wait()
		require.Empty(t, host.engine.Status())
	})
}

func TestEngineDrainStaysUntilCallersHaveStopped(t *testing.T) {
	// This test checks that a node that drains refuses late requests instead
	// of disappearing, for a quarter of a second at least and two at most, and
	// that it can still call others meanwhile.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", echo, patterns.Limits{})
		begin := time.Now()
		require.NoError(t, host.engine.Drain(t.Context()))
		require.Equal(t, 250*time.Millisecond, time.Since(begin))
		_, err := host.engine.AddMember(2, "geo", patterns.ServiceOf(echo), patterns.Limits{})
		require.Equal(t, patterns.ErrClosed, err)
	})
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		s := w.member(host, 1, "geo", echo, patterns.Limits{})
		w.member(caller, 2, "home", echo, patterns.Limits{})
		stop := time.Now().Add(time.Second)
		w.wg.Go(func() {
			for time.Now().Before(stop) {
				w.ask(caller, t.Context(), body("x"))
				time.Sleep(50 * time.Millisecond)
			}
			w.unlist("geo", 1)
		})
		time.Sleep(10 * time.Millisecond)
		drained := make(chan error, 1)
		begin := time.Now()
		w.wg.Go(func() { drained <- host.engine.Drain(t.Context()) })
		time.Sleep(100 * time.Millisecond)
		_, err := host.engine.Do(t.Context(), "home", body("x"), patterns.RequestOptions{})
		require.NoError(t, err)
		require.NoError(t, <-drained)
		require.InDelta(t, 1100*time.Millisecond, time.Since(begin), float64(60*time.Millisecond))
		require.NoError(t, s.Drain(t.Context()))
	})
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		begin := time.Now()
		require.NoError(t, host.engine.Drain(t.Context()))
		require.Zero(t, time.Since(begin), "nobody was served")
	})
}

func TestCloseEndsEverythingAndWaits(t *testing.T) {
	// This test closes a node that serves and calls: handlers' contexts end
	// and are waited for, calls end, and nothing is accepted afterwards.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		ended := false
		w.member(host, 1, "geo", patterns.HandlerFunc(func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
			<-ctx.Done()
			time.Sleep(100 * time.Millisecond) // and still has to tidy up
			ended = true
			return patterns.Message{}, nil
		}), patterns.Limits{})
		out := w.ask(caller, t.Context(), body("x"))
		require.NoError(t, host.engine.Close())
		require.True(t, ended)
		require.NoError(t, host.engine.Close(), "it is idempotent")
		_, err := host.engine.AddMember(2, "geo", patterns.ServiceOf(echo), patterns.Limits{})
		require.Equal(t, patterns.ErrClosed, err)
		_, err = host.engine.Members(t.Context(), "geo")
		require.Equal(t, patterns.ErrClosed, err)
		w.cut(caller, host)
		require.Equal(t, patterns.ErrInterrupted, <-out)
	})
}

func TestANodeWithoutFreeWorkersRefuses(t *testing.T) {
	// This test checks the bound on handlers over all members of a node: what
	// finds no worker is refused at once, and the queue behind it moves on.
	few := overlay.NewWorkers(1)
	inBubbleOf(t, nil, func(c *request.Config) { c.Exec = few }, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", takes("x", 100*time.Millisecond), patterns.Limits{Concurrency: 2, QueueLength: 1})
		first, second := w.ask(caller, t.Context(), body("x")), w.ask(caller, t.Context(), body("y"))
		require.Equal(t, patterns.ErrOverloaded, <-second)
		require.NoError(t, <-first)
		require.Equal(t, map[string]uint64{"workers": 1}, host.engine.Drops())
		require.NoError(t, <-w.ask(caller, t.Context(), body("z")))
		host.stop()
		require.NoError(t, few.Close())
	})
}

func TestRefusalsDoNotEatTheWorkers(t *testing.T) {
	// This test floods a member from a node that does not read: a bounded
	// number of refusals waits for room, the others are counted, and another
	// caller is served all the while.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", stuck, patterns.Limits{Concurrency: 1, QueueLength: -1})
		w.member(host, 2, "home", echo, patterns.Limits{})
		other := w.node("other", nil)
		w.connect(other, host)
		w.set(host, caller, func(l *fakeLink) { l.full = true })
		for range 900 {
			w.wg.Go(func() { _, _ = do(caller, body("x")) })
		}
		time.Sleep(time.Second)
		require.EqualValues(t, 900-1-256, host.engine.Drops()["reply_unsent"])
		_, err := other.engine.Do(t.Context(), "home", body("x"), patterns.RequestOptions{})
		require.NoError(t, err)
	})
}
