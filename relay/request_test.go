// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
)

// TestARequestGoesFromClientToClient proves the whole way, whatever the size: a
// call of one client is a delivery at another one, and its answer the reply.
func TestARequestGoesFromClientToClient(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		server, caller := s.pair("geo")
		header := wire.Header{Key: "traceparent", Value: "00-1"}
		for id, text := range []string{"", "hi", strings.Repeat("x", 1<<20-100)} {
			caller.request(wire.Request{ID: uint64(id), Route: &wire.Route{Cluster: "geo"}, Tail: tail(text, header)})
			d := server.whole(wire.KindRequest)
			q, err := wire.DecodeRequest(d)
			require.NoError(t, err)
			require.Equal(t, uint64(1), q.Member)
			require.Equal(t, string(s.node.Self()), q.Origin.Peer)
			require.Equal(t, tail(text, header), q.Tail)
			server.answer(q)
			r, err := wire.DecodeReply(caller.whole(wire.KindReply))
			require.NoError(t, err)
			require.Equal(t, uint64(id), r.ID)
			require.Zero(t, r.Outcome)
			require.Equal(t, tail(text, header), r.Tail)
			require.Equal(t, uint8(1), r.From.Attempts)
			require.NotZero(t, r.From.Member)
			require.Equal(t, string(s.node.Self()), r.From.Peer)
		}
	})
}

// TestOptionsReachTheNode proves that a call waits for a first member if it says
// so, that a sticky key picks always the same one, and that without a member the
// reply says so.
func TestOptionsReachTheNode(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		caller := s.attach()
		require.Equal(t, wire.OutcomeNoMembers, caller.call(1, "geo", "hi").Outcome)
		caller.request(wire.Request{ID: 2, Deadline: caller.in(30 * time.Second), Route: &wire.Route{Cluster: "geo", Options: wire.RouteWait}, Tail: tail("hi")})
		time.Sleep(time.Second)
		a := s.attach()
		a.register(1, "geo")
		a.answer(a.delivery())
		require.Zero(t, caller.reply().Outcome)

		b := s.attach()
		b.register(1, "geo")
		asked := map[*binding]int{}
		for id := range uint64(5) {
			caller.request(wire.Request{ID: 10 + id, Route: &wire.Route{Cluster: "geo", Policy: uint8(patterns.PolicySticky), StickyKey: "k"}, Tail: tail("hi")})
			eventually(t, func() bool { return a.has() || b.has() }, "nobody is asked")
			for _, m := range []*binding{a, b} {
				if m.has() {
					m.answer(m.delivery())
					asked[m]++
				}
			}
			require.Zero(t, caller.reply().Outcome)
		}
		require.Len(t, asked, 1)
	})
}

// TestACancellationReachesTheHandler proves that a cancelled call ends at the
// caller at once, and that the member's client hears of it.
func TestACancellationReachesTheHandler(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		server, caller := s.pair("geo")
		caller.ask(7, "geo", "hi")
		d := server.delivery()
		caller.send(wire.LaneRPC, wire.KindCancel, wire.Cancel{ID: 7})
		r := caller.reply()
		require.Equal(t, wire.OutcomeCancelled, r.Outcome)
		require.NotZero(t, r.Flags&wire.FlagMaybeRan)
		require.Equal(t, d.ID, expect(server, wire.KindCancel, wire.DecodeCancel).ID)
		require.Zero(t, s.status("test").Deliveries)
		server.answer(d)
		eventually(t, func() bool { return s.relay.Status().Drops["answer.late"] == 1 }, "it is not late")
		caller.send(wire.LaneRPC, wire.KindCancel, wire.Cancel{ID: 99}) // no error
		caller.ask(8, "geo", "again")
		server.answer(server.delivery())
		require.Zero(t, caller.reply().Outcome)
	})
}

// TestADeadlineTravels proves that both sides know when a call is over, on their
// own clocks.
func TestADeadlineTravels(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		server, caller := s.pair("geo")
		begin := time.Now()
		caller.request(wire.Request{ID: 7, Deadline: caller.in(2 * time.Second), Route: &wire.Route{Cluster: "geo"}, Tail: tail("hi")})
		d := server.delivery()
		left := time.Duration(d.Deadline - server.relayNow())
		require.InDelta(t, 2*time.Second, left, float64(50*time.Millisecond))
		r := caller.reply()
		require.Equal(t, wire.OutcomeDeadline, r.Outcome)
		require.NotZero(t, r.Flags&wire.FlagMaybeRan)
		require.InDelta(t, 2*time.Second, time.Since(begin), float64(50*time.Millisecond))
	})
}

