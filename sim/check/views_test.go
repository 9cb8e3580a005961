// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"
	"time"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
)

// This test checks what views may look like after the last fault and at the
// end: exactly the live members, within the bound.
func TestViewsConverge(t *testing.T) {
	runCases(t, []verdictCase{
		{name: "a crash that is noticed", make: func(s *story) { s.crash(10*sec, sec) }},
		{name: "a crash that is noticed too late", make: func(s *story) { s.crash(10*sec, 5100*ms) }, want: []string{"converge", "zombie"}},
		{name: "a larger bound", make: func(s *story) { s.crash(10*sec, 5100*ms) }, rules: check.Rules{Converge: 6 * sec, Zombie: 6 * sec}},
		{name: "suspect for long", make: func(s *story) {
			s.view(10*sec, "c1", "m1", "suspect")
			s.view(16*sec, "c1", "m1", "live")
		}, want: []string{"converge"}},
		{name: "suspect for a while", make: func(s *story) {
			s.view(10*sec, "c1", "m1", "suspect")
			s.view(14*sec, "c1", "m1", "live")
		}},
		{name: "suspect at the end", make: func(s *story) { s.view(40*sec, "c1", "m1", "suspect") }, want: []string{"converge"}},
		{name: "ejected at the end", make: func(s *story) { s.view(30*sec, "c1", "m1", "ejected") }},
		{name: "suspect for long, before the last fault", make: func(s *story) {
			s.view(5*sec, "c1", "m1", "suspect")
			s.view(16*sec, "c1", "m1", "live")
			s.crash(15*sec, ms)
		}},
		{name: "a member that just joined", make: func(s *story) { s.serve("m1", 40*sec) }},
		{name: "a member that nobody sees", make: func(s *story) {
			s.Tenures[s.serve("m1", 20*sec)].Member = "another"
		}, want: []string{"converge", "forgotten"}},
		{name: "a member with other keys that nobody sees", make: func(s *story) {
			s.Nodes = append(s.Nodes, history.Node{Name: "x", Key: "other", From: 100 * ms, Until: -1, Correct: true})
			s.serve("x", 20*sec)
		}},
		{name: "a member that nobody registered", make: func(s *story) {
			s.view(10*sec, "c1", "m9", "live")
		}, want: []string{"converge", "zombie"}},
		{name: "a registration that may have succeeded", make: func(s *story) {
			s.Tenures[s.serve("m3", 9*sec)] = history.Tenure{Cluster: "echo", Node: "m3", Peer: "peer-m9", Asked: 9 * sec, From: -1, Leaving: -1, Until: -1}
			s.view(10*sec, "c1", "m9", "live")
		}},
		{name: "an observer that is not correct", make: func(s *story) {
			s.Nodes[0].Correct = false
			s.view(10*sec, "c1", "m1", "suspect")
		}},
		{name: "a node that asked once, long ago", make: func(s *story) {
			s.Nodes = append(s.Nodes, history.Node{Name: "x", From: 100 * ms, Until: -1, Correct: true})
			s.ask(2*sec, "x", 0, "load")
			for _, member := range []string{"m1", "m2", "m3"} {
				s.view(2010*ms, "x", member, "live")
			}
			s.view(30*sec, "x", "m1", "")
		}},
		{name: "views of a node that was restarted", make: func(s *story) {
			s.Nodes[0].Until, s.Nodes[0].Correct = 20*sec, false
			s.Nodes = append(s.Nodes, history.Node{Name: "c1", From: 21 * sec, Until: -1, Correct: true})
			s.fault(20*sec, -1, "crash", "c1")
			s.fault(21*sec, -1, "restart", "c1")
		}, want: []string{"converge", "forgotten"}},
		{name: "views of a node that was restarted and sees again", make: func(s *story) {
			s.Nodes[0].Until, s.Nodes[0].Correct = 20*sec, false
			s.Nodes = append(s.Nodes, history.Node{Name: "c1", From: 21 * sec, Until: -1, Correct: true})
			s.fault(20*sec, -1, "crash", "c1")
			s.fault(21*sec, -1, "restart", "c1")
			for _, member := range []string{"m1", "m2", "m3"} {
				s.view(22*sec, "c1", member, "live")
			}
		}},
	})
}

