// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"slices"
	"testing"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// abroad is the tenure of e1 in a story of peace, which serves echo in eu. It is lent to
// us, where everybody else is, by gateway g as the member "lent".
const abroad = 3

func federate(s *story) {
	for i := range s.Nodes {
		s.Nodes[i].Network, s.Nodes[i].Key = "us", "us"
	}
	s.Nodes = append(
		s.Nodes,
		history.Node{Name: "e1", Peer: "peer-e1", Network: "eu", Key: "eu", From: 100 * ms, Until: -1, Correct: true},
		history.Node{Name: "g", Network: "border", Key: "border", Gateway: map[string]string{"us": "gu", "eu": "ge"}, From: 100 * ms, Until: -1, Correct: true},
	)
	s.serve("e1", 200*ms)
	s.Crossings = []history.Crossing{{Gateway: "g", From: "eu", To: "us", Cluster: "echo", As: "echo"}}
	for _, c := range []string{"c1", "c2"} {
		s.lent(c, "live")
	}
}

// lent has an observer see the lent member in a state from 1 s on.
func (s *story) lent(observer, state string) *history.View {
	s.Views = append(s.Views, history.View{At: sec, Node: observer, Cluster: "echo", Member: "lent", Peer: "gu", Network: "eu", State: state})
	return &s.Views[len(s.Views)-1]
}

// cross sends a request that e1 answers, through the gateway.
func (s *story) cross(caller string) *history.Request {
	tenure := slices.IndexFunc(s.Tenures, func(t history.Tenure) bool { return t.Node == "e1" })
	r := s.ask(5*sec, caller, tenure, "load")
	r.Member = "lent"
	return r
}

// This test checks that what is promised holds across borders: what a member of another
// network does for a caller is judged as what one of its own does.
func TestPromisesHoldAcrossBorders(t *testing.T) {
	twice := func(s *story) *history.Request {
		r := s.cross("c1")
		r.Idempotent, r.Attempts = true, 2
		s.run(r.ID, abroad, 5200*ms)
		return r
	}
	runCases(t, federate, []verdictCase{
		{name: "a request is answered by a lent member", make: func(s *story) { s.cross("c1") }},
		{name: "an address with a network", make: func(s *story) { s.cross("c1").Cluster = "echo@eu" }},
		{name: "it is lent under another name", make: func(s *story) {
			s.Crossings[0].As = "far"
			s.cross("c1").Cluster = "far"
			for i := range s.Views {
				if s.Views[i].Network != "" {
					s.Views[i].Cluster = "far"
				}
			}
		}},
		{name: "nobody lends it", make: func(s *story) {
			s.Crossings = nil
			s.cross("c1").Member = "e1"
		}, want: []string{"member"}},
		{name: "who asks for eu's is answered by its own network", make: func(s *story) { s.ask(5*sec, "c1", 0, "load").Cluster = "echo@eu" }, want: []string{"member"}},
		{name: "the far member had left", make: func(s *story) {
			s.Tenures[abroad].Leaving, s.Tenures[abroad].Until = 2*sec, 2*sec
			s.lent("c1", "").At = 3 * sec
			s.lent("c2", "").At = 3 * sec
			s.cross("c1")
		}, want: []string{"member"}},
		{name: "nobody ran it, and a far member did", make: func(s *story) { s.cross("c1").Outcome = "unreachable" }, want: []string{"claim"}},
		{name: "not to be repeated, and handled in both networks", make: func(s *story) { s.run(s.cross("c1").ID, 0, 5100*ms) }, want: []string{"once"}},
		{name: "twice by one far member, for no reason", make: func(s *story) { twice(s) }, want: []string{"once"}},
		{name: "twice by one far member, as a gateway died between the two", make: func(s *story) {
			r := twice(s)
			r.Ended = 5400 * ms
			s.Nodes[6].Until, s.Nodes[6].How, s.Nodes[6].Correct = 5100*ms, "crashed", false
			for _, c := range []string{"c1", "c2"} {
				s.lent(c, "").At = 5200 * ms
			}
		}},
		{name: "complete without the far network", make: func(s *story) { s.survey(20*sec, "c1") }, want: []string{"complete"}},
		{name: "complete with it", make: func(s *story) {
			r := s.survey(20*sec, "c1")
			s.run(r.ID, abroad, 20*sec+4*ms)
			r.Taken, r.Answers = 4, append(r.Answers, history.Answer{Member: "e1", At: 20*sec + 9*ms})
		}},
		{name: "complete without a network that the caller does not know", make: func(s *story) {
			for i := range s.Views {
				if s.Views[i].Network != "" && s.Views[i].Node == "c1" {
					s.Views[i].At = 25 * sec
				}
			}
			s.survey(20*sec, "c1")
		}},
		{name: "a broadcast names the far network as missing, of which a member has it", make: func(s *story) {
			r := s.broadcast(20*sec, "c1")
			s.run(r.ID, abroad, 20*sec+4*ms)
			r.Outcome, r.Missing = "partial", []history.Missing{{Member: "lent", Outcome: "interrupted"}}
		}},
	})
}

