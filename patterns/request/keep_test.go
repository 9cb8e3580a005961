// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// kept are the patterns whose messages are their member's own affair.
var kept = []patterns.Pattern{patterns.PatternPush, patterns.PatternBroadcast}

// taker returns a service that takes pushes and broadcasts, and nothing else.
func taker(f func(ctx context.Context, r *patterns.Request)) patterns.Service {
	return patterns.Service{Push: f, Broadcast: f}
}

// give sends one message of the pattern, in a second at most.
func give(n *fakeNode, p patterns.Pattern, m patterns.Message) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := n.engine.Ask(ctx, request.Ask{Cluster: "geo", Pattern: p, Message: m})
	return err
}

// forEachKept runs f in a bubble for push and for broadcast.
func forEachKept(t *testing.T, f func(t *testing.T, w *world, caller, host *fakeNode, p patterns.Pattern)) {
	t.Helper()
	for _, p := range kept {
		t.Run(p.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) { f(t, w, caller, host, p) })
		})
	}
}

func TestWhatIsAcceptedIsAnsweredBeforeItIsHandled(t *testing.T) {
	// This test checks that the sender has its answer two latencies later,
	// whether the handler runs or waits, what the handler sees, and the lane.
	forEachKept(t, func(t *testing.T, w *world, caller, host *fakeNode, p patterns.Pattern) {
		var mu sync.Mutex
		var seen []*patterns.Request
		w.member(host, 9, "geo", taker(func(ctx context.Context, r *patterns.Request) {
			_, limited := ctx.Deadline()
			require.False(t, limited)
			time.Sleep(10 * time.Second)
			require.NoError(t, ctx.Err())
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, r)
		}), patterns.Limits{Concurrency: 1})
		m := patterns.Message{Headers: patterns.Headers{{Key: "k", Value: "v"}}, Body: []byte("x")}
		for range 2 {
			begin := time.Now()
			require.NoError(t, give(caller, p, m))
			require.Equal(t, 2*w.latency, time.Since(begin))
		}
		s := host.engine.Status()[0]
		require.EqualValues(t, 2, s.Accepted)
		require.Equal(t, 1, s.Running)
		require.Equal(t, 1, s.Waiting)
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, seen, 2)
		require.Equal(t, &patterns.Request{
			Cluster: "geo", From: caller.id.String(), Pattern: p, Headers: m.Headers, Body: m.Body,
		}, seen[0], "no deadline: nobody waits")
		require.Equal(t, []wire.Kind{wire.KindReply, wire.KindReply}, host.link(caller.id).sent)
		lane := overlay.LaneRPC
		if p == patterns.PatternBroadcast {
			lane = overlay.LanePub
		}
		require.Equal(t, []overlay.Lane{lane, lane}, caller.link(host.id).lanes)
		require.True(t, w.done[0].Accepted)
	})
}

func TestWhatIsAcceptedOutlivesItsSender(t *testing.T) {
	// This test cuts the link, and lets the sender's deadline pass, while
	// messages run and wait: each is handled once.
	forEachKept(t, func(t *testing.T, w *world, caller, host *fakeNode, p patterns.Pattern) {
		var handled atomic.Int64
		w.member(host, 9, "geo", taker(func(ctx context.Context, _ *patterns.Request) {
			time.Sleep(10 * time.Second)
			if ctx.Err() == nil {
				handled.Add(1)
			}
		}), patterns.Limits{Concurrency: 1})
		for range 3 {
			require.NoError(t, give(caller, p, body("x")))
		}
		w.cut(caller, host)
		caller.stop()
		time.Sleep(time.Minute)
		require.EqualValues(t, 3, handled.Load())
		require.Empty(t, host.engine.Drops())
	})
}

func TestDrainFinishesWhatWasAccepted(t *testing.T) {
	// This test drains a member with messages that run and wait, in time and
	// not: then they end, and are counted.
	forEachKept(t, func(t *testing.T, w *world, caller, host *fakeNode, p patterns.Pattern) {
		var handled, ended atomic.Int64
		s := w.member(host, 9, "geo", taker(func(ctx context.Context, _ *patterns.Request) {
			select {
			case <-time.After(time.Second):
				handled.Add(1)
			case <-ctx.Done():
				ended.Add(1)
			}
		}), patterns.Limits{Concurrency: 1})
		for range 2 {
			require.NoError(t, give(caller, p, body("x")))
		}
		require.NoError(t, s.Drain(t.Context()))
		require.EqualValues(t, 2, handled.Load())
		require.Equal(t, patterns.ErrNoMembers, func() error { w.unlist("geo", 9); return give(caller, p, body("x")) }())

		s = w.member(host, 8, "geo", taker(func(ctx context.Context, _ *patterns.Request) {
			<-ctx.Done()
			ended.Add(1)
		}), patterns.Limits{Concurrency: 1})
		for range 3 {
			require.NoError(t, give(caller, p, body("x")))
		}
		require.ErrorIs(t, s.Drain(within(t, time.Second)), context.DeadlineExceeded)
		synctest.Wait()
		require.EqualValues(t, 1, ended.Load())
		require.EqualValues(t, 2, host.engine.Drops()["abandoned"], "those that waited")
		require.Empty(t, host.engine.Status())
	})
}

