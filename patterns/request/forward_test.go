// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// elsewhere is where forwarded requests go: they wait to be answered.
type elsewhere struct {
	mu        sync.Mutex
	delivered []*request.Delivery
	cancelled []*request.Delivery
	at        func(d *request.Delivery) // called by Deliver; nil = nothing
}

func (x *elsewhere) Deliver(d *request.Delivery) {
	x.mu.Lock()
	x.delivered = append(x.delivered, d)
	x.mu.Unlock()
	if x.at != nil {
		x.at(d)
	}
}

func (x *elsewhere) Cancel(d *request.Delivery) {
	x.mu.Lock()
	x.cancelled = append(x.cancelled, d)
	x.mu.Unlock()
}

// got is what was delivered so far, gone what was cancelled.
func (x *elsewhere) got() []*request.Delivery {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.delivered)
}

func (x *elsewhere) gone() []*request.Delivery {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.cancelled)
}

// echoes answers at once with what it was sent.
func (x *elsewhere) echoes() *elsewhere {
	x.at = func(d *request.Delivery) { d.Answer(wire.Reply{Tail: d.Tail, Queue: 3, Running: 4, ServiceMicros: 5}) }
	return x
}

var all = request.ServesOf(patterns.PatternRequest, patterns.PatternSurvey, patterns.PatternPush, patterns.PatternBroadcast, patterns.PatternTunnel)

// forward has x be member id of the cluster at n.
func (w *world) forward(n *fakeNode, id cluster.MemberID, name string, l patterns.Limits, serves request.Serves, x *elsewhere) *request.Server {
	s, err := n.engine.Forward(id, name, l, serves, x)
	require.NoError(w.t, err)
	return w.serves(n, s)
}

// inElsewhere is inBubble with a host whose member of "geo" is elsewhere.
func inElsewhere(t *testing.T, x *elsewhere, f func(t *testing.T, w *world, caller, host *fakeNode, s *request.Server)) {
	t.Helper()
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		f(t, w, caller, host, w.forward(host, 1, "geo", patterns.Limits{}, all, x))
	})
}

func TestAForwardedRequestIsAnsweredFromElsewhere(t *testing.T) {
	// The request comes whole, with who asks and until when; the reply goes back as
	// it is, with the queue depths of who answered. Sealed requests are opened, and
	// their replies sealed.
	for name, seal := range map[string]request.Seal{"open": request.SealAuto, "sealed": request.SealAlways} {
		t.Run(name, func(t *testing.T) {
			inWorldWith(t, seal, func(t *testing.T, w *world, caller, host *fakeNode) {
				x := (&elsewhere{}).echoes()
				w.forward(host, 1, "geo", patterns.Limits{}, all, x)
				m := patterns.Message{Headers: patterns.Headers{{Key: "k", Value: "v"}}, Body: []byte("x")}
				a, err := caller.engine.Ask(t.Context(), request.Ask{Cluster: "geo", Message: m, Options: patterns.RequestOptions{Idempotent: true}})
				require.NoError(t, err)
				require.Equal(t, m, a.Message)
				require.Equal(t, []int{3, 4}, []int{a.Queue, a.Running})
				require.Equal(t, 5*time.Microsecond, a.Service)
				d := x.got()[0]
				require.Equal(t, caller.id, d.From())
				require.True(t, d.Idempotent)
				require.Equal(t, seal == request.SealAlways, d.Sealed)
				require.Equal(t, time.Now().Add(request.DefaultTimeout-2*time.Millisecond).UnixNano(), d.Deadline.UnixNano())
				require.Equal(t, 1+7, d.Size, "the body, and the headers as they are encoded")
				d.Answer(wire.Reply{Outcome: wire.OutcomeCancelled}) // nobody hears a second one
				require.Empty(t, caller.engine.Drops())
			})
		})
	}
}