// ring lends echo of eu to us by way of asia: gateway f lends it to asia, and h, with
// transit, on to us, as the member "lent".
func ring(s *story) {
	federate(s)
	s.Nodes[6].Name, s.Nodes[6].Gateway = "h", map[string]string{"us": "gu", "asia": "ha"}
	f := s.Nodes[6]
	f.Name, f.Gateway = "f", map[string]string{"asia": "fa", "eu": "fe"}
	s.Nodes = append(s.Nodes, f)
	s.Crossings = []history.Crossing{
		{Gateway: "f", From: "eu", To: "asia", Cluster: "echo", As: "echo"},
		{Gateway: "h", From: "asia", To: "us", Cluster: "echo", As: "echo", Transit: true},
	}
}

// hop has a frame of a request be sent.
func (s *story) hop(r *history.Request, from, to, network string, passed ...string) {
	s.Hops = append(s.Hops, history.Hop{Request: r.ID, From: from, To: to, At: r.Sent, Network: network, Passed: passed})
}

// This test checks that a message is followed over several borders: who may handle it is
// whom gateways with transit lend on, and what they send says truly which networks it has
// come through, and enters none of them again.
func TestMessagesAreFollowedOverSeveralBorders(t *testing.T) {
	carried := func(s *story) *history.Request {
		r := s.cross("c1")
		s.hop(r, "c1", "h", "us")
		return r
	}
	runCases(t, ring, []verdictCase{
		{name: "over two borders", make: func(s *story) {
			r := carried(s)
			s.hop(r, "h", "f", "asia", "us")
			s.hop(r, "f", "e1", "eu")
		}},
		{name: "called by the network that it is from", make: func(s *story) { s.cross("c1").Cluster = "echo@eu" }},
		{name: "the second gateway has no transit", make: func(s *story) {
			s.Crossings[1].Transit = false
			s.cross("c1")
		}, want: []string{"belongs", "lent", "member"}},
		{name: "complete without the network beyond the next", make: func(s *story) { s.survey(20*sec, "c1") }, want: []string{"complete"}},
		{name: "the gateway beyond the next died long ago, and what it lent is shown", make: func(s *story) {
			s.Nodes[7].Until, s.Nodes[7].How, s.Nodes[7].Correct = 10*sec, "crashed", false
		}, want: []string{"lent"}},
		{name: "the gateway beyond the next died, and that is known soon", make: func(s *story) {
			s.Nodes[7].Until, s.Nodes[7].How, s.Nodes[7].Correct = 10*sec, "crashed", false
			s.lent("c1", "").At = 18 * sec
			s.lent("c2", "").At = 18 * sec
		}},
		{name: "its own network's, lent back to it", make: func(s *story) { s.lent("c1", "live").Network = "us" }, want: []string{"lent"}},
		{name: "it comes back to where it was", make: func(s *story) {
			r := carried(s)
			s.hop(r, "h", "f", "asia", "us")
			s.hop(r, "f", "h", "asia", "us", "asia")
		}, want: []string{"round"}},
		{name: "a network that it has come through is left out", make: func(s *story) {
			r := carried(s)
			s.hop(r, "h", "f", "asia", "us")
			s.hop(r, "f", "e1", "eu", "us")
		}, want: []string{"round"}},
		{name: "it crosses a border and does not say so", make: func(s *story) {
			r := carried(s)
			s.hop(r, "h", "f", "asia")
		}, want: []string{"round"}},
		{name: "a gateway sends what it never got", make: func(s *story) {
			r := carried(s)
			s.hop(r, "f", "e1", "eu")
		}, want: []string{"round"}},
		{name: "an adversary's frame says what it likes", make: func(s *story) {
			r := carried(s)
			s.Nodes[6].Adversary = true
			s.hop(r, "h", "f", "asia", "eu")
		}},
	})
}

