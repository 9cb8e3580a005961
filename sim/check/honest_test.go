// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
)

// turn makes a node an adversary.
func (s *story) turn(node string) {
	for i := range s.Nodes {
		if s.Nodes[i].Name == node {
			s.Nodes[i].Adversary = true
		}
	}
}

// This test checks that nothing is promised to an adversary, and everything to those
// who hear it.
func TestPromisesAreForHonestNodes(t *testing.T) {
	lost := func(s *story) { s.ask(5*sec, "c1", 0, "load").Outcome = "no_members" }
	runCases(t, nil, []verdictCase{
		{name: "an honest caller is told a lie", make: lost, want: []string{"claim", "empty"}},
		{name: "an adversary is", make: func(s *story) { lost(s); s.turn("c1") }},
		{name: "an honest view is wrong", make: func(s *story) { s.view(40*sec, "c1", "m1", "suspect") }, want: []string{"converge"}},
		{name: "an adversary's is", make: func(s *story) { s.view(40*sec, "c1", "m1", "suspect"); s.turn("c1") }},
		{name: "an adversary misses a message", make: func(s *story) {
			market(s)
			s.undeliver(1, 4)
			s.turn("m3")
		}},
		{name: "an honest node gets one twice, whatever else is an adversary", make: func(s *story) {
			market(s)
			s.deliver(4, 1)
			s.turn("m1")
		}, want: []string{"order", "twice"}},
		{name: "nobody made it", make: func(s *story) {
			market(s)
			s.Deliveries = append(s.Deliveries, history.Delivery{Publication: 999, Subscription: 1, At: 9 * sec})
			s.turn("m1")
		}, want: []string{"astray"}},
	})
}

// This test checks what is told of adversaries.
func TestAdversariesAreCounted(t *testing.T) {
	s := peace()
	s.turn("m1")
	s.Acts = []history.Act{{At: 2 * sec, Node: "m1", What: "lies", Count: 3}, {At: 3 * sec, Node: "m1", What: "lies", Count: 1}}
	claims(t, s, "adversaries == 1", "acts == 4")
	require.Empty(t, s.judge(check.Rules{}).Violations)
}