// TestAMemberAnswersForItsClient proves what a caller gets when the member's
// client says so.
func TestAMemberAnswersForItsClient(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		server, caller := s.pair("geo")
		for id, tt := range []struct {
			says wire.Reply
			want wire.Outcome
			text string
		}{
			{wire.Reply{Outcome: wire.OutcomeRemoteError, Code: 404, Tail: tail("no such place")}, wire.OutcomeRemoteError, "no such place"},
			{wire.Reply{Outcome: wire.OutcomeOverloaded, Tail: tail("")}, wire.OutcomeOverloaded, ""},
			{wire.Reply{Outcome: wire.OutcomeTooLarge, Tail: tail("")}, wire.OutcomeTooLarge, ""},
			{wire.Reply{Outcome: wire.OutcomeInterrupted, Tail: tail("")}, wire.OutcomeInterrupted, ""},
		} {
			caller.ask(uint64(id), "geo", "hi")
			tt.says.ID = server.delivery().ID
			server.send(wire.LaneRPC, wire.KindReply, &tt.says)
			r := caller.reply()
			require.Equal(t, tt.want, r.Outcome, tt.want)
			require.Equal(t, tt.says.Code, r.Code)
			if tt.text != "" {
				require.Equal(t, tt.text, bodyOf(t, r.Tail))
			}
		}
		server.send(wire.LaneRPC, wire.KindReply, &wire.Reply{ID: 99999, Tail: tail("")})
		eventually(t, func() bool { return s.relay.Status().Drops["answer.late"] == 1 }, "not counted")
	})
}

// TestWhatAMemberDoesNotImplementIsRefused proves that nobody is asked then.
func TestWhatAMemberDoesNotImplementIsRefused(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		server, caller := s.attach(), s.attach()
		server.tryServe(wire.Serve{ID: 1, Cluster: "geo", Patterns: wire.ServesPushes})
		r := caller.call(1, "geo", "hi")
		require.Equal(t, wire.OutcomeRemoteError, r.Outcome)
		require.Equal(t, uint32(patterns.CodeNoMethod), r.Code)
		caller.request(wire.Request{ID: 2, Pattern: uint8(patterns.PatternPush), Route: &wire.Route{Cluster: "geo"}, Tail: tail("hi")})
		d := server.delivery()
		require.Equal(t, uint8(patterns.PatternPush), d.Pattern)
		server.send(wire.LaneRPC, wire.KindReply, &wire.Reply{ID: d.ID, Tail: tail("")})
		require.Zero(t, caller.reply().Outcome)
	})
}

// TestMembersAreListed proves what the two clusters of the relay itself answer.
func TestMembersAreListed(t *testing.T) {
	play(t, func(cfg *relay.Config) {
		cfg.Status = func() any { return map[string]any{"links": []int{1}} }
	}, func(t *testing.T, s *stage) {
		server, caller := s.pair("geo")
		members := caller.members(1, "geo")
		require.Len(t, members, 1)
		require.Equal(t, s.node.Self().String(), members[0].Peer)
		require.Equal(t, wire.OutcomeNoMembers, caller.call(2, "$members", "nobody").Outcome)
		require.Equal(t, wire.OutcomeNoMembers, caller.call(3, "$what", "").Outcome)
		caller.ask(4, "$status", "")
		var status struct {
			Links []int
			Relay struct{ Clients []struct{ Clusters []string } }
		}
		require.NoError(t, json.Unmarshal([]byte(bodyOf(t, caller.reply().Tail)), &status))
		require.Equal(t, []int{1}, status.Links)
		require.Len(t, status.Relay.Clients, 2)
		require.Equal(t, wire.OutcomeFailed, server.tryServe(wire.Serve{ID: 2, Cluster: "$x", Patterns: 15}).Outcome)
	})
}

// TestNodesAreNamed proves that members come with the names of their nodes, and what
// the relay answers about others.
func TestNodesAreNamed(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		other := s.Start("other", func(c *node.Config) { c.Name = "attic" })
		_, err := other.Serve(t.Context(), "far", patterns.HandlerFunc(echo), patterns.Limits{})
		require.NoError(t, err)
		caller := s.attach()
		members := caller.members(1, "far")
		require.Len(t, members, 1)
		require.Equal(t, "attic", members[0].Name)

		id := other.Self().String()
		r := caller.call(2, "$names", "nobody\n"+id+"\n"+s.node.Self().String())
		require.JSONEq(t, `{"`+id+`": "attic"}`, bodyOf(t, r.Tail), "who has no name is not in it")
		r = caller.call(3, "$names", strings.Repeat("x\n", 1024)+id)
		require.JSONEq(t, `{}`, bodyOf(t, r.Tail), "no more than 1,024 are looked at")
	})
}

// TestARegistrationIsTheNodes proves that a member has the limits that its client
// said, that one which fails is told, and that its id is free then.
func TestARegistrationIsTheNodes(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		server, caller := s.attach(), s.attach()
		require.NotZero(t, server.tryServe(wire.Serve{ID: 1, Cluster: "topic:x", Patterns: 15}).Outcome)
		require.Zero(t, server.tryServe(wire.Serve{ID: 1, Cluster: "geo", Patterns: 15, Concurrency: 1, QueueLength: 1, MessageBytes: 100}).Outcome)
		require.Equal(t, wire.OutcomeTooLarge, caller.call(1, "geo", strings.Repeat("x", 200)).Outcome)
		for id := range uint64(3) {
			caller.ask(10+id, "geo", "hi")
		}
		require.Equal(t, wire.OutcomeOverloaded, caller.reply().Outcome, "one is handled, one waits")
		server.answer(server.delivery())
		server.answer(server.delivery())
		require.Zero(t, caller.reply().Outcome)
		require.Zero(t, caller.reply().Outcome)
	})
}