// This test checks that it is measured how far messages come, and how many copies of one
// to all gateways carry.
func TestBordersOnTheWayAreCounted(t *testing.T) {
	s := peace()
	ring(s)
	r := s.survey(20*sec, "c1")
	s.run(r.ID, abroad, 20*sec+4*ms)
	r.Taken, r.Answers = 4, append(r.Answers, history.Answer{Member: "e1", At: 20*sec + 9*ms})
	s.hop(r, "c1", "h", "us")
	s.hop(r, "h", "f", "asia", "us")
	s.hop(r, "f", "e1", "eu")
	claims(t, s, "borders_max == 2", "gateways_max == 2")
}

// This test checks what is demanded where the gateway is an adversary: whatever it says of
// the far network proves nothing, and what the caller's own network does is judged as ever.
func TestALyingGatewayExcusesNothingAtHome(t *testing.T) {
	liar := func(s *story) {
		federate(s)
		s.Nodes[6].Adversary = true
	}
	runCases(t, liar, []verdictCase{
		{name: "handled by two far members", make: func(s *story) { s.run(s.cross("c1").ID, abroad, 5100*ms) }},
		{name: "a far member ran it, and nobody did, it is said", make: func(s *story) { s.cross("c1").Outcome = "overloaded" }},
		{name: "a changed reply", make: func(s *story) { s.cross("c1").Outcome = "wrong_reply" }},
		{name: "complete without the far network, with an invented member", make: func(s *story) {
			r := s.survey(20*sec, "c1")
			r.Taken, r.Answers = 4, append(r.Answers, history.Answer{Member: "forged", At: 20*sec + 9*ms})
		}},
		{name: "a changed reply of an own member", make: func(s *story) { s.ask(5*sec, "c1", 0, "load").Outcome = "wrong_reply" }, want: []string{"belongs"}},
		{name: "handled twice at home", make: func(s *story) { s.run(s.ask(5*sec, "c1", 0, "load").ID, 1, 5100*ms) }, want: []string{"once"}},
		{name: "complete without an own member", make: func(s *story) {
			r := s.survey(20*sec, "c1")
			r.Taken, r.Answers = 2, r.Answers[:2]
		}, want: []string{"complete"}},
		{name: "a claim about a handler at home", make: func(s *story) { s.ask(5*sec, "c1", 0, "load").Outcome = "unreachable" }, want: []string{"claim"}},
	})
}

// This test checks that what nodes show of lent members is compared with the gateways:
// who lends nothing any more disappears, and who lends is seen in the end.
func TestViewsOfLentMembersAreJudged(t *testing.T) {
	dead := func(s *story, shown bool) {
		s.Nodes[6].Until, s.Nodes[6].How, s.Nodes[6].Correct = 10*sec, "crashed", false
		for _, c := range []string{"c1", "c2"} {
			v := s.lent(c, "")
			v.At = 10*sec + 30*ms
			if shown {
				v.At = 17 * sec
			}
		}
	}
	runCases(t, federate, []verdictCase{
		{name: "a gateway dies", make: func(s *story) { dead(s, false) }},
		{name: "a gateway dies, and is shown for seven seconds", make: func(s *story) { dead(s, true) }, want: []string{"lent"}},
		{name: "a gateway lives, and is not seen in the end", make: func(s *story) { s.lent("c1", "unreachable").At = 20 * sec }, want: []string{"lent"}},
		{name: "it has nothing to lend in the end", make: func(s *story) {
			s.Tenures[abroad].Leaving, s.Tenures[abroad].Until = 20*sec, 20*sec
			s.lent("c1", "").At = 20 * sec
			s.lent("c2", "").At = 21 * sec
		}},
		{name: "it has nothing to lend, and is shown for seven seconds", make: func(s *story) {
			s.Tenures[abroad].Leaving, s.Tenures[abroad].Until = 20*sec, 20*sec
			s.lent("c1", "").At = 27 * sec
			s.lent("c2", "").At = 20 * sec
		}, want: []string{"lent"}},
		{name: "lent by nobody", make: func(s *story) {
			s.lent("c1", "live").Peer = "stranger"
			s.Views[len(s.Views)-1].Member = "forged"
		}, want: []string{"lent"}},
	})
}

// This test checks where requests are said to have been served: how many crossed, how
// soon that began when there was no own member, how soon it ended when there was one
// again, and how often it changed.
func TestSpillOverIsMeasured(t *testing.T) {
	s := peace()
	federate(s)
	for i := range 3 { // no own member from 10 s to 20 s
		t := &s.Tenures[i]
		t.Leaving, t.Until = 10*sec, 10*sec
		s.Tenures = append(s.Tenures, history.Tenure{
			Cluster: "echo", Node: t.Node, Peer: t.Peer, Member: t.Member + "'", Asked: 20 * sec, From: 20 * sec, Leaving: -1, Until: -1,
		})
	}
	for i := range s.Runs {
		switch r := &s.Runs[i]; {
		case r.Began < 10*sec:
		case r.Began < 22*sec:
			r.Tenure, s.Requests[i].Member = abroad, "lent"
		default:
			r.Tenure += 4
			s.Requests[i].Member += "'"
		}
	}
	claims(
		t, s, "crossed == 120", "crossed{load} == 120", "crossed_share == 40%", "border_turns{load} == 2", "spill_max == 0ms", "return_max{load} == 1.9s",
	)
}

