// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"

	"github.com/arke-mesh/arke/sim/check"
)

// This test checks that a request without exactly one outcome in time is found,
// and which ones are excused.
func TestEveryRequestHasOneOutcomeInTime(t *testing.T) {
	runCases(t, []verdictCase{
		{name: "peace", make: func(*story) {}},
		{name: "never ended", make: func(s *story) {
			s.Requests[5].Ended, s.Requests[5].Outcomes, s.Requests[5].Outcome = -1, 0, ""
		}, want: []string{"outcome"}},
		{name: "ended twice", make: func(s *story) { s.Requests[5].Outcomes = 2 }, want: []string{"outcome"}},
		{name: "too late", make: func(s *story) {
			s.Requests[5].Ended = s.Requests[5].Deadline + 6*ms
		}, want: []string{"outcome"}},
		{name: "just in time", make: func(s *story) { s.Requests[5].Ended = s.Requests[5].Deadline + 5*ms }},
		{name: "a larger bound", make: func(s *story) {
			s.Requests[5].Ended = s.Requests[5].Deadline + 6*ms
		}, rules: check.Rules{Outcome: 10 * ms}},
		{name: "late by its own slow clock", make: func(s *story) {
			s.fault(s.Requests[5].Sent, -1, "skew", s.Requests[5].Caller)
			s.Requests[5].Ended = s.Requests[5].Deadline + 50*ms
		}},
		{name: "its caller was lost", make: func(s *story) {
			s.Requests[5].Lost, s.Requests[5].Ended = true, s.Requests[5].Deadline+sec
		}},
		{name: "its caller was lost, but one outcome is demanded", make: func(s *story) {
			s.Requests[5].Lost, s.Requests[5].Ended, s.Requests[5].Outcomes = true, -1, 0
		}, want: []string{"outcome"}},
		{name: "the run ended before it had to", make: func(s *story) {
			r := s.ask(40*sec, "c1", 0, "load")
			r.Ended, r.Outcomes, r.Outcome = -1, 0, ""
		}},
	})
}