// TestLeavingIsAcknowledged proves that a Leave is answered after the accepted
// work is done, at once when asked twice, and always, so that a client need not
// know whether there is anything to leave.
func TestLeavingIsAcknowledged(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		server, caller := s.pair("geo")
		caller.ask(1, "geo", "hi")
		d := server.delivery()
		server.send(wire.LaneCtl, wire.KindLeave, wire.Leave{ID: 1})
		time.Sleep(time.Second)
		require.False(t, server.has())
		server.answer(d)
		require.Zero(t, server.done(1).Outcome)
		require.Zero(t, caller.reply().Outcome)
		require.Zero(t, server.leave(1).Outcome, "gone already")

		server.register(1, "geo")
		caller.ask(2, "geo", "hi")
		server.delivery()
		server.send(wire.LaneCtl, wire.KindLeave, wire.Leave{ID: 1})
		server.send(wire.LaneCtl, wire.KindLeave, wire.Leave{ID: 1})
		require.NotZero(t, behind(server, wire.KindDone, wire.DecodeDone).Outcome)
		require.NotZero(t, caller.reply().Outcome)
	})
}

// TestASurveyEndsBehindItsReplies proves that each member's answer comes as a
// reply of its own, and that a summary ends them.
func TestASurveyEndsBehindItsReplies(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		a, b, caller := s.attach(), s.attach(), s.attach()
		a.register(1, "geo")
		b.register(1, "geo")
		caller.request(wire.Request{
			ID: 7, Pattern: uint8(patterns.PatternSurvey), Deadline: caller.in(time.Second),
			Route: &wire.Route{Cluster: "geo"}, Tail: tail("who?"),
		})
		a.answer(a.delivery())
		r := caller.reply()
		require.NotZero(t, r.Flags&wire.FlagMoreReplies)
		require.Equal(t, "who?", bodyOf(t, r.Tail))
		end := caller.reply()
		require.Zero(t, end.Flags&wire.FlagMoreReplies)
		sum, err := wire.DecodeSummary([]byte(bodyOf(t, end.Tail)))
		require.NoError(t, err)
		require.Equal(t, uint32(1), sum.Members)
		require.False(t, sum.Complete)
		require.Len(t, sum.Missing, 1)
		require.Equal(t, wire.OutcomeDeadline, sum.Missing[0].Outcome)
		b.delivery()
	})
}

// TestABroadcastSaysToHowManyItWent proves the same for broadcasts.
func TestABroadcastSaysToHowManyItWent(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		a, b, caller := s.attach(), s.attach(), s.attach()
		a.register(1, "geo")
		b.register(1, "geo")
		caller.request(wire.Request{ID: 7, Pattern: uint8(patterns.PatternBroadcast), Route: &wire.Route{Cluster: "geo"}, Tail: tail("hear")})
		for _, m := range []*binding{a, b} {
			d := m.delivery()
			require.Equal(t, uint8(patterns.PatternBroadcast), d.Pattern)
			m.send(wire.LaneRPC, wire.KindReply, &wire.Reply{ID: d.ID, Tail: tail("")})
		}
		sum, err := wire.DecodeSummary([]byte(bodyOf(t, caller.reply().Tail)))
		require.NoError(t, err)
		require.Equal(t, wire.Summary{Members: 2, Nodes: 1, Complete: true}, sum)
	})
}

// TestClientsOfTwoRelaysReachEachOther proves the same over two nodes.
func TestClientsOfTwoRelaysReachEachOther(t *testing.T) {
	play(t, nil, func(t *testing.T, s *stage) {
		other := s.Start("other")
		r, _ := s.relayOn(other, "other", nil)
		server, caller := dialTo(t, r).greet(hello()), s.attach()
		server.register(1, "geo")
		caller.request(wire.Request{ID: 7, Route: &wire.Route{Cluster: "geo", Options: wire.RouteWait}, Tail: tail("hi")})
		d := server.delivery()
		require.Equal(t, string(s.node.Self()), d.Origin.Peer)
		server.answer(d)
		reply := caller.reply()
		require.Equal(t, "hi", bodyOf(t, reply.Tail))
		require.Equal(t, string(other.Self()), reply.From.Peer)

		_, err := other.Serve(t.Context(), "embedded", patterns.HandlerFunc(echo), patterns.Limits{})
		require.NoError(t, err)
		caller.request(wire.Request{ID: 8, Route: &wire.Route{Cluster: "embedded", Options: wire.RouteWait}, Tail: tail("ho")})
		require.Equal(t, "ho", bodyOf(t, caller.reply().Tail))
	})
}
