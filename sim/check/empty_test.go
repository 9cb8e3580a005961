// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import "testing"

// This test checks that "no members" is held against whoever says it while
// there are some and nothing has gone wrong, and counted later.
func TestNobodyIsToldThatAClusterIsEmptyThatIsNot(t *testing.T) {
	empty := func(s *story, i int) {
		s.Requests[i].Outcome = "no_members"
		s.unrun(s.Requests[i].ID)
	}
	runCases(t, []verdictCase{
		{name: "in peace", make: func(s *story) { empty(s, 50) }, want: []string{"empty"}},
		{name: "before a member is known", make: func(s *story) { empty(s, 2) }},
		{name: "after a fault", make: func(s *story) {
			s.crash(3*sec, ms)
			empty(s, 50)
		}},
	})

	s := peace()
	empty(s, 50)
	s.crash(3*sec, ms)
	claims(t, s, "false_empty == 1")
	s = peace()
	empty(s, 50)
	s.fault(3*sec, 4*sec, "cut", s.Requests[50].Caller)
	claims(t, s, "false_empty == 0")
}
