// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// inBubble runs f with a world of two nodes, caller and host, in virtual time.
func inBubble(t *testing.T, f func(t *testing.T, w *world, caller, host *fakeNode)) {
	t.Helper()
	inBubbleOf(t, nil, nil, f)
}

// inBubbleOf is inBubble of nodes with other configurations.
func inBubbleOf(t *testing.T, callers, hosts func(*request.Config), f func(t *testing.T, w *world, caller, host *fakeNode)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		caller, host := w.node("caller", callers), w.node("host", hosts)
		w.connect(caller, host)
		f(t, w, caller, host)
	})
}

func body(s string) patterns.Message { return patterns.Message{Body: []byte(s)} }

// do is Do without options and with a deadline of its own.
func do(n *fakeNode, m patterns.Message, opts ...patterns.RequestOption) (patterns.Message, error) {
	return n.engine.Do(context.Background(), "geo", m, patterns.CollectOptions(opts))
}

// replies sends a request, and has that text back.
func replies(t *testing.T, n *fakeNode, text string, opts ...patterns.RequestOption) {
	t.Helper()
	reply, err := do(n, body("x"), opts...)
	require.NoError(t, err)
	require.Equal(t, text, string(reply.Body))
}

var echo = patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
	return patterns.Message{Headers: r.Headers, Body: r.Body}, nil
})

// stuck handles until its context ends.
var stuck = patterns.HandlerFunc(func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
	<-ctx.Done()
	return patterns.Message{}, ctx.Err()
})

// takes is a handler that works for d and answers with its name.
func takes(name string, d time.Duration) patterns.Handler {
	return patterns.HandlerFunc(func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
		select {
		case <-time.After(d):
			return body(name), nil
		case <-ctx.Done():
			return patterns.Message{}, ctx.Err()
		}
	})
}

func TestRequestBringsHeadersAndBodyThereAndBack(t *testing.T) {
	// This test checks what the handler sees, what the caller gets, the report
	// and what the cluster layer learns.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		var seen *patterns.Request
		w.member(host, 9, "geo", patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
			seen = r
			time.Sleep(20 * time.Millisecond)
			return patterns.Message{Headers: patterns.Headers{{Key: "b", Value: "2"}}, Body: []byte("yes")}, nil
		}), patterns.Limits{})
		var how patterns.RequestReport
		asked := patterns.Message{Headers: patterns.Headers{{Key: "a", Value: "1"}}, Body: []byte("where?")}
		begin := time.Now()
		reply, err := do(caller, asked, patterns.Report(&how))
		require.NoError(t, err)
		require.Equal(t, patterns.Message{Headers: patterns.Headers{{Key: "b", Value: "2"}}, Body: []byte("yes")}, reply)
		require.Equal(t, 22*time.Millisecond, time.Since(begin), "two ways and the handler")
		require.Equal(t, patterns.RequestReport{Member: "0000000000000009", Attempts: 1}, how)
		require.Equal(t, "geo", seen.Cluster)
		require.Equal(t, caller.id.String(), seen.From)
		require.True(t, seen.Deadline.Equal(begin.Add(request.DefaultTimeout)))
		require.Equal(t, asked.Headers, seen.Headers)
		require.Equal(t, asked.Body, seen.Body)
		require.Equal(t, []cluster.Result{{
			Outcome: wire.OutcomeReply, Latency: 22 * time.Millisecond, Service: 20 * time.Millisecond,
		}}, w.done)
	})
}

