// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
)

// TestTheRelaysHelloTellsTheLimits proves what a client is told, and that each is
// somebody else.
func TestTheRelaysHelloTellsTheLimits(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		a, b := s.attach(), s.attach()
		w := a.welcome
		require.Equal(t, uint16(1), w.Version)
		require.Equal(t, wire.AllFeatures&^wire.FeatureSeveral, w.Features)
		require.Equal(t, s.node.Self().String(), w.Peer)
		require.Equal(t, "arke", w.Name)
		require.Equal(t, uint32(wire.MaxFrame), w.LargestFrame)
		require.Equal(t, uint32(16<<20), w.LargestMessage)
		require.Equal(t, []uint32{1024, 4096, 4096}, []uint32{w.Registrations, w.Subscriptions, w.Calls})
		require.Equal(t, uint64(64<<20), w.CallBytes)
		require.Equal(t, [4]uint32{1 << 20, 8 << 20, 16 << 20, 8 << 20}, w.LaneBytes)
		require.NotZero(t, w.Session)
		require.False(t, w.Leaf.IsZero())
		require.NotEqual(t, w.Leaf, b.welcome.Leaf)
		require.NotEqual(t, w.Session, b.welcome.Session)
		require.Equal(t, w.Instance, b.welcome.Instance)
	})
}

// TestARefusedClientIsToldWhy proves that a client which can't attach is told so,
// in words, and that each refusal is counted; and that who has not said Hello makes the
// relay keep memory for a short frame only, whatever length it announces.
func TestARefusedClientIsToldWhy(t *testing.T) {
	play(t, func(cfg *relay.Config) { cfg.Limits.Clients = 1 }, func(t *testing.T, s *stage) {
		old := hello()
		old.MinVersion, old.MaxVersion = 7, 9
		for _, tt := range []struct {
			name string
			raw  []byte
			code wire.EndCode
			text string
		}{
			{"version", frame(wire.LaneCtl, wire.KindHello, &old), wire.EndVersion, "this relay speaks versions 1 to 1 of the protocol, the client 7 to 9"},
			{"no hello", frame(wire.LaneCtl, wire.KindBeat, &wire.LeafBeat{}), wire.EndProtocol, "hello"},
			{"longer than 4 KiB, of which nothing follows", []byte{0, 0, 0x10, 1, byte(wire.KindHello)}, wire.EndProtocol, "at most 4096"},
			{"not our protocol", []byte("GET / HTTP/1.1\r\n\r\n"), wire.EndProtocol, "too large"},
			{"not our magic", append([]byte{0, 0, 0, 101, 1}, make([]byte, 100)...), wire.EndProtocol, "magic"},
			{"mute", []byte{0, 0}, wire.EndTimeout, "no hello in time"},
		} {
			b := s.dial()
			b.read()
			b.write(tt.raw)
			end := b.goodbye()
			require.Equal(t, tt.code, end.Code, tt.name)
			require.Contains(t, end.Text, tt.text, tt.name)
			require.Nil(t, end.Handled)
			b.expectEnd()
			b.conn.Close()
		}
		s.attach()
		end := s.dial().refused(hello())
		require.Equal(t, wire.EndFull, end.Code)
		require.Contains(t, end.Text, relay.ErrTooManyClients.Error())
		require.Equal(t, map[string]uint64{
			"refused.version": 1, "refused.protocol": 4, "refused.timeout": 1, "refused.too_many_clients": 1,
		}, s.relay.Status().Drops)
	})
}

// TestABrokenProtocolEndsTheSession proves that each way to break it ends the
// session, which is told why, and that nothing of it stays.
func TestABrokenProtocolEndsTheSession(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		s.serveEcho("geo")
		serve := frame(wire.LaneCtl, wire.KindServe, &wire.Serve{ID: 1, Cluster: "a", Patterns: 15})
		waits := frame(wire.LaneRPC, wire.KindRequest, &wire.Request{ID: 1, Route: &wire.Route{Cluster: "nobody", Options: wire.RouteWait}, Tail: tail("")})
		second := hello()
		tests := []struct {
			name string
			raw  []byte
			text string
		}{
			{"malformed", []byte{0, 0, 0, 2, byte(wire.KindServe), 0}, "serve"},
			{"malformed request", []byte{0, 0, 0, 2, 1<<6 | byte(wire.KindRequest), 0}, "request"},
			{"malformed beat", []byte{0, 0, 0, 2, byte(wire.KindBeat), 0}, "beat"},
			{"no head", []byte{0, 0, 0, 0, 0}, "kind"},
			{"too large", []byte{0xff, 0, 0, 0, 0}, "at most"},
			{"second hello", frame(wire.LaneCtl, wire.KindHello, &second), "hello"},
			{"a request without a route", frame(wire.LaneRPC, wire.KindRequest, &wire.Request{ID: 1, Tail: tail("")}), "route"},
			{"a registration twice", append(serve, serve...), "id 1 is in use"},
			{"an id twice", append(frame(wire.LaneCtl, wire.KindServe, &wire.Serve{ID: 1, Cluster: "a", Patterns: 15}), frame(wire.LaneCtl, wire.KindSubscribe, &wire.Subscribe{ID: 1, Pattern: "a"})...), "id 1 is in use"},
			{"a call twice", append(waits, waits...), "call 1"},
			{"a publication on another lane", wire.AppendFrame(nil, wire.LaneRPC, wire.KindPublish, (&wire.LeafPublish{Topic: "a"}).AppendHead(nil), tail("")), "another lane"},
			{"a reply with a sender", frame(wire.LaneRPC, wire.KindReply, &wire.Reply{ID: 1, From: &wire.From{}, Tail: tail("")}), "reply"},
		}
		for _, tt := range tests {
			b := s.attach()
			b.write(tt.raw)
			end := behind(b, wire.KindGoodbye, wire.DecodeLeafGoodbye, wire.KindDone)
			require.Equal(t, wire.EndProtocol, end.Code, tt.name)
			require.Contains(t, end.Text, tt.text, tt.name)
			b.expectEnd()
			b.conn.Close()
		}
		eventually(t, func() bool { return len(s.relay.Status().Clients) == 0 }, "sessions stay")
		require.Equal(t, map[string]uint64{"ended.protocol": uint64(len(tests))}, s.relay.Status().Drops)
		_, err := s.node.Members(t.Context(), "a")
		require.ErrorIs(t, err, patterns.ErrNoMembers, "a member stays without its client")
	})
}

