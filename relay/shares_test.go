// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/relay"
)

// own is what each client has of its own of calls, deliveries, subscriptions and
// tunnels.
const own = 64

// settled waits until nobody holds anything beyond its own.
func (s *stage) settled() {
	s.t.Helper()
	eventually(s.t, func() bool { return s.relay.Status().Held == relay.Totals{} }, "something is held for ever")
}

// hang makes the binding a member that never answers.
func (b *binding) hang(cluster string) {
	b.t.Helper()
	require.Zero(b.t, b.tryServe(wire.Serve{ID: 1, Cluster: cluster, Patterns: 15, Concurrency: 16_384}).Outcome)
}

// calls makes n calls of ids from first on.
func (b *binding) calls(first uint64, n int, cluster string) {
	b.t.Helper()
	for id := range uint64(n) {
		b.request(wire.Request{ID: first + id, Deadline: b.in(time.Minute), Route: &wire.Route{Cluster: cluster}, Tail: tail("hi")})
	}
}

// TestOneClientsCallsLeaveOthersTheirs proves that a client alone may have half of
// all calls beyond its own, that one more is refused as overloaded with the name of
// its share, that this keeps another client from nothing: its own, and half of the
// other half, and that all is free again when they are over.
func TestOneClientsCallsLeaveOthersTheirs(t *testing.T) {
	const total = 400
	play(t, func(cfg *relay.Config) { cfg.Totals.Requests = total }, func(t *testing.T, s *stage) {
		hanging := s.attach()
		hanging.hang("hang")
		go func() { // it reads
			for a := range hanging.came {
				if a.err != nil {
					return
				}
			}
		}()
		greedy, modest := s.attach(), s.attach()
		greedy.calls(0, own+total/2, "hang")
		greedy.calls(1000, 1, "hang")
		r := greedy.reply()
		require.Equal(t, []any{uint64(1000), wire.OutcomeOverloaded, wire.LimitShare}, []any{r.ID, r.Outcome, r.Code})
		require.Contains(t, bodyOf(t, r.Tail), relay.ErrShareOfRequests.Error()+": at most 400: ")
		require.Zero(t, r.Flags&wire.FlagMaybeRan)

		s.serveEcho("echo")
		require.Equal(t, "hi", bodyOf(t, modest.call(5000, "echo", "hi").Tail), "one that is alone is served")
		modest.calls(0, own+total/4, "hang")
		modest.calls(1000, 1, "hang")
		r = modest.reply()
		require.Equal(t, []any{uint64(1000), wire.LimitShare}, []any{r.ID, r.Code}, "the last one, and no other")
		require.Equal(t, total/2+total/4, s.relay.Status().Held.Requests)
		require.Equal(t, uint64(2), s.relay.Status().Drops["request.share"])

		greedy.conn.Close()
		for id := range uint64(own + total/4) {
			modest.send(wire.LaneRPC, wire.KindCancel, wire.Cancel{ID: id})
		}
		for range own + total/4 {
			require.Equal(t, wire.OutcomeCancelled, modest.reply().Outcome)
		}
		s.settled()
	})
}

// TestHangingHandlersOfOneClientLeaveOthersServed proves that a client whose 20,000
// handlers hang is refused more, as overloaded, when it has its share of what all
// clients may be asked, and that another one's members are asked and answer then.
func TestHangingHandlersOfOneClientLeaveOthersServed(t *testing.T) {
	const total, callers, each = 8_000, 10, 2_000
	play(t, func(cfg *relay.Config) {
		cfg.Totals.Deliveries, cfg.Totals.Requests = total, 100_000
	}, func(t *testing.T, s *stage) {
		hanging, honest := s.attach(), s.attach()
		hanging.hang("hang")
		honest.register(1, "echo")
		refused := 0
		var asking []*binding
		for range callers {
			b := s.attach()
			b.calls(0, each, "hang")
			asking = append(asking, b)
		}
		const open = own + total/2
		for _, b := range asking {
			time.Sleep(time.Second) // every answer is there
			for b.has() {
				r := b.reply()
				require.Equal(t, wire.OutcomeOverloaded, r.Outcome)
				require.Zero(t, r.Flags&wire.FlagMaybeRan)
				refused++
			}
		}
		require.Positive(t, s.relay.Status().Drops["delivery.share"])
		require.Equal(t, callers*each-open, refused, "it has its share, and not one more")
		require.Equal(t, open, s.status("test").Deliveries)

		caller := s.attach()
		for id := range uint64(100) {
			begin := time.Now()
			caller.ask(id, "echo", "hi")
			honest.answer(honest.delivery())
			require.Equal(t, "hi", bodyOf(t, caller.reply().Tail))
			require.Less(t, time.Since(begin), 10*time.Millisecond)
		}
		hanging.send(wire.LaneCtl, wire.KindGoodbye, &wire.LeafGoodbye{Code: wire.EndShutdown})
		s.settled()
	})
}

