// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"slices"
	"testing"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// latecomer is caller x, which starts at 10 s and never finds a member; its only seed is
// s, which others have, too.
func latecomer(s *story) {
	for i := range s.Nodes {
		s.Nodes[i].Seeds = []string{"s"}
	}
	s.Nodes = append(
		s.Nodes,
		history.Node{Name: "s", Peer: "peer-s", Seeds: []string{"s"}, From: 50 * ms, Until: -1, Correct: true},
		history.Node{Name: "x", Peer: "peer-x", Seeds: []string{"s"}, From: 10 * sec, Until: -1, Correct: true},
	)
	for at := 11 * sec; at < 40*sec; at += sec {
		work := "load"
		if at >= 31*sec {
			work = "probe"
		}
		r := s.ask(at, "x", 0, work)
		r.Outcome, r.Member, r.Attempts = "unreachable", "", 0
		s.unrun(r.ID)
	}
}

// seedDies has the latecomer's seed end before it comes, and be back at a time; -1 = never.
func seedDies(s *story, back time.Duration) {
	i := slices.IndexFunc(s.Nodes, func(n history.Node) bool { return n.Name == "s" })
	s.Nodes[i].Until, s.Nodes[i].How, s.Nodes[i].Correct = 8*sec, "crashed", false
	s.fault(8*sec, back, "crash", "s")
	if back >= 0 {
		s.Nodes = append(s.Nodes, history.Node{Name: "s", Peer: "peer-s", Seeds: []string{"s"}, From: back, Until: -1, Correct: true})
	}
}

// This test checks that who joined nobody is not held to what it could not know, and
// who could have joined is.
func TestWhoCouldNotJoinIsNotBlamed(t *testing.T) {
	blamed := []string{"converge", "forgotten", "progress"}
	runCases(t, latecomer, []verdictCase{
		{name: "its seed lives", want: blamed},
		{name: "its seed was dead all the time", make: func(s *story) { seedDies(s, -1) }},
		{name: "its seed came back", make: func(s *story) { seedDies(s, 12*sec) }, want: blamed},
		{name: "its seed came back, too late", make: func(s *story) { seedDies(s, 38*sec) }},
		{name: "its seed has another key", make: func(s *story) {
			i := slices.IndexFunc(s.Nodes, func(n history.Node) bool { return n.Name == "s" })
			s.Nodes[i].Key = "other"
		}},
		{name: "its seed was dead, and yet it saw a member once", make: func(s *story) {
			seedDies(s, -1)
			s.view(12*sec, "x", "m1", "live")
			s.view(13*sec, "x", "m1", "")
		}, want: blamed},
		{name: "cut off from its seed to the end of the faults", make: func(s *story) {
			s.Faults = append(s.Faults, history.Fault{At: 9 * sec, Until: 38 * sec, Do: "cut", Between: [][]string{{"s"}, {"x"}}})
		}},
		{name: "its seed sleeps", make: func(s *story) { s.fault(9*sec, 38*sec, "pause", "s") }},
	})
}

// This test checks that the last life of a node is known to those that knew the one before,
// which dial it again, and that another peer under the same name is not.
func TestAPeerThatReturnsIsKnown(t *testing.T) {
	returns := func(peer string) func(s *story) {
		return func(s *story) {
			latecomer(s)
			s.Nodes = slices.DeleteFunc(s.Nodes, func(n history.Node) bool { return n.Name == "x" })
			s.Nodes = append(
				s.Nodes,
				history.Node{Name: "x", Peer: "peer-x", Seeds: []string{"s"}, From: 60 * ms, Until: 9 * sec, How: "crashed"},
				history.Node{Name: "x", Peer: peer, Seeds: []string{"s"}, From: 10 * sec, Until: -1, Correct: true},
			)
			seedDies(s, -1)
		}
	}
	runCases(t, returns("peer-x"), []verdictCase{{name: "the same peer", want: []string{"converge", "forgotten", "progress"}}})
	runCases(t, returns("peer-new"), []verdictCase{{name: "another peer"}})
}

// This test checks that the handler of a tunnel has to end soon after its caller while its
// node is awake, and not while that sleeps.
func TestSleepersNeedNotEndTheirTunnels(t *testing.T) {
	kept := func(s *story) {
		s.Tunnels = append(s.Tunnels, history.Tunnel{
			ID: 77, Caller: "c1", Cluster: "echo", Sent: 2 * sec, Opened: 2010 * ms, Deadline: 10 * sec, Ended: 10 * sec, Outcome: "interrupted", Member: "m1",
			Served: []history.Serving{{Tenure: 0, Began: 2005 * ms, Ended: -1}},
		})
	}
	runCases(t, kept, []verdictCase{
		{name: "awake", want: []string{"ended"}},
		{name: "asleep to the end", make: func(s *story) { s.fault(9*sec, -1, "pause", "m1") }},
		{name: "it sleeps, and wakes early enough", make: func(s *story) { s.fault(9*sec, 11*sec, "pause", "m1") }, want: []string{"ended"}},
		{name: "it ends soon after it has woken", make: func(s *story) {
			s.fault(9*sec, 28*sec, "pause", "m1")
			s.Tunnels[0].Served[0].Ended = 39 * sec
		}},
		{name: "another node sleeps", make: func(s *story) { s.fault(9*sec, -1, "pause", "m2") }, want: []string{"ended"}},
		{name: "its clock is a little slow", make: func(s *story) {
			s.fault(9*sec, -1, "skew", "m1")
			s.Tunnels[0].Served[0].Ended = 22*sec + 100*ms
		}},
	})
}