// TestAnUnknownFrameIsSkipped proves that a later version may have other kinds.
func TestAnUnknownFrameIsSkipped(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		s.serveEcho("geo")
		b := s.attach()
		b.write([]byte{0, 0, 0, 3, 63, 1, 2})
		require.Equal(t, "hi", bodyOf(t, b.call(1, "geo", "hi").Tail))
		require.Equal(t, uint64(1), s.relay.Status().Drops["frame.unknown"])
	})
}

// TestABrokenConnectionIsADelay proves that a client which comes back within the
// time finds its session as it was: what was under way both ways is not lost, and
// not done twice.
func TestABrokenConnectionIsADelay(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		server, caller := s.pair("geo")
		caller.ask(1, "geo", "written before")
		d := server.delivery()
		server.conn.Close()
		caller.conn.Close()
		time.Sleep(3 * time.Second)

		server, caller = server.resume(s.dial()), caller.resume(s.dial())
		server.answer(d)
		require.Equal(t, "written before", bodyOf(t, caller.reply().Tail))
		caller.ask(2, "geo", "after")
		server.answer(server.delivery())
		require.Equal(t, "after", bodyOf(t, caller.reply().Tail))
		require.Len(t, s.relay.Status().Clients, 2)
		require.Equal(t, uint64(2), s.relay.Status().Sessions)
	})
}

// TestWhatWasNotReadComesAgain proves that replies which were sent into a
// connection that broke come on the next one, once.
func TestWhatWasNotReadComesAgain(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		s.serveEcho("geo")
		b := s.attach()
		for id := range uint64(10) {
			b.ask(id, "geo", "hi")
		}
		eventually(t, func() bool { return s.relay.Status().Clients[0].Requests == 0 }, "no end")
		require.Zero(t, b.counts[wire.LaneRPC], "nothing was looked at")
		b.conn.Close()
		b = b.resume(s.dial())
		for id := range uint64(10) {
			require.Equal(t, id, b.reply().ID)
		}
		require.Equal(t, uint64(10), b.call(10, "geo", "hi").ID)
	})
}

// TestWhoIsAwayIsNotAsked proves that the requests of a client whose connection
// is broken go to others, those that it has not seen and those that may be
// repeated; and that the third kind ends with its session.
func TestWhoIsAwayIsNotAsked(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		lost, caller := s.attach(), s.attach()
		lost.register(1, "geo")
		ask := func(id uint64, flags uint8) {
			caller.request(wire.Request{ID: id, Deadline: caller.in(time.Minute), Flags: flags, Route: &wire.Route{Cluster: "geo"}, Tail: tail("hi")})
		}
		ask(1, 0)
		ask(2, wire.FlagIdempotent)
		require.Equal(t, []uint64{1, 1}, []uint64{lost.delivery().Member, lost.delivery().Member})
		other := s.attach()
		other.register(1, "geo")
		lost.conn.Close()
		begin := time.Now()
		ask(3, 0) // may be queued for the one that is lost
		got := map[string]bool{}
		for range 2 {
			d := other.delivery()
			other.answer(d)
			got[bodyOf(t, d.Tail)] = true
		}
		ids := []uint64{caller.reply().ID, caller.reply().ID}
		require.ElementsMatch(t, []uint64{2, 3}, ids)
		require.Less(t, time.Since(begin), 200*time.Millisecond)
		for id := range uint64(10) { // it is out of rotation
			ask(10+id, 0)
			other.answer(other.delivery())
			require.Zero(t, caller.reply().Outcome)
		}
		r := caller.reply()
		require.Equal(t, uint64(1), r.ID)
		require.Equal(t, wire.OutcomeInterrupted, r.Outcome)
		require.NotZero(t, r.Flags&wire.FlagMaybeRan)
		require.InDelta(t, 15*time.Second, time.Since(begin), float64(time.Second))
		require.Equal(t, uint64(1), s.relay.Status().Drops["ended.silent"])
		members, err := s.node.Members(t.Context(), "geo")
		require.NoError(t, err)
		require.Len(t, members, 1)
	})
}