// TestPlacesAreSharedByAllClients proves the same of registrations, subscriptions
// and tunnels, each with its counter.
func TestPlacesAreSharedByAllClients(t *testing.T) {
	play(t, func(cfg *relay.Config) {
		cfg.Totals.Registrations, cfg.Totals.Subscriptions, cfg.Totals.Tunnels = 4, 8, 12
	}, func(t *testing.T, s *stage) {
		const ownFew = 8
		b := s.attach()
		for id := range uint64(ownFew + 2) {
			b.register(id, "geo")
		}
		d := b.tryServe(wire.Serve{ID: 100, Cluster: "geo", Patterns: 15})
		require.Equal(t, []any{wire.OutcomeTooMany, wire.LimitShare, relay.ErrShareOfRegistrations.Error() + ": at most 4: start the relay with a larger --max-members"}, []any{d.Outcome, d.Code, d.Text})
		for id := range uint64(own + 4) {
			b.subscribe(wire.Subscribe{ID: 200 + id, Pattern: "a"})
		}
		d = b.trySubscribe(wire.Subscribe{ID: 101, Pattern: "a"})
		require.Equal(t, []any{wire.OutcomeTooMany, wire.LimitShare, relay.ErrShareOfSubscriptions.Error() + ": at most 8: start the relay with a larger --max-subscriptions"}, []any{d.Outcome, d.Code, d.Text})

		_, err := s.node.Serve(t.Context(), "pipe", patterns.Service{Tunnel: echoTunnel}, patterns.Limits{Tunnels: 1000})
		require.NoError(t, err)
		for id := range uint64(own + 6) {
			require.Zero(t, b.open(id, 1000+id, "pipe").Outcome)
		}
		r := b.open(500, 5000, "pipe")
		require.Equal(t, []any{wire.OutcomeTooMany, wire.LimitShare}, []any{r.Outcome, r.Code})
		require.Equal(t, map[string]uint64{"registration.share": 1, "subscription.share": 1, "tunnel.share": 1}, s.relay.Status().Drops)

		other := s.attach()
		for id := range uint64(ownFew) {
			other.register(id, "other")
		}
		for id := range uint64(own) {
			other.subscribe(wire.Subscribe{ID: 200 + id, Pattern: "a"})
			require.Zero(t, other.open(id, 1000+id, "pipe").Outcome)
		}
		require.Len(t, s.relay.Status().Drops, 3, "what is its own nobody takes from it")
		for _, b := range []*binding{b, other} {
			b.send(wire.LaneCtl, wire.KindGoodbye, &wire.LeafGoodbye{Code: wire.EndShutdown})
		}
		s.settled()
	})
}

// TestCallsThatWaitForAMemberAreShared proves that calls to clusters that nobody
// serves take workers of the node up to the client's share only, so that another
// client's call finds one.
func TestCallsThatWaitForAMemberAreShared(t *testing.T) {
	const total, ownFew = 40, 8
	play(t, func(cfg *relay.Config) { cfg.Totals.Waits = total }, func(t *testing.T, s *stage) {
		wait := func(b *binding, id uint64) {
			b.request(wire.Request{ID: id, Deadline: b.in(20 * time.Second), Route: &wire.Route{Cluster: "nobody", Options: wire.RouteWait}, Tail: tail("hi")})
		}
		greedy, modest := s.attach(), s.attach()
		wait(greedy, 0)
		time.Sleep(5 * time.Second) // it is known that there is none
		for id := range uint64(100) {
			wait(greedy, id+1)
		}
		refused := 0
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			for greedy.has() {
				require.Equal(t, wire.OutcomeOverloaded, greedy.reply().Outcome)
				refused++
			}
		}
		require.Equal(t, 101-ownFew-total/2, refused)
		wait(modest, 1)
		time.Sleep(time.Second)
		require.False(t, modest.has(), "it waits")
		s.serveEcho("nobody")
		require.Equal(t, "hi", bodyOf(t, modest.reply().Tail))
		for range ownFew + total/2 {
			require.Equal(t, "hi", bodyOf(t, greedy.reply().Tail))
		}
		s.settled()
	})
}

