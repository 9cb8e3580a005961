// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"

	"github.com/arke-mesh/arke/sim/check"
)

// This test checks that probes must be answered once everything had time to
// settle, by whoever could be.
func TestProgressIsDemandedAfterTheFaults(t *testing.T) {
	fails := func(i int) func(s *story) {
		return func(s *story) {
			s.Requests[i].Outcome = "unreachable"
			s.unrun(s.Requests[i].ID)
		}
	}
	runCases(t, []verdictCase{
		{name: "a request of the workload", make: fails(290)},
		{name: "an early probe", make: fails(340)},
		{name: "a late probe", make: fails(360), want: []string{"progress"}},
		{name: "a shorter bound", make: fails(340), rules: check.Rules{Settle: sec}, want: []string{"progress"}},
		{name: "no member lives", make: func(s *story) {
			fails(360)(s)
			for i := range s.Tenures {
				s.Tenures[i].Leaving = 36500 * ms
			}
			for _, v := range s.Views[:6] {
				s.view(36500*ms, v.Node, v.Member, "")
			}
		}},
		{name: "no member with its keys", make: func(s *story) {
			s.Nodes = append(s.Nodes, s.Nodes[0])
			s.Nodes[5].Name, s.Nodes[5].Key = "stranger", "other"
			r := s.ask(38*sec, "stranger", 0, "probe")
			r.Outcome = "no_members"
			s.unrun(r.ID)
		}},
	})
}