func TestEachOutcomeIsToldAsTheTableSays(t *testing.T) {
	// This test goes through the outcomes table of package patterns from end
	// to end: one situation for each line, and whether a handler ran.
	tooLarge := body(strings.Repeat("x", 101))
	for name, test := range map[string]struct {
		setUp   func(w *world, caller, host *fakeNode)
		handler patterns.Handler
		limits  patterns.Limits
		message patterns.Message
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		during  func(w *world, caller, host *fakeNode)

		is   error
		as   *patterns.RemoteError
		ran  bool
		took time.Duration
	}{
		"reply":         {handler: echo, ran: true, took: 2 * time.Millisecond},
		"empty message": {handler: echo, ran: true, took: 2 * time.Millisecond, message: patterns.Message{}},
		"the handler refused": {
			handler: failing(&patterns.RemoteError{Code: 404, Message: "no such place"}),
			as:      &patterns.RemoteError{Cluster: "geo", Code: 404, Message: "no such place"}, ran: true, took: 2 * time.Millisecond,
		},
		"the handler failed": {
			handler: failing(errors.New("broken")),
			as:      &patterns.RemoteError{Cluster: "geo", Code: patterns.CodeUnknown, Message: "broken"}, ran: true, took: 2 * time.Millisecond,
		},
		"the handler panicked": {
			handler: patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) { panic("oh no") }),
			as:      &patterns.RemoteError{Cluster: "geo", Code: patterns.CodePanic, Message: "oh no"}, ran: true, took: 2 * time.Millisecond,
		},
		"an error of another pattern's is the handler's own": {
			handler: failing(patterns.ErrOverloaded),
			as:      &patterns.RemoteError{Cluster: "geo", Code: patterns.CodeUnknown, Message: patterns.ErrOverloaded.Error()}, ran: true, took: 2 * time.Millisecond,
		},
		"busy elsewhere":        {handler: failing(&patterns.Refusal{Cause: patterns.ErrOverloaded}), is: patterns.ErrOverloaded, ran: true, took: 2 * time.Millisecond},
		"interrupted elsewhere": {handler: failing(&patterns.Refusal{Cause: patterns.ErrInterrupted}), is: patterns.ErrInterrupted, ran: true, took: 2 * time.Millisecond},
		"a reply that is too large": {
			handler: patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
				return patterns.Message{Body: make([]byte, request.MaxMessage+1)}, nil
			}),
			as:  &patterns.RemoteError{Cluster: "geo", Message: "the reply has 16777217 bytes in its body and 2 in its headers: at most 16777216 together and 16384 in headers can be sent"},
			ran: true, took: 2 * time.Millisecond,
		},
		"too large for the member, seen by the caller": {
			handler: echo, limits: patterns.Limits{MessageBytes: 100}, message: tooLarge, is: patterns.ErrTooLarge,
		},
		"too large for the member, seen by the member": {
			handler: echo, limits: patterns.Limits{MessageBytes: 100}, message: tooLarge, is: patterns.ErrTooLarge, took: 2 * time.Millisecond,
			setUp: func(w *world, _, _ *fakeNode) { w.members["geo"][0].MaxMessage = 0 },
		},
		"too large for anybody": {handler: echo, message: body(string(make([]byte, request.MaxMessage+1))), is: patterns.ErrTooLarge},
		"headers too large": {
			handler: echo, message: patterns.Message{Headers: patterns.Headers{{Key: "k", Value: strings.Repeat("x", patterns.MaxHeaderBytes)}}}, is: patterns.ErrTooLarge,
		},
		"no member": {is: patterns.ErrNoMembers},
		"nobody knows": {
			is: patterns.ErrUnreachable, took: 2 * time.Second,
			setUp: func(w *world, _, _ *fakeNode) { w.unknown = true },
		},
		"all busy": {
			handler: stuck, limits: patterns.Limits{Concurrency: 1, QueueLength: -1}, is: patterns.ErrOverloaded, took: 2 * time.Millisecond,
			setUp: func(w *world, caller, _ *fakeNode) {
				w.wg.Go(func() { _, _ = do(caller, body("first")) })
				synctest.Wait()
				time.Sleep(w.latency)
			},
		},
		"the lane is full": {
			handler: echo, is: patterns.ErrOverloaded,
			setUp: func(w *world, caller, host *fakeNode) { w.set(caller, host, func(l *fakeLink) { l.full = true }) },
		},
		"refused connections": {
			handler: echo, is: patterns.ErrUnreachable, took: 0, // as long as it takes: six dials and their pauses
			setUp: func(w *world, caller, host *fakeNode) {
				w.cut(caller, host)
				w.set(caller, host, func(l *fakeLink) { l.refuse = true })
			},
		},
		"link lost after sending": {
			handler: stuck, is: patterns.ErrInterrupted, ran: true, took: 10 * time.Millisecond,
			during: func(w *world, caller, host *fakeNode) { w.cut(caller, host) },
		},
		"the default deadline": {handler: stuck, is: context.DeadlineExceeded, ran: true, took: request.DefaultTimeout},
		"a deadline": {
			handler: stuck, is: context.DeadlineExceeded, ran: true, took: 300 * time.Millisecond,
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 300*time.Millisecond)
			},
		},
		"cancelled": {
			handler: stuck, is: context.Canceled, ran: true, took: 30 * time.Millisecond,
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(30*time.Millisecond, cancel)
				return ctx, cancel
			},
		},
		"closed while under way": {
			handler: stuck, is: patterns.ErrInterrupted, ran: true, took: 10 * time.Millisecond,
			during: func(_ *world, caller, _ *fakeNode) { caller.stop() },
		},
		"closed before": {
			handler: echo, is: patterns.ErrClosed,
			setUp: func(_ *world, caller, _ *fakeNode) { caller.stop() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
				var ran atomic.Bool
				if test.handler != nil {
					w.member(host, 9, "geo", patterns.HandlerFunc(func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
						if string(r.Body) != "first" {
							ran.Store(true)
						}
						return test.handler.ServeRequest(ctx, r)
					}), test.limits)
				}
				if test.setUp != nil {
					test.setUp(w, caller, host)
				}
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if test.ctx != nil {
					ctx, cancel = test.ctx(ctx)
				}
				defer cancel()
				if test.during != nil {
					w.later(10*time.Millisecond, func() { test.during(w, caller, host) })
				}
				begin := time.Now()
				reply, err := caller.engine.Do(ctx, "geo", test.message, patterns.RequestOptions{})
				if name != "refused connections" {
					require.Equal(t, test.took, time.Since(begin))
				}
				var remote *patterns.RemoteError
				switch {
				case test.as != nil:
					require.ErrorAs(t, err, &remote)
					require.Equal(t, test.as, remote)
				case test.is != nil:
					require.ErrorIs(t, err, test.is)
					require.False(t, errors.As(err, &remote))
				default:
					require.NoError(t, err)
					require.Equal(t, test.message.Headers, reply.Headers)
					require.Equal(t, string(test.message.Body), string(reply.Body))
				}
				var over *patterns.DeadlineError
				if errors.As(err, &over) {
					require.Equal(t, test.ran, over.MaybeRan)
				}
				require.Equal(t, test.ran, ran.Load())
				caller.stop()
			})
		})
	}
}