func TestOutcomesFromElsewhereAreThoseOfMembers(t *testing.T) {
	// What a program says becomes what a member would have said: a refusal is tried
	// elsewhere or told, and what is not known may have run.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		var reply wire.Reply
		x := &elsewhere{at: func(d *request.Delivery) { d.Answer(reply) }}
		w.forward(host, 1, "geo", patterns.Limits{}, all, x)
		for _, tc := range []struct {
			reply wire.Reply
			err   error
		}{
			{wire.Reply{Outcome: wire.OutcomeOverloaded}, patterns.ErrOverloaded},
			{wire.Reply{Outcome: wire.OutcomeTooLarge}, patterns.ErrTooLarge},
			{wire.Reply{Outcome: wire.OutcomeUnauthorized}, patterns.ErrUnauthorized},
			{wire.Reply{Outcome: wire.OutcomeCancelled}, patterns.ErrInterrupted},
			{wire.Reply{Outcome: wire.OutcomeFailed}, patterns.ErrInterrupted},
			{
				wire.Reply{Outcome: wire.OutcomeRemoteError, Code: 7, Tail: tail([]byte("no"))},
				&patterns.RemoteError{Cluster: "geo", Code: 7, Message: "no"},
			},
		} {
			reply = tc.reply
			_, err := do(caller, body("x"))
			require.Equal(t, tc.err, err)
		}
		w.forward(host, 2, "some", patterns.Limits{}, request.ServesOf(patterns.PatternPush), x)
		_, err := caller.engine.Do(t.Context(), "some", body("x"), patterns.RequestOptions{})
		require.Equal(t, patterns.CodeNoMethod, err.(*patterns.RemoteError).Code)
	})
}

func TestTheDeadlineOfAProgramIsNoAnswer(t *testing.T) {
	// A program's time ends before the caller's, by what the way takes. What it says
	// then is not passed on: the caller hears of its own deadline, and a place in the
	// member's queue is free.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		x := &elsewhere{at: func(d *request.Delivery) { d.Answer(wire.Reply{Outcome: wire.OutcomeDeadline}) }}
		w.forward(host, 1, "geo", patterns.Limits{Concurrency: 1, QueueLength: -1}, all, x)
		for range 3 {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := caller.engine.Do(ctx, "geo", body("x"), patterns.RequestOptions{})
			cancel()
			require.Equal(t, &patterns.DeadlineError{Cause: context.DeadlineExceeded, MaybeRan: true}, err)
			require.Equal(t, time.Second, time.Since(began))
		}
		require.Len(t, x.got(), 3)
	})
}

func TestWhatIsForwardedIsBounded(t *testing.T) {
	// Concurrency and QueueLength together are under way; beyond them, or beyond
	// QueueBytes among those that would wait, a request is refused at once. An
	// answer makes room.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		x := &elsewhere{}
		s := w.forward(host, 1, "geo", patterns.Limits{Concurrency: 1, QueueLength: 2, QueueBytes: 10, MessageBytes: 100}, all, x)
		ask := func(n int) chan outcome {
			out, _ := start(caller, request.Ask{Cluster: "geo", Message: patterns.Message{Body: make([]byte, n)}})
			time.Sleep(2 * time.Millisecond)
			return out
		}
		first := ask(100) // runs, so its bytes do not wait
		second, third := ask(5), ask(5)
		require.ErrorIs(t, (<-ask(0)).err, patterns.ErrOverloaded)
		require.Len(t, x.got(), 3)
		require.Equal(t, request.MemberStatus{Cluster: "geo", Member: id(1), Running: 1, Waiting: 2, Bytes: 10}, host.engine.Status()[0])
		x.got()[0].Answer(wire.Reply{})
		require.NoError(t, (<-first).err)
		require.ErrorIs(t, (<-ask(6)).err, patterns.ErrOverloaded, "5 bytes wait")
		fourth := ask(5)
		x.got()[2].Answer(wire.Reply{}) // in whatever order
		x.got()[1].Answer(wire.Reply{})
		x.got()[3].Answer(wire.Reply{})
		for _, out := range []chan outcome{second, third, fourth} {
			require.NoError(t, (<-out).err)
		}
		require.Equal(t, request.MemberStatus{Cluster: "geo", Member: id(1), Handled: 4}, host.engine.Status()[0])
		require.ErrorIs(t, (<-ask(101)).err, patterns.ErrTooLarge)
		require.NoError(t, s.Drain(t.Context()))
	})
}

