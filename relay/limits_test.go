// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
)

// TestOneBeyondALimitIsTheNamedError goes one beyond each limit of a client and
// sees the named error and its counter; and that the place is there again
// afterwards.
func TestOneBeyondALimitIsTheNamedError(t *testing.T) {
	play(t, func(cfg *relay.Config) {
		cfg.Limits.Registrations, cfg.Limits.Requests, cfg.Limits.RequestBytes = 2, 2, 300
		cfg.Limits.Subscriptions, cfg.Limits.Tunnels = 2, 1
	}, func(t *testing.T, s *stage) {
		b := s.attach()
		b.register(1, "geo")
		b.register(2, "geo")
		d := b.tryServe(wire.Serve{ID: 3, Cluster: "geo", Patterns: 15})
		require.Equal(t, []any{wire.OutcomeTooMany, wire.LimitRegistrations, relay.ErrTooManyRegistrations.Error() + ": at most 2: use another program, or start the relay with a larger --max-members"}, []any{d.Outcome, d.Code, d.Text})

		b.subscribe(wire.Subscribe{ID: 11, Pattern: "a"})
		b.subscribe(wire.Subscribe{ID: 12, Pattern: "b"})
		d = b.trySubscribe(wire.Subscribe{ID: 13, Pattern: "c"})
		require.Equal(t, []any{wire.OutcomeTooMany, wire.LimitSubscriptions, relay.ErrTooManySubscriptions.Error() + ": at most 2: use another program, or start the relay with a larger --max-subscriptions"}, []any{d.Outcome, d.Code, d.Text})

		caller := s.attach()
		caller.ask(1, "geo", "")
		caller.ask(2, "geo", "")
		r := caller.call(3, "geo", "")
		require.Equal(t, []any{uint64(3), wire.OutcomeOverloaded, wire.LimitCalls, relay.ErrTooManyRequests.Error() + ": at most 2: wait for replies, or use another program"}, []any{r.ID, r.Outcome, r.Code, bodyOf(t, r.Tail)})
		b.answer(b.delivery())
		caller.reply()
		r = caller.call(4, "geo", string(make([]byte, 300)))
		require.Equal(t, []any{uint64(4), wire.OutcomeOverloaded, wire.LimitBytes}, []any{r.ID, r.Outcome, r.Code})
		b.answer(b.delivery())
		caller.reply()
		caller.ask(5, "geo", string(make([]byte, 3000))) // it is alone
		b.answer(b.delivery())
		require.Zero(t, caller.reply().Outcome)

		s.serveEcho("pipe")
		require.Zero(t, caller.open(6, 5, "pipe").Outcome)
		r = caller.open(7, 6, "pipe")
		require.Equal(t, []any{wire.OutcomeTooMany, wire.LimitTunnels, relay.ErrTooManyTunnels.Error() + ": tunnels of one program: at most 1: use another program, or another relay"}, []any{r.Outcome, r.Code, bodyOf(t, r.Tail)})
		require.Equal(t, map[string]uint64{
			"registration.too_many": 1, "subscription.too_many": 1, "request.too_many": 1, "request.too_many_bytes": 1, "tunnel.too_many": 1,
		}, s.relay.Status().Drops)
		b.leave(1)
		b.register(3, "geo")
		b.leave(11)
		b.subscribe(wire.Subscribe{ID: 13, Pattern: "c"})
		caller.send(wire.LaneCtl, wire.KindTunnelReset, &wire.TunnelReset{ID: 5, Flags: wire.FlagOpener})
		eventually(t, func() bool { return s.relay.Status().Clients[1].Tunnels == 0 }, "it stays")
		require.Zero(t, caller.open(8, 7, "pipe").Outcome)
	})
}