// This test checks that the time is measured that the sides of a tunnel wait which a
// crash has broken.
func TestSeveredTunnelsAreMeasured(t *testing.T) {
	s := peace()
	s.fault(7*sec, -1, "crash", "m2")
	tunnel := s.tunnel(6*sec, "c1", 0)
	tunnel.Outcome, tunnel.Ended = "interrupted", 7*sec+30*ms
	tunnel.Served[0].Ended, tunnel.Served[0].Clean = 7*sec+90*ms, false
	s.tunnel(6*sec, "c2", 0)
	claims(t, s, "tunnels_severed == 1", "severed_p50 == 30ms", "severed_max == 90ms")
}

// This test checks that what is published in one network is followed to those who listen
// in another: delivered there or told, under the names that it has there, and no more than
// once. What comes before a gateway can know, or while none is there, is not demanded.
func TestTopicsAreFollowedAcrossBorders(t *testing.T) {
	lent := func(s *story, at time.Duration) int {
		federate(s)
		s.Crossings = append(s.Crossings, history.Crossing{Gateway: "g", From: "eu", To: "us", Topic: "a.>", As: "b"})
		i := s.subscribe("m1", "b.>", 0)
		s.Subscriptions[i].Network = "us"
		p := s.publish(at, "e1", "a.x")
		s.Publications[p].Network = "eu"
		return p
	}
	missing := func(s *story) {
		s.deliver(lent(s, 15*sec), 0)
		for _, at := range []time.Duration{16 * sec, 18 * sec} {
			s.publish(at, "e1", "a.x")
			s.Publications[len(s.Publications)-1].Network = "eu"
		}
		s.deliver(2, 0)
		s.fault(15500*ms, 17*sec, "pause", "m1")
	}
	runCases(t, nil, []verdictCase{
		{name: "delivered", make: func(s *story) { s.deliver(lent(s, 15*sec), 0) }},
		{name: "neither delivered nor told", make: func(s *story) { lent(s, 15*sec) }, want: []string{"delivered"}},
		{name: "told", make: func(s *story) {
			lent(s, 15*sec)
			s.Gaps = append(s.Gaps, history.Gap{At: 16 * sec, Peer: "peer-e1@eu", Missed: 2, Reason: "border"})
		}},
		{name: "twice", make: func(s *story) {
			p := lent(s, 15*sec)
			s.deliver(p, 0)
			s.deliver(p, 0)
		}, want: []string{"twice"}},
		{name: "missing between two that came, while the subscriber stood still", make: func(s *story) {
			missing(s)
		}, want: []string{"delivered"}},
		{name: "missing between two that came, and told there", make: func(s *story) {
			missing(s)
			s.Gaps = append(s.Gaps, history.Gap{At: 17 * sec, Peer: "peer-e1@eu", Missed: 1, Reason: "border"})
		}},
		{name: "missing between two that came, and told in another place", make: func(s *story) {
			missing(s)
			s.Gaps = append(s.Gaps, history.Gap{At: 14 * sec, Peer: "peer-e1@eu", Missed: 3, Reason: "border"})
		}, want: []string{"delivered"}},
		{name: "before a gateway can listen", make: func(s *story) { lent(s, 2*sec) }},
		{name: "no gateway is left", make: func(s *story) {
			lent(s, 15*sec)
			s.Nodes[6].Until, s.Nodes[6].How, s.Nodes[6].Correct = 10*sec, "crashed", false
			for _, c := range []string{"c1", "c2"} {
				s.lent(c, "").At = 10*sec + 30*ms
			}
		}},
		{name: "on a topic that is not lent", make: func(s *story) {
			p := lent(s, 15*sec)
			s.Publications[p].Topic = "c.x"
			s.deliver(p, 0)
		}, want: []string{"astray"}},
		{name: "cut off from the only gateway", make: func(s *story) {
			lent(s, 15*sec)
			s.fault(14*sec, 16*sec, "cut", "e1", "g")
			s.Faults[0].Between = [][]string{{"e1"}, {"g"}}
		}},
	})
}