func TestWhoeverIsElsewhereHearsThatNobodyWaits(t *testing.T) {
	// A caller that gives up, and one whose session ends, are told of; until its
	// answer the request counts as under way.
	x := &elsewhere{}
	inElsewhere(t, x, func(t *testing.T, w *world, caller, host *fakeNode, _ *request.Server) {
		out, cancel := start(caller, request.Ask{Cluster: "geo"})
		time.Sleep(10 * time.Millisecond)
		cancel()
		require.ErrorIs(t, (<-out).err, context.Canceled)
		out, _ = start(caller, request.Ask{Cluster: "geo"})
		time.Sleep(10 * time.Millisecond)
		require.Len(t, x.gone(), 1)
		w.cut(caller, host)
		require.ErrorIs(t, (<-out).err, patterns.ErrInterrupted)
		require.Len(t, x.gone(), 2)
		require.True(t, x.got()[0] == x.gone()[0] && x.got()[1] == x.gone()[1])
		require.Equal(t, 2, host.engine.Status()[0].Running)
		for _, d := range x.got() {
			d.Answer(wire.Reply{})
		}
		require.Zero(t, host.engine.Status()[0].Running)
		require.Equal(t, map[string]uint64{"reply_unsent": 2}, host.engine.Drops())
	})
}

func TestWhoeverIsElsewhereHearsOfTheEndBehindTheBeginning(t *testing.T) {
	// A member that is taken away while a request is handed over has that cancelled
	// once it was: who is elsewhere knows by then what it is to give up.
	x := &elsewhere{}
	inElsewhere(t, x, func(t *testing.T, w *world, caller, host *fakeNode, s *request.Server) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		x.at = func(*request.Delivery) {
			require.ErrorIs(t, s.Drain(ended), context.Canceled)
			require.Empty(t, x.gone())
		}
		out, _ := start(caller, request.Ask{Cluster: "geo"})
		require.ErrorIs(t, (<-out).err, patterns.ErrInterrupted)
		require.Len(t, x.gone(), 1)
		require.Same(t, x.got()[0], x.gone()[0])
		x.gone()[0].Answer(wire.Reply{}) // nobody hears it
	})
}

func TestDrainWaitsForWhatIsElsewhere(t *testing.T) {
	// A draining member refuses what is new and has what is under way finished; when
	// time is over its callers are told that they were interrupted.
	x := &elsewhere{}
	inElsewhere(t, x, func(t *testing.T, w *world, caller, host *fakeNode, s *request.Server) {
		out, _ := start(caller, request.Ask{Cluster: "geo", Message: body("x")})
		time.Sleep(10 * time.Millisecond)
		drained := make(chan error, 1)
		go func() { drained <- s.Drain(t.Context()) }()
		time.Sleep(10 * time.Millisecond)
		refused, _ := start(caller, request.Ask{Cluster: "geo", Deadline: time.Now().Add(time.Second)})
		require.Error(t, (<-refused).err)
		require.Empty(t, drained)
		x.got()[0].Answer(wire.Reply{Tail: tail([]byte("done"))})
		answered(t, out, "done")
		require.NoError(t, <-drained)

		s = w.forward(host, 2, "never", patterns.Limits{}, all, x)
		out, _ = start(caller, request.Ask{Cluster: "never"})
		time.Sleep(10 * time.Millisecond)
		require.ErrorIs(t, s.Drain(within(t, time.Second)), context.DeadlineExceeded)
		require.ErrorIs(t, (<-out).err, patterns.ErrInterrupted)
		require.Len(t, x.gone(), 1)
		x.gone()[0].Answer(wire.Reply{}) // nobody hears it
	})
}

func TestAnAnswerFromElsewhereWaitsForRoomInItsLane(t *testing.T) {
	// Where the caller does not read, the answer stands in line without a goroutine,
	// and the request counts as under way until it has left, or its time is over.
	x := &elsewhere{}
	inElsewhere(t, x, func(t *testing.T, w *world, caller, host *fakeNode, _ *request.Server) {
		out, _ := start(caller, request.Ask{Cluster: "geo"})
		time.Sleep(10 * time.Millisecond)
		w.set(host, caller, func(l *fakeLink) { l.full = true })
		x.got()[0].Answer(wire.Reply{})
		require.Equal(t, 1, host.engine.Status()[0].Running)
		w.set(host, caller, func(l *fakeLink) { l.full = false })
		require.NoError(t, (<-out).err)
		time.Sleep(10 * time.Millisecond)
		require.Zero(t, host.engine.Status()[0].Running)

		out, _ = start(caller, request.Ask{Cluster: "geo", Deadline: time.Now().Add(time.Second)})
		time.Sleep(10 * time.Millisecond)
		w.set(host, caller, func(l *fakeLink) { l.full = true })
		x.got()[1].Answer(wire.Reply{})
		require.ErrorIs(t, (<-out).err, context.DeadlineExceeded)
		time.Sleep(10 * time.Millisecond)
		require.Zero(t, host.engine.Status()[0].Running)
		w.set(host, caller, func(l *fakeLink) { l.full = false })
	})
}