func failing(err error) patterns.Handler {
	return patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
		return patterns.Message{}, err
	})
}

func TestDeadlineErrorSaysThatNoHandlerRan(t *testing.T) {
	// This test checks the three ways to run out of time before a handler
	// could see the request: already over, waiting for a view, and waiting for
	// a link.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		notRun := &patterns.DeadlineError{Cause: context.DeadlineExceeded}
		_, err := caller.engine.Do(within(t, 0), "geo", body(""), patterns.RequestOptions{})
		require.Equal(t, notRun, err)

		begin := time.Now()
		_, err = do(caller, body(""), patterns.WaitForMember())
		require.Equal(t, notRun, err)
		require.Equal(t, request.DefaultTimeout, time.Since(begin))

		w.member(host, 9, "geo", echo, patterns.Limits{})
		w.cut(caller, host)
		w.set(caller, host, func(l *fakeLink) { l.hang = true })
		_, err = caller.engine.Do(within(t, 500*time.Millisecond), "geo", body(""), patterns.RequestOptions{})
		require.Equal(t, notRun, err)
	})
}

func TestAFirstMemberIsWaitedForOnlyWhenAsked(t *testing.T) {
	// This test checks that WaitForMember turns "no members" into waiting for
	// one, and that the request then goes there.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		_, err := do(caller, body("x"))
		require.ErrorIs(t, err, patterns.ErrNoMembers)
		w.later(time.Second, func() { w.member(host, 9, "geo", echo, patterns.Limits{}) })
		begin := time.Now()
		_, err = do(caller, body("x"), patterns.WaitForMember())
		require.NoError(t, err)
		require.Equal(t, time.Second+2*w.latency, time.Since(begin))
	})
}

func TestALinkIsOpenedForTheFirstRequest(t *testing.T) {
	// This test checks that a request waits for the link that it needs.
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		caller, host := w.node("caller", nil), w.node("host", nil)
		w.member(host, 9, "geo", echo, patterns.Limits{})
		begin := time.Now()
		_, err := do(caller, body("x"))
		require.NoError(t, err)
		require.Equal(t, 4*w.latency, time.Since(begin))
		require.Equal(t, 1, caller.link(host.id).opened)
	})
}

func TestAMemberOnTheOwnNodeIsNoSpecialCase(t *testing.T) {
	// This test checks that a request to the own node goes through the link
	// to itself and the member's queue.
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.node("n", nil)
		w.member(n, 9, "geo", echo, patterns.Limits{})
		replies(t, n, "x")
		require.Equal(t, []wire.Kind{wire.KindRequest, wire.KindReply}, n.link(n.id).sent)
	})
}

func TestLargeMessagesLeaveOnTheBulkLane(t *testing.T) {
	// This test checks the border between the lanes, in both directions.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 9, "geo", echo, patterns.Limits{})
		none := wire.Request{Tail: tail(nil)}
		head := len(none.AppendTo(nil))
		for _, size := range []int{0, wire.MaxPayload - head, wire.MaxPayload - head + 1, 1 << 20} {
			reply, err := do(caller, patterns.Message{Body: make([]byte, size)})
			require.NoError(t, err)
			require.Len(t, reply.Body, size)
		}
		rpc, bulk := overlay.LaneRPC, overlay.LaneBulk
		require.Equal(t, []overlay.Lane{rpc, rpc, bulk, bulk}, caller.link(host.id).lanes)
		require.Equal(t, []overlay.Lane{rpc, rpc, rpc, bulk}, host.link(caller.id).lanes, "a reply's head is shorter")
	})
}

