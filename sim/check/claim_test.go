// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import "testing"

// This test checks each outcome that says that no handler ran against a handler
// that did, and those that don't say so.
func TestOutcomesTellTheTruthAboutHandlers(t *testing.T) {
	var cases []verdictCase
	for _, outcome := range []string{
		"no_members", "overloaded", "unreachable", "unauthorized", "too_large", "closed", "deadline", "cancelled",
	} {
		want := []string{"claim"}
		if outcome == "no_members" {
			want = []string{"claim", "empty"}
		}
		ends := func(s *story) { s.Requests[40].Outcome = outcome }
		cases = append(
			cases,
			verdictCase{name: outcome, make: ends, want: want},
			verdictCase{name: outcome + " without a handler", make: func(s *story) {
				ends(s)
				s.unrun(41)
			}, want: want[1:]},
			verdictCase{name: outcome + " at a lost caller", make: func(s *story) {
				ends(s)
				s.Requests[40].Lost = true
			}},
		)
	}
	for _, outcome := range []string{"interrupted", "other", "deadline", "cancelled"} {
		cases = append(cases, verdictCase{name: outcome + " that may have run", make: func(s *story) {
			s.Requests[40].Outcome, s.Requests[40].MaybeRan = outcome, true
		}})
	}
	runCases(t, cases)
}