func TestCloseEndsWhatWasAccepted(t *testing.T) {
	// This test closes a node while a message runs and another one waits: the
	// handler's context ends, Close waits for it, and the loss is counted.
	forEachKept(t, func(t *testing.T, w *world, caller, host *fakeNode, p patterns.Pattern) {
		var ended atomic.Bool
		w.member(host, 9, "geo", taker(func(ctx context.Context, _ *patterns.Request) {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended.Store(true)
		}), patterns.Limits{Concurrency: 1})
		for range 2 {
			require.NoError(t, give(caller, p, body("x")))
		}
		host.stop()
		require.True(t, ended.Load())
		require.EqualValues(t, 1, host.engine.Drops()["abandoned"])
	})
}

func TestWhatIsBeyondALimitIsNotAccepted(t *testing.T) {
	// This test goes one over each limit of a member and of the pattern: the
	// named error, the counter, and nothing of it is ever handled.
	head := patterns.Headers{{Value: string(make([]byte, patterns.MaxHeaderBytes-5))}}
	over := patterns.Headers{{Value: string(make([]byte, patterns.MaxHeaderBytes-4))}}
	for name, test := range map[string]struct {
		limits patterns.Limits
		first  int // bytes of those that fit: one runs, the others wait
		count  int
		last   patterns.Message
		err    error
		reason string
	}{
		"concurrency": {patterns.Limits{Concurrency: 2, QueueLength: -1}, 1, 2, body("x"), patterns.ErrOverloaded, "queue_length"},
		"length":      {patterns.Limits{Concurrency: 1, QueueLength: 3}, 1, 4, body("x"), patterns.ErrOverloaded, "queue_length"},
		"bytes":       {patterns.Limits{Concurrency: 1, QueueBytes: 100}, 50, 3, body("x"), patterns.ErrOverloaded, "queue_bytes"},
		"message":     {patterns.Limits{MessageBytes: 10}, 10, 1, body("01234567890"), patterns.ErrTooLarge, "too_large"},
		"headers":     {patterns.Limits{}, 10, 1, patterns.Message{Headers: over}, patterns.ErrTooLarge, ""},
		"no headers":  {patterns.Limits{}, 10, 1, patterns.Message{Headers: head}, nil, ""},
		"any message": {patterns.Limits{MessageBytes: request.MaxMessage}, 10, 1, patterns.Message{Body: make([]byte, request.MaxMessage+1)}, patterns.ErrTooLarge, ""},
	} {
		t.Run(name, func(t *testing.T) {
			forEachKept(t, func(t *testing.T, w *world, caller, host *fakeNode, p patterns.Pattern) {
				var handled atomic.Int64
				w.member(host, 9, "geo", taker(func(context.Context, *patterns.Request) {
					time.Sleep(time.Minute)
					handled.Add(1)
				}), test.limits)
				w.mu.Lock()
				w.members["geo"][0].MaxMessage = 0 // not said: the member itself has to refuse
				w.mu.Unlock()
				for range test.count {
					require.NoError(t, give(caller, p, patterns.Message{Body: make([]byte, test.first)}))
				}
				require.Equal(t, test.err, give(caller, p, test.last))
				if test.reason != "" {
					require.EqualValues(t, 1, host.engine.Drops()[test.reason])
				}
				time.Sleep(time.Hour)
				want := test.count
				if test.err == nil {
					want++
				}
				require.EqualValues(t, want, handled.Load())
			})
		})
	}
}