// TestASilentClientIsSuspect proves that one whose connection stands, and which
// says nothing although it promised to, is out of rotation, and back with its
// first word.
func TestASilentClientIsSuspect(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		h := hello()
		h.BeatMillis = 400
		b := s.dial().greet(h)
		b.register(1, "geo")
		state := func() string {
			members, err := s.node.Members(t.Context(), "geo")
			require.NoError(t, err)
			return members[0].State
		}
		require.Equal(t, "live", state())
		time.Sleep(4 * time.Second)
		require.Equal(t, "suspect", state())
		b.send(wire.LaneCtl, wire.KindBeat, &wire.LeafBeat{Clock: 1})
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, "live", state())
		time.Sleep(20 * time.Second)
		require.Empty(t, s.relay.Status().Clients, "it said nothing for 15 s")
	})
}

// TestAClientThatComesBackReplacesItself proves that one which comes without its
// session, or as another process, ends what it had before it is answered, and
// that a wrong id ends nobody's.
func TestAClientThatComesBackReplacesItself(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		old := s.attach()
		old.register(1, "geo")
		other := s.attach()
		other.register(1, "geo")
		for i, tt := range []struct {
			change   func(h *wire.LeafHello)
			received wire.Counts
		}{
			{change: func(h *wire.LeafHello) { h.Session = 0 }},
			{func(h *wire.LeafHello) { h.Instance[0]++ }, wire.UnknownCounts()},
			{func(h *wire.LeafHello) { h.Received = wire.UnknownCounts() }, wire.Counts{1}},
		} {
			h := old.hello
			h.Leaf, h.Session, h.Received = old.welcome.Leaf, old.welcome.Session, old.counts
			tt.change(&h)
			back := s.dial().greet(h)
			require.Equal(t, old.welcome.Leaf, back.welcome.Leaf)
			require.NotEqual(t, old.welcome.Session, back.welcome.Session)
			require.Equal(t, tt.received, back.welcome.Received, "of the session that it asks for")
			old.expectEnd()
			require.Equal(t, uint64(i+1), s.relay.Status().Drops["ended.replaced"])
			back.register(1, "geo")
			old = back
		}
		stranger := hello()
		stranger.Leaf = wire.LeafID{1, 2, 3}
		require.NotEqual(t, stranger.Leaf, s.dial().greet(stranger).welcome.Leaf)
		time.Sleep(time.Second)
		members, err := s.node.Members(t.Context(), "geo")
		require.NoError(t, err)
		require.Len(t, members, 2)
	})
}

// TestAGoodbyeEndsTheSession proves that a client which leaves in good order is
// gone at once.
func TestAGoodbyeEndsTheSession(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		b := s.attach()
		b.register(1, "geo")
		b.send(wire.LaneCtl, wire.KindGoodbye, &wire.LeafGoodbye{Code: wire.EndShutdown})
		eventually(t, func() bool { return len(s.relay.Status().Clients) == 0 }, "it stays")
		require.Empty(t, s.relay.Status().Drops)
	})
}

// TestAMinimalClientIsServed proves that one which names no feature is served as
// any other, gets no frame that it need not know, and is forgotten with its
// connection.
func TestAMinimalClientIsServed(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		h := wire.LeafHello{MinVersion: 1, MaxVersion: 1, Instance: [16]byte{1}, Clock: 1}
		server, caller := s.dial().greet(h), s.dial().greet(h)
		require.Zero(t, server.welcome.Session)
		require.Zero(t, server.welcome.Features)
		server.register(1, "geo")
		for id := range uint64(1000) {
			caller.ask(id, "geo", "hi")
			_, k, body := server.nextFrame()
			require.Equal(t, wire.KindRequest, k)
			d, err := wire.DecodeRequest(body)
			require.NoError(t, err)
			server.answer(d)
			_, k, _ = caller.nextFrame()
			require.Equal(t, wire.KindReply, k)
		}
		time.Sleep(10 * time.Second)
		require.False(t, server.has())
		require.Empty(t, server.ahead)
		server.conn.Close()
		eventually(t, func() bool { return len(s.relay.Status().Clients) == 1 }, "it stays")
	})
}

// TestASessionIsTakenOverAtAnyMoment proves that a client which says Hello again and
// again, on connections that it has not used yet, does no harm: at the end it has its
// session, or a new one.
func TestASessionIsTakenOverAtAnyMoment(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		server := s.attach()
		server.register(1, "geo")
		b := s.attach()
		for range 100 {
			b = b.resume(s.dial())
		}
		b.conn.Close()
		time.Sleep(time.Second)
		b = b.resume(s.dial())
		b.ask(1, "geo", "hi")
		server.answer(server.delivery())
		require.Zero(t, b.reply().Outcome)
	})
}
