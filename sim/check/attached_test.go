// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// besideM2 makes m3 a client of m2, which is killed at 10 s and back at 11 s, and
// a market of which m3 misses what was published at 10 s, just before.
func besideM2(s *story) {
	market(s)
	s.Nodes[4].Relay, s.Nodes[4].Peer = "m2", "peer-m2"
	for i := range s.Views {
		if s.Views[i].Member == "m3" {
			s.Views[i].Peer = "peer-m2"
		}
	}
	s.crash(10*sec+5*ms, ms)
	s.Faults[len(s.Faults)-1].Until = 11 * sec
	s.Nodes = append(s.Nodes, history.Node{Name: "m2", Peer: "peer-m2", From: 11 * sec, Until: -1, Correct: true})
	t := &s.Tenures[2]
	t.Leaving, t.Until = 10*sec+5*ms, 11*sec+20*ms
	s.view(10*sec+6*ms, "c1", "m3", "")
	s.view(10*sec+6*ms, "c2", "m3", "")
	s.Tenures = append(s.Tenures, history.Tenure{
		Cluster: "echo", Node: "m3", Peer: "peer-m2", Member: "m3-again", Asked: 10*sec + 5*ms, From: 11*sec + 20*ms, Leaving: -1, Until: -1,
	})
	for i := range s.Runs {
		r := &s.Requests[s.Runs[i].Request-1]
		if s.Runs[i].Tenure == 2 && r.Sent > 10*sec {
			s.Runs[i].Tenure, r.Member = len(s.Tenures)-1, "m3-again"
		}
		if s.Runs[i].Tenure == 1 && r.Sent > 10*sec {
			s.Runs[i].Tenure, r.Member = 0, "m1"
		}
	}
	for _, c := range []string{"c1", "c2"} {
		s.view(11*sec+30*ms, c, "m3-again", "live")
		s.Views[len(s.Views)-1].Peer = "peer-m2"
	}
	s.undeliver(1, 5)
}

// unknown tells m3's subscription that nobody knows how many it has missed.
func unknown(s *story, at time.Duration) {
	s.Gaps = append(s.Gaps, history.Gap{Subscription: 1, At: at, Reason: "relay"})
}

// This test checks what is demanded of clients whose relay dies: what their
// subscriptions miss is told, and only what the relay took with it may be
// missing; their members are what they were, under another id.
func TestClientsAreJudgedWithTheirRelays(t *testing.T) {
	runCases(t, []verdictCase{
		{name: "a gap is told when the relay is gone", make: func(s *story) {
			besideM2(s)
			unknown(s, 10*sec+50*ms)
		}},
		{name: "a gap is told when it is back", make: func(s *story) {
			besideM2(s)
			unknown(s, 11*sec+20*ms)
		}},
		{name: "nothing is told", make: besideM2, want: []string{"delivered"}},
		{name: "a gap was told before", make: func(s *story) {
			besideM2(s)
			unknown(s, 9*sec)
		}, want: []string{"delivered"}},
		{name: "more is missing, which was published long after", make: func(s *story) {
			besideM2(s)
			unknown(s, 11*sec+20*ms)
			s.deliver(s.publish(20*sec, "c1", "a.b"), 0)
		}, want: []string{"delivered"}},
		{name: "more is missing, from when not everybody knew again", make: func(s *story) {
			besideM2(s)
			unknown(s, 11*sec+20*ms)
			s.deliver(s.publish(12*sec, "c1", "a.c"), 0)
		}},
		{name: "a node is told the same, and has no relay", make: func(s *story) {
			market(s)
			s.undeliver(1, 5)
			unknown(s, 11*sec)
		}, want: []string{"delivered"}},
		{name: "its member answers by the id that it has now", make: func(s *story) {
			besideM2(s)
			unknown(s, 10*sec+50*ms)
			s.ask(11*sec+20*ms, "c1", 2, "load").Member = "m3-again"
			s.Runs[len(s.Runs)-1].Began = 11*sec + 20*ms
		}},
		{name: "another client's member answers", make: func(s *story) {
			besideM2(s)
			unknown(s, 10*sec+50*ms)
			s.ask(12*sec, "c1", 3, "load").Member = "m1"
		}, want: []string{"belongs"}},
	})
}