func TestAMemberSaysWhatItLacks(t *testing.T) {
	// This test asks members that implement one pattern for each of the
	// others: nothing is queued, and the caller is told.
	some := func(context.Context, *patterns.Request) {}
	services := map[patterns.Pattern]patterns.Service{
		patterns.PatternRequest:   {Request: echo},
		patterns.PatternPush:      {Push: some},
		patterns.PatternBroadcast: {Broadcast: some},
		patterns.PatternTunnel:    {Tunnel: func(context.Context, patterns.Tunnel) error { return nil }},
	}
	texts := map[patterns.Pattern]string{
		patterns.PatternRequest: "this member answers no requests", patterns.PatternSurvey: "this member answers no surveys",
		patterns.PatternPush: "this member takes no pushes", patterns.PatternBroadcast: "this member takes no broadcasts",
		patterns.PatternTunnel: "this member has no tunnels",
	}
	for has, service := range services {
		for p, text := range texts {
			if p == has || has == patterns.PatternRequest && p == patterns.PatternSurvey {
				continue
			}
			for _, key := range []byte{0, 5} { // in clear and sealed
				sealedPair(t, key, key, func(t *testing.T, w *world, caller, host *fakeNode) {
					w.unlist("geo", 1)
					_, err := host.engine.AddMember(2, "geo", service, patterns.Limits{})
					require.NoError(t, err)
					w.list("geo", &cluster.Member{ID: 2, Peer: host.id, Incarnation: 7})
					require.Equal(t, &patterns.RemoteError{Cluster: "geo", Code: patterns.CodeNoMethod, Message: text}, give(caller, p, secret))
					require.EqualValues(t, 1, host.engine.Drops()["no_method"])
					for _, s := range host.engine.Status() {
						require.Zero(t, s.Handled+s.Accepted)
					}
				})
			}
		}
	}
}

func TestNoLackOfWorkersEndsWhatWasAccepted(t *testing.T) {
	// This test has no worker to spare in the whole node: what would run at
	// once is refused, but what was accepted meanwhile runs when there is one.
	forEachKept(t, func(t *testing.T, w *world, caller, _ *fakeNode, p patterns.Pattern) {
		workers := overlay.NewWorkers(1000)
		x := &stingyExec{Exec: workers}
		host, other := w.node("stingy", func(c *request.Config) { c.Exec = x }), w.node("other", nil)
		w.connect(caller, host)
		w.connect(other, host)
		var handled atomic.Int64
		w.member(host, 9, "geo", taker(func(_ context.Context, r *patterns.Request) {
			require.Equal(t, "second", string(r.Body))
			handled.Add(1)
		}), patterns.Limits{Concurrency: 1})
		x.refuse.Store(true)
		first := make(chan error, 1)
		w.wg.Go(func() { first <- give(caller, p, body("first")) })
		time.Sleep(2 * w.latency) // it is asking for a worker
		require.NoError(t, give(other, p, body("second")), "it waits for the first one")
		require.Equal(t, patterns.ErrOverloaded, <-first)
		require.EqualValues(t, 1, host.engine.Drops()["workers"])
		require.EqualValues(t, 1, host.engine.Status()[0].Accepted)
		time.Sleep(time.Minute)
		require.Zero(t, handled.Load())
		x.refuse.Store(false)
		time.Sleep(time.Minute)
		require.EqualValues(t, 1, handled.Load())
		require.NoError(t, give(caller, p, body("second")))
		synctest.Wait()
		require.EqualValues(t, 2, handled.Load())

		// One that still looks for a worker when its node closes is counted.
		x.refuse.Store(true)
		w.wg.Go(func() { first <- give(caller, p, body("first")) })
		time.Sleep(2 * w.latency)
		require.NoError(t, give(other, p, body("second")))
		require.Equal(t, patterns.ErrOverloaded, <-first)
		host.stop()
		require.EqualValues(t, 1, host.engine.Drops()["abandoned"])
		require.NoError(t, workers.Close())
	})
}

// stingyExec takes its time, and refuses, when it is told to.
type stingyExec struct {
	overlay.Exec
	refuse atomic.Bool
}

func (x *stingyExec) Go(k overlay.ExecKey, f func()) bool {
	if !x.refuse.Load() {
		return x.Exec.Go(k, f)
	}
	time.Sleep(10 * time.Millisecond)
	return false
}

func TestASealedRequestIsGoodForItsPatternOnly(t *testing.T) {
	// This test changes the pattern of a sealed message under way: whatever it
	// was, it can't be opened as another one.
	sealedPair(t, 5, 5, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.unlist("geo", 1)
		ran := func(context.Context, *patterns.Request) { t.Error("ran") }
		w.member(host, 2, "geo", patterns.Service{Push: ran, Broadcast: ran, Request: stuck}, patterns.Limits{})
		all := []patterns.Pattern{patterns.PatternRequest, patterns.PatternSurvey, patterns.PatternPush, patterns.PatternBroadcast}
		for _, p := range all {
			for _, other := range all {
				if p == other {
					continue
				}
				w.set(caller, host, func(l *fakeLink) {
					l.spoil = func(_ wire.Kind, b []byte) []byte {
						b = slices.Clone(b)
						b[34] = byte(other)
						return b
					}
				})
				require.Equal(t, patterns.ErrUnauthorized, give(caller, p, secret))
			}
		}
	})
}