func TestNamesAndLimitsAreChecked(t *testing.T) {
	// This test checks what is refused before anything is sent or served.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		long := strings.Repeat("x", cluster.MaxName+1)
		for _, name := range []string{"", long} {
			_, err := caller.engine.Do(t.Context(), name, body(""), patterns.RequestOptions{})
			require.ErrorIs(t, err, cluster.ErrName)
			_, err = caller.engine.Members(t.Context(), name)
			require.ErrorIs(t, err, cluster.ErrName)
			_, err = host.engine.AddMember(1, name, patterns.ServiceOf(echo), patterns.Limits{})
			require.ErrorIs(t, err, cluster.ErrName)
		}
		for _, l := range []patterns.Limits{{Concurrency: -1}, {QueueBytes: -1}, {MessageBytes: -1}, {Capacity: -1}, {MessageBytes: request.MaxMessage + 1}} {
			_, err := host.engine.AddMember(1, "geo", patterns.ServiceOf(echo), l)
			require.ErrorContains(t, err, "request: ")
		}
		w.member(host, 1, "geo", echo, patterns.Limits{})
		_, err := host.engine.AddMember(1, "geo", patterns.ServiceOf(echo), patterns.Limits{})
		require.ErrorIs(t, err, cluster.ErrDuplicate)
		_, err = request.New(request.Config{})
		require.ErrorContains(t, err, "request: Config needs")
	})
}

func TestMembersAreListed(t *testing.T) {
	// This test checks the list, and the two honest ways not to have one.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		_, err := caller.engine.Members(t.Context(), "geo")
		require.ErrorIs(t, err, patterns.ErrNoMembers)
		w.list("geo", &cluster.Member{ID: 9, Peer: host.id, Incarnation: 3, Zone: "z", Capacity: 2})
		list, err := caller.engine.Members(t.Context(), "geo")
		require.NoError(t, err)
		require.Equal(t, []patterns.Member{{
			ID: "0000000000000009", Peer: host.id.String(), Incarnation: 3, Zone: "z", Capacity: 2, State: "live",
		}}, list)
		w.unknown = true
		_, err = caller.engine.Members(t.Context(), "other")
		require.ErrorIs(t, err, patterns.ErrUnreachable)
	})
}

func TestWhoIsGoneIsInNoList(t *testing.T) {
	// This test lists a cluster at the moment when members are known to have gone, and the
	// next view is not there yet: they are left out, and where nobody else is there, the
	// list waits for that view.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.list("geo", &cluster.Member{ID: 8, Peer: host.id})
		w.list("geo", &cluster.Member{ID: 9, Peer: host.id})
		w.becomes(8, "gone")
		list, err := caller.engine.Members(t.Context(), "geo")
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, "0000000000000009", list[0].ID)

		w.becomes(9, "gone")
		w.later(time.Second, func() {
			w.unlist("geo", 8)
			w.unlist("geo", 9)
		})
		_, err = caller.engine.Members(t.Context(), "geo")
		require.ErrorIs(t, err, patterns.ErrNoMembers)

		w.list("geo", &cluster.Member{ID: 9, Peer: host.id})
		_, err = caller.engine.Members(within(t, 3*time.Second), "geo")
		require.ErrorIs(t, err, context.DeadlineExceeded, "it is gone, and still in the view")
	})
}

func TestAFollowerHearsOfChangesOnly(t *testing.T) {
	// This test follows the members of a cluster whose nodes have names: it hears of each
	// change, and nothing while there is none.
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var called atomic.Value
		called.Store("")
		host := w.node("host", nil)
		caller := w.node("caller", func(c *request.Config) {
			c.NameOf = func(peer.ID) string { return called.Load().(string) }
		})
		w.list("geo", &cluster.Member{ID: 9, Peer: host.id})
		version := ""
		after := func() []patterns.Member {
			list, err := caller.engine.MembersAfter(t.Context(), "geo", version)
			require.NoError(t, err)
			version = patterns.VersionOf(list, err)
			return list
		}
		require.Len(t, after(), 1)
		changes := []struct {
			is   string
			make func()
		}{
			{"a name", func() { called.Store("db 1") }},
			{"a state", func() { w.becomes(9, "suspect") }},
			{"a member", func() { w.list("geo", &cluster.Member{ID: 10, Peer: host.id}) }},
		}
		for _, c := range changes {
			is := version
			after()
			require.Equal(t, is, version, "%s has not changed", c.is)
			c.make()
			after()
			require.NotEqual(t, is, version, c.is)
		}
		began := time.Now()
		require.Equal(t, "db 1", after()[0].Name)
		require.GreaterOrEqual(t, time.Since(began), 2*time.Second, "it waits while nothing changes")
	})
}