// TestOneMuteConnectionTooManyIsCounted has one connection more than may be about
// to say Hello: one of them is closed and counted, and who says Hello is let in.
func TestOneMuteConnectionTooManyIsCounted(t *testing.T) {
	const places = 8
	r, cfg := start(t, func(cfg *relay.Config) { cfg.Limits.Handshake, cfg.Limits.Waiting = time.Minute, places })
	var mute []*binding
	for range places + 1 {
		mute = append(mute, dial(t, "unix", cfg.Socket))
		mute[len(mute)-1].read()
	}
	eventually(t, func() bool { return r.Status().Drops["handshake.too_many"] == 1 }, "nobody is closed")
	closed := 0
	for _, b := range mute {
		select {
		case a := <-b.came:
			require.Error(t, a.err)
			closed++
		case <-time.After(20 * time.Millisecond):
		}
	}
	require.Equal(t, 1, closed)
	letIn(t, cfg.Socket)
}

// TestSilentConnectionsLockNobodyOut proves that 600 connections over TCP which say
// nothing keep nobody out who comes over the socket, and as many over the socket of
// one user nobody who says Hello at once; nor do those that are told why they are
// refused, and do not read it.
func TestSilentConnectionsLockNobodyOut(t *testing.T) {
	r, cfg := start(t, func(cfg *relay.Config) {
		guard(cfg)
		cfg.Limits.Handshake = time.Minute
	})
	soon := func(what string) {
		t.Helper()
		begin := time.Now()
		letIn(t, cfg.Socket)
		require.Less(t, time.Since(begin), time.Second, what)
	}
	const crowd = 600
	for range crowd {
		dial(t, "tcp", r.Addr())
	}
	eventually(t, func() bool { return r.Status().Drops["handshake.too_many"] == crowd-256 }, "the port lets all of them wait")
	soon("the port has no place")
	for range crowd {
		dial(t, "unix", cfg.Socket)
	}
	eventually(t, func() bool { return r.Status().Drops["handshake.too_many"] >= 2*(crowd-256) }, "the socket lets all of them wait")
	soon("the socket has no place")
	var refused []net.Conn
	for range crowd {
		conn := dial(t, "unix", cfg.Socket).conn
		_, _ = conn.Write([]byte{0, 0, 0, 1, 0}) // no matter if it was chosen
		refused = append(refused, conn)
	}
	for _, conn := range refused {
		_, _ = conn.Read(make([]byte, 1)) // it was told, or chosen: nobody is on the way in any more
	}
	soon("the refused have all places")
}

// TestClientsOfOneSourceLeavePlacesForOthers proves that as many clients as may be
// from one source keep nobody out who comes from another one.
func TestClientsOfOneSourceLeavePlacesForOthers(t *testing.T) {
	r, cfg := start(t, func(cfg *relay.Config) {
		guard(cfg)
		cfg.Limits.Clients = 4
	})
	knock := func() *binding {
		b := dial(t, "tcp", r.Addr())
		x, _ := b.challenge()
		b.prove(hello(), x.OfClient(sesame))
		return b
	}
	for range 4 {
		expect(knock(), wire.KindHello, wire.DecodeRelayHello)
	}
	end := knock().goodbye()
	require.Equal(t, wire.EndFull, end.Code)
	require.Contains(t, end.Text, "of 127.0.0.1")
	attach(t, cfg.Socket)
	attach(t, cfg.Socket)
}

// TestASlowClientHurtsNobodyElse proves that a client which stops reading is
// refused what it can't take, with the outcome that sends its callers elsewhere,
// that nobody else notices, and that its session ends at last.
func TestASlowClientHurtsNobodyElse(t *testing.T) {
	const limit, size, count = 1 << 20, 32 << 10, 100
	play(t, func(cfg *relay.Config) { cfg.Limits.QueueBytes = limit }, func(t *testing.T, s *stage) {
		s.serveEcho("fast")
		slow := s.attachMute()
		slow.send(wire.LaneCtl, wire.KindServe, &wire.Serve{ID: 1, Cluster: "slow", Concurrency: 1000, Patterns: 15})
		time.Sleep(time.Second)
		caller, honest := s.attach(), s.attach()
		for id := range uint64(count) {
			caller.request(wire.Request{ID: id, Deadline: caller.in(time.Minute), Route: &wire.Route{Cluster: "slow"}, Tail: tail(string(make([]byte, size)))})
			begin := time.Now()
			require.Equal(t, "hi", bodyOf(t, honest.call(id, "fast", "hi").Tail))
			require.Less(t, time.Since(begin), 10*time.Millisecond)
		}
		refused := 0
		for range count - limit/size {
			require.Equal(t, wire.OutcomeOverloaded, caller.reply().Outcome)
			refused++
		}
		require.GreaterOrEqual(t, s.relay.Status().Drops["delivery.slow_client"], uint64(refused))
		for range limit/size - 2 {
			// Those that wait for it to the end of its session hear that nobody is left.
			r := caller.reply()
			require.Contains(t, []wire.Outcome{wire.OutcomeOverloaded, wire.OutcomeInterrupted, wire.OutcomeUnreachable, wire.OutcomeDeadline, wire.OutcomeNoMembers}, r.Outcome)
		}
		eventually(t, func() bool { return len(s.relay.Status().Clients) == 2 }, "the slow client stays")
		_, err := s.node.Members(t.Context(), "slow")
		require.ErrorIs(t, err, patterns.ErrNoMembers)
	})
}