// This test checks that the dead are not shown as live for long, and who is
// excused.
func TestZombiesAreFound(t *testing.T) {
	runCases(t, []verdictCase{
		{name: "for long, and then something else happens", make: func(s *story) {
			s.crash(10*sec, 5100*ms)
			s.fault(15*sec, 16*sec, "pause", "m3")
		}, want: []string{"zombie"}},
		{name: "the observers are cut off", make: func(s *story) {
			s.crash(10*sec, 8*sec)
			s.fault(9*sec, 16*sec, "cut", "c1", "c2", "m3")
		}},
		{name: "the observers are cut off, said by sides", make: func(s *story) {
			s.crash(10*sec, 8*sec)
			s.Faults = append(s.Faults, history.Fault{
				At: 9 * sec, Until: 16 * sec, Do: "clog", Between: [][]string{{"c1", "c2"}, {"m3"}},
			})
		}},
		{name: "everybody is cut off", make: func(s *story) {
			s.crash(10*sec, 8*sec)
			s.fault(9*sec, 16*sec, "cut")
		}},
		{name: "only one observer is cut off", make: func(s *story) {
			s.crash(10*sec, 8*sec)
			s.fault(9*sec, 16*sec, "cut", "c1", "m3")
		}, want: []string{"zombie"}},
		{name: "long after the cut", make: func(s *story) {
			s.crash(10*sec, 20*sec)
			s.fault(9*sec, 16*sec, "cut", "c1", "c2", "m3")
		}, want: []string{"converge", "zombie"}},
		{name: "for good", make: func(s *story) { s.crash(10*sec, 40*sec) }, want: []string{"converge", "zombie"}},
		{name: "the observer died, too", make: func(s *story) {
			s.crash(10*sec, 8*sec)
			s.fault(12*sec, -1, "crash", "c1", "c2")
			for i := range 2 {
				s.Nodes[i].Until, s.Nodes[i].Correct = 12*sec, false
			}
		}},
	})
}

// This test checks that a live member that is not seen again is lost for good,
// and only then.
func TestLiveMembersAreNotForgotten(t *testing.T) {
	runCases(t, []verdictCase{
		{name: "for good", make: func(s *story) { s.view(20*sec, "c1", "m1", "") }, want: []string{"converge", "forgotten"}},
		{name: "for a while", make: func(s *story) {
			s.view(20*sec, "c1", "m1", "")
			s.view(21*sec, "c1", "m1", "live")
		}},
		{name: "too late to tell", make: func(s *story) {
			s.fault(37*sec, 37*sec, "corrupt", "m1")
			s.view(38*sec, "c1", "m1", "")
		}},
		{name: "suspect is seen", make: func(s *story) { s.view(20*sec, "c1", "m1", "suspect") }, want: []string{"converge"}},
	})

	s := peace()
	s.view(20*sec, "c1", "m1", "")
	s.view(20*sec, "c2", "m1", "")
	claims(t, s, "members_lost_for_good == 1", "false_evictions == 2", "false_suspicions == 0")
}

// This test checks when a healthy member counts as falsely suspected, and when
// a fault excuses it.
func TestSuspicionsAreCounted(t *testing.T) {
	flicker := func(s *story, at time.Duration, state string) {
		s.view(at, "c1", "m1", state)
		s.view(at+100*ms, "c1", "m1", "live")
	}
	s := peace()
	flicker(s, 10*sec, "suspect")
	flicker(s, 12*sec, "unreachable")
	flicker(s, 14*sec, "ejected")
	flicker(s, 16*sec, "")
	claims(t, s, "false_suspicions == 2", "false_evictions == 1", "members_lost_for_good == 0")

	s.fault(11*sec, 12*sec, "pause", "m1")
	claims(t, s, "false_suspicions == 1", "false_evictions == 0")

	s = peace()
	s.crash(10*sec, ms)
	claims(t, s, "false_suspicions == 0", "false_evictions == 0")
}
