// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"

	"github.com/arke-mesh/arke/sim/check"
)

// This test checks that handlers of nodes that are not, not yet or no longer
// members are found.
func TestOnlyMembersHandle(t *testing.T) {
	runCases(t, []verdictCase{
		{name: "before it asked", make: func(s *story) { s.Tenures[0].Asked, s.Tenures[0].From = 1005*ms, 1005*ms }, want: []string{"member"}},
		{name: "before it was told", make: func(s *story) { s.Tenures[0].From = 1050 * ms }},
		{name: "after it was gone", make: func(s *story) {
			s.crash(10*sec, ms)
			r := s.ask(10*sec, "c1", 0, "load")
			r.Member = ""
			s.unrun(r.ID)
			s.run(r.ID, 1, 10*sec+ms)
		}, want: []string{"member"}},
		{name: "after it was gone, by a coarser clock", make: func(s *story) {
			s.crash(10*sec, ms)
			r := s.ask(10*sec, "c1", 0, "load")
			r.Member = ""
			s.unrun(r.ID)
			s.run(r.ID, 1, 10*sec+ms)
		}, rules: check.Rules{Member: 5 * ms}},
		{name: "while it leaves", make: func(s *story) {
			s.crash(10*sec, ms)
			s.Tenures[1].Until = 10*sec + 5*ms
			r := s.ask(10*sec, "c1", 0, "load")
			r.Member = ""
			s.unrun(r.ID)
			s.run(r.ID, 1, 10*sec+ms)
		}},
		{name: "of another cluster", make: func(s *story) { s.Requests[6].Cluster = "geo" }, want: []string{"member"}},
		{name: "with another network's key", make: func(s *story) {
			s.Nodes[2].Key = "other"
			for i := range s.Views {
				if s.Views[i].Member == "m1" {
					s.Views[i].State = ""
				}
			}
		}, want: []string{"member"}},
		{name: "with another key for the cluster", make: func(s *story) {
			s.Nodes[2].Keys = map[string]string{"echo": "red"}
			for i := range s.Views {
				if s.Views[i].Member == "m1" {
					s.Views[i].State = ""
				}
			}
		}, want: []string{"member"}},
	})
}