// TestAReplyThatFindsNoRoomIsReportedLost proves that replies wait for a client
// that reads late, as far as its limits go, and that those beyond are replaced by
// something smaller that says so: none is dropped without a word.
func TestAReplyThatFindsNoRoomIsReportedLost(t *testing.T) {
	play(t, func(cfg *relay.Config) {
		cfg.Limits.QueueBytes, cfg.Limits.RequestBytes = 1<<20, 2<<20
	}, func(t *testing.T, s *stage) {
		s.serveEcho("geo")
		b := s.attachMute()
		const calls = 100
		for id := range uint64(calls) {
			b.ask(id, "geo", string(make([]byte, 60<<10)))
			time.Sleep(10 * time.Millisecond)
		}
		require.Positive(t, s.relay.Status().Drops["reply.slow_client"])
		b.read()
		lost := 0
		for range calls {
			r := b.reply()
			if r.Outcome != 0 {
				require.Equal(t, wire.OutcomeInterrupted, r.Outcome)
				require.NotZero(t, r.Flags&wire.FlagMaybeRan)
				lost++
			}
			b.ack()
		}
		require.Equal(t, s.relay.Status().Drops["reply.slow_client"], uint64(lost))
		require.Less(t, lost, calls-30)
		require.Zero(t, b.call(calls, "geo", "and the session goes on").Outcome)
	})
}

// TestAFloodOfCallsHasAnEnd proves that a client which asks for more and more
// without reading loses its session.
func TestAFloodOfCallsHasAnEnd(t *testing.T) {
	play(t, func(cfg *relay.Config) { cfg.Limits.QueueBytes, cfg.Limits.Requests = 1<<16, 100 }, func(t *testing.T, s *stage) {
		b := s.attachMute()
		ping := wire.Request{ID: 1, Route: &wire.Route{Cluster: "$what"}, Tail: tail("")}
		for range 100_000 {
			if _, err := b.conn.Write(frame(wire.LaneRPC, wire.KindRequest, &ping)); err != nil {
				break
			}
		}
		eventually(t, func() bool { return len(s.relay.Status().Clients) == 0 }, "the flood has no end")
		require.Equal(t, uint64(1), s.relay.Status().Drops["ended.silent"])
	})
}

// TestAPublicationThatIsTooLargeIsAGap proves that a client which takes only
// small messages is told of the others.
func TestAPublicationThatIsTooLargeIsAGap(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		h := hello()
		h.LargestMessage = 1000
		b := s.dial().greet(h)
		b.subscribe(wire.Subscribe{ID: 1, Pattern: "a"})
		s.publish("a", string(make([]byte, 2000)))
		gap := expect(b, wire.KindGap, wire.DecodeGap)
		require.Equal(t, []any{uint64(1), true, wire.GapLost}, []any{gap.Missed, gap.Exact, gap.Reason})
		s.publish("a", "next")
		require.Equal(t, "next", bodyOf(t, b.publication().Tail))
		require.Equal(t, map[string]uint64{"publication.too_large": 1}, s.relay.Status().Drops)
		s.serveEcho("geo")
		require.Equal(t, wire.OutcomeTooLarge, b.call(1, "geo", string(make([]byte, 2000))).Outcome)
	})
}