// TestBytesAreSharedByAllClients proves that calls of one client that hold its share
// of all bytes are refused, and that another one's are not.
func TestBytesAreSharedByAllClients(t *testing.T) {
	const total, size, ownBytes = 2 << 20, 60 << 10, 128 << 10
	play(t, func(cfg *relay.Config) { cfg.Totals.Bytes = total }, func(t *testing.T, s *stage) {
		hanging := s.attach()
		hanging.hang("hang")
		greedy, modest := s.attach(), s.attach()
		large := func(b *binding, id uint64) {
			b.request(wire.Request{ID: id, Deadline: b.in(time.Minute), Route: &wire.Route{Cluster: "hang"}, Tail: tail(string(make([]byte, size)))})
			for hanging.has() { // it reads, and lets the relay forget
				hanging.whole(wire.KindRequest)
			}
			hanging.ack()
		}
		const fit = (ownBytes + total/2) / (size + 100)
		for id := range uint64(fit + 10) {
			large(greedy, id)
		}
		eventually(t, greedy.has, "nobody is refused")
		r := greedy.reply()
		require.Equal(t, []any{wire.OutcomeOverloaded, wire.LimitShare}, []any{r.Outcome, r.Code})
		require.Contains(t, bodyOf(t, r.Tail), relay.ErrShareOfBytes.Error()+": at most 2097152: ")
		require.LessOrEqual(t, s.relay.Status().Held.Bytes, total, "with what waits for the member")
		for id := range uint64(2) {
			large(modest, id)
		}
		time.Sleep(time.Second)
		require.False(t, modest.has(), "it has room")
		for _, b := range []*binding{greedy, modest, hanging} {
			b.conn.Close()
		}
		s.settled()
	})
}

// TestLanesOfAllClientsAreBounded proves that what waits for clients which do not
// read, and what came from them in part, is bounded for all of them together: more is
// a gap, or ends the session of who sends it, and is gone when they are.
func TestLanesOfAllClientsAreBounded(t *testing.T) {
	const total, size, ownLaneBytes = 2 << 20, 30 << 10, 512 << 10
	play(t, func(cfg *relay.Config) { cfg.Totals.Bytes = total }, func(t *testing.T, s *stage) {
		mute := make([]*binding, 4)
		for i := range mute {
			mute[i] = s.attachMute()
			mute[i].send(wire.LaneCtl, wire.KindSubscribe, &wire.Subscribe{ID: 1, Pattern: "a"})
		}
		time.Sleep(time.Second)
		for range 400 { // 12 MB for each, which its own limits allow
			s.publish("a", string(make([]byte, size)))
		}
		held := 0
		for _, c := range s.relay.Status().Clients {
			require.GreaterOrEqual(t, c.PublicationBytes, ownLaneBytes-2*size, "what is its own each has")
			held += c.PublicationBytes
		}
		require.LessOrEqual(t, held, len(mute)*ownLaneBytes+total)
		require.Greater(t, held, len(mute)*ownLaneBytes+total/4, "and shares what is beyond")
		require.Positive(t, s.relay.Status().Drops["publication.slow_client"])

		b := s.attach()
		for first := true; !b.has(); first = false {
			f := wire.Fragment{Channel: 1, First: first, Kind: wire.KindRequest, Total: 8 << 20, Payload: make([]byte, 60<<10)}
			b.write(wire.AppendFrame(nil, wire.LaneBulk, wire.KindFragment, f.AppendTo(nil)))
			time.Sleep(time.Millisecond)
		}
		end := b.goodbye()
		require.Equal(t, wire.EndOther, end.Code)
		require.Contains(t, end.Text, relay.ErrShareOfBytes.Error()+": at most 2097152: ")
		for _, b := range mute {
			b.conn.Close()
		}
		s.settled()
	})
}

// asked is a node that counts for whom it is asked.
type asked struct {
	relay.Node
	mu      sync.Mutex
	clients map[uint64]int
}

func (n *asked) Begin(a request.Ask, done func(request.Answer, error)) (cancel func()) {
	n.mu.Lock()
	n.clients[a.Client]++
	n.mu.Unlock()
	return n.Node.Begin(a, done)
}

// TestTheNodeKnowsForWhichClientItAsks proves that each client's calls are made for it, so
// that each has a retry budget of its own.
func TestTheNodeKnowsForWhichClientItAsks(t *testing.T) {
	n := &asked{clients: make(map[uint64]int)}
	play(t, func(cfg *relay.Config) {
		n.Node, cfg.Node = cfg.Node, n
	}, func(t *testing.T, s *stage) {
		s.serveEcho("echo")
		for range 2 {
			b := s.attach()
			for id := range uint64(3) {
				b.call(id, "echo", "hi")
			}
		}
		require.Zero(t, n.clients[0])
		require.Equal(t, []int{3, 3}, slices.Collect(maps.Values(n.clients)))
	})
}