// This test checks that strangers may do with each other what they like, and not with
// anybody else.
func TestStrangersAmongThemselvesAreNotJudged(t *testing.T) {
	out := func(s *story, names ...string) {
		for _, name := range names {
			i := slices.IndexFunc(s.Nodes, func(n history.Node) bool { return n.Name == name })
			again := s.Nodes[i]
			s.Nodes[i].Until, s.Nodes[i].How, s.Nodes[i].Correct = 5*sec, history.Excluded, false
			again.Key, again.From, again.Correct = history.Excluded, 10*sec, false
			s.Nodes = append(s.Nodes, again)
		}
	}
	served := func(s *story) {
		s.Nodes = append(s.Nodes,
			history.Node{Name: "x", Peer: "peer-x", From: 100 * ms, Until: -1, Correct: true},
			history.Node{Name: "y", Peer: "peer-y", From: 100 * ms, Until: -1, Correct: true})
		tenure := s.serve("y", 200*ms)
		s.Tenures[tenure].Cluster = "own"
		s.Tenures[tenure].Leaving, s.Tenures[tenure].Until = 5*sec, 10*sec
		s.ask(20*sec, "x", tenure, "load").Cluster = "own"
		s.fault(5*sec, 10*sec, "ban", "x")
	}
	runCases(t, served, []verdictCase{
		{name: "both are out", make: func(s *story) { out(s, "x", "y") }},
		{name: "the member is out", make: func(s *story) { out(s, "y") }, want: []string{"member"}},
		{name: "the caller is out", make: func(s *story) { out(s, "x") }, want: []string{"member"}},
	})
	subscribed := func(s *story) {
		s.subscribe("m1", "a.>", 0)
		s.publish(20*sec, "c1", "a.b")
	}
	runCases(t, subscribed, []verdictCase{
		{name: "a subscription that misses something", want: []string{"delivered"}},
	})
	runCases(t, func(s *story) {
		s.Nodes = append(s.Nodes, history.Node{Name: "x", Peer: "peer-x", From: 100 * ms, Until: -1, Correct: true})
		s.subscribe("x", "a.>", 0)
		out(s, "x")
		s.publish(20*sec, "c1", "a.b")
	}, []verdictCase{{name: "a stranger's subscription that misses something"}})
}

// This test checks that a fault of the links of one node to all others excuses that node and
// what others know of it, and nothing else.
func TestOneBadNodeSwitchesNoCheckerOff(t *testing.T) {
	crowd := func(s *story) {
		for _, name := range []string{"b1", "b2", "b3", "b4"} {
			s.Nodes = append(s.Nodes, history.Node{Name: name, Peer: "peer-" + name, From: 100 * ms, Until: -1, Correct: true})
		}
	}
	bad := func(s *story, do, node string) {
		var others []string
		for _, n := range s.Nodes {
			others = append(others, n.Name)
		}
		s.Faults = append(s.Faults, history.Fault{At: 2 * sec, Until: 30 * sec, Do: do, Nodes: append([]string{node}, others...), Between: [][]string{{node}, others}})
	}
	for _, do := range []string{"cut", "clog", "degrade"} {
		runCases(t, crowd, []verdictCase{
			{name: do + " of a bystander: a zombie", make: func(s *story) {
				bad(s, do, "b1")
				s.crash(10*sec, 8*sec)
			}, want: []string{"converge", "zombie"}},
			{name: do + " of the dead one", make: func(s *story) {
				bad(s, do, "m2")
				s.crash(10*sec, 8*sec)
			}},
			{name: do + " of an observer", make: func(s *story) {
				bad(s, do, "c1")
				s.crash(10*sec, 4*sec)
				s.Views = slices.DeleteFunc(s.Views, func(v history.View) bool { return v.At >= 10*sec && v.Node == "c1" })
				s.view(18*sec, "c1", "m2", "")
			}},
			{name: do + " of a bystander: a wrong view, long before the fault is over", make: func(s *story) {
				bad(s, do, "b1")
				s.view(5*sec, "c1", "m1", "suspect")
				s.view(16*sec, "c1", "m1", "live")
			}, want: []string{"converge"}},
			{name: do + " of a bystander: told that there is nobody", make: func(s *story) {
				bad(s, do, "b1")
				r := s.ask(10*sec, "c1", 0, "load")
				r.Outcome, r.Member = "no_members", ""
				s.unrun(r.ID)
			}, want: []string{"empty"}},
			{name: do + " of the caller: told that there is nobody", make: func(s *story) {
				bad(s, do, "c1")
				r := s.ask(10*sec, "c1", 0, "load")
				r.Outcome, r.Member = "no_members", ""
				s.unrun(r.ID)
			}},
			{name: do + " of a bystander: a publication is missing", make: func(s *story) {
				bad(s, do, "b1")
				s.subscribe("m1", "a.>", 0)
				s.publish(20*sec, "c1", "a.b")
			}, want: []string{"delivered"}},
			{name: do + " of the publisher: a publication is missing", make: func(s *story) {
				bad(s, do, "c1")
				s.subscribe("m1", "a.>", 0)
				s.publish(20*sec, "c1", "a.b")
			}},
		})
	}
}