func TestAPushElsewhereIsAcceptedByWhoeverHasIt(t *testing.T) {
	// The node in between acknowledges nothing: the reply says that the program's
	// own queue has it. A tunnel's opening is in no queue, and is answered on lane bulk.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		x := &elsewhere{}
		w.forward(host, 1, "geo", patterns.Limits{Concurrency: 1, QueueLength: -1}, all, x)
		push, _ := start(caller, request.Ask{Cluster: "geo", Pattern: patterns.PatternPush, Message: body("x")})
		time.Sleep(10 * time.Millisecond)
		require.Empty(t, push)
		tunnel, _ := start(caller, request.Ask{Cluster: "geo", Pattern: patterns.PatternTunnel, Message: body("x")})
		time.Sleep(10 * time.Millisecond)
		for _, d := range x.got() {
			d.Answer(wire.Reply{})
		}
		require.NoError(t, (<-push).err)
		require.NoError(t, (<-tunnel).err)
		w.set(host, caller, func(l *fakeLink) { require.Equal(t, []overlay.Lane{overlay.LaneRPC, overlay.LaneBulk}, l.lanes) })
		d := x.got()[1]
		require.Equal(t, patterns.PatternTunnel, d.Pattern)
		require.Equal(t, caller.id, d.Link.Peer())
		require.NotZero(t, d.RequestID)
	})
}

func TestNobodySpeaksForOthersToANode(t *testing.T) {
	// A node that names another one as the origin of its request is refused, and so
	// is a route: nodes do not pick for each other.
	w := newWireless()
	replies := make(chan []byte, 10)
	w.sent = func(_ wire.Kind, parts [][]byte) { replies <- append([]byte(nil), parts[0]...) }
	e := w.engine(t)
	_, err := e.AddMember(1, "geo", patterns.ServiceOf(stuck), patterns.Limits{})
	require.NoError(t, err)
	r := wire.Request{ID: 1, Member: 1, Incarnation: 7, Origin: &wire.Origin{Peer: "somebody"}, Tail: tail(nil)}
	w.handlers[wire.KindRequest](w, r.AppendTo(nil))
	reply, err := wire.DecodeReply(<-replies)
	require.NoError(t, err)
	require.Equal(t, wire.OutcomeUnauthorized, reply.Outcome)
	r = wire.Request{ID: 1, Route: &wire.Route{Cluster: "geo"}, Tail: tail(nil)}
	w.handlers[wire.KindRequest](w, r.AppendTo(nil))
	require.Equal(t, map[string]uint64{"unauthorized": 1, "malformed": 1}, e.Drops())
}

func TestAGatewayCantHaveItsCallerRememberAnyNumberOfReplies(t *testing.T) {
	// A member that stands for a network sends ten replies more than a gateway may
	// ask for: these are counted, and nobody hears them.
	inBubble(t, func(t *testing.T, w *world, caller, host *fakeNode) {
		const most, more = 4096, 10
		x := &elsewhere{at: func(d *request.Delivery) {
			for range most + more {
				require.NoError(t, d.Part(t.Context(), wire.Reply{Outcome: wire.OutcomeReply, Tail: wire.AppendTail(nil, nil, nil), From: &wire.From{Member: 1, Peer: string(host.id)}}))
			}
			sum := wire.Summary{Members: most + more, Complete: true}
			d.Answer(wire.Reply{Outcome: wire.OutcomeReply, Tail: wire.AppendTail(nil, nil, sum.AppendTo(nil))})
		}}
		_, err := host.engine.Forward(1, "geo", patterns.Limits{}, all, x)
		require.NoError(t, err)
		w.list("geo", &cluster.Member{ID: 1, Peer: host.id, Incarnation: 7, Capacity: 1, Imported: true, Network: "eu", Priority: 1})
		out, _, err := survey(caller, within(t, time.Minute), request.All{})
		require.NoError(t, err)
		require.Len(t, out, most)
		require.EqualValues(t, more, caller.engine.Drops()["reply_large"])
	})
}
