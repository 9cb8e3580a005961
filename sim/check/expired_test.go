// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"
	"time"
)

// This test checks that a handler that begins too late is found, and that link
// time may be a little wrong.
func TestNothingIsBegunAfterItsDeadline(t *testing.T) {
	late := func(by time.Duration) func(s *story) {
		return func(s *story) {
			r := &s.Requests[5]
			r.Outcome, r.MaybeRan, r.Ended = "deadline", true, r.Deadline
			s.unrun(r.ID)
			s.run(r.ID, 0, r.Deadline+by*ms).Expires = r.Deadline + by*ms
		}
	}
	runCases(t, []verdictCase{
		{name: "a little late", make: late(490)},
		{name: "late", make: late(510), want: []string{"expired"}},
		{name: "late over a bad link", make: func(s *story) {
			s.fault(3*sec, 5*sec, "degrade", "m1")
			late(1100)(s)
		}},
		{name: "very late over a bad link", make: func(s *story) {
			s.fault(3*sec, 5*sec, "degrade", "m1")
			late(2100)(s)
		}, want: []string{"expired"}},
		{name: "late where packets are lost", make: func(s *story) {
			s.Rough = [][2]string{{s.Requests[5].Caller, "m1"}}
			late(1100)(s)
		}},
		{name: "late where they are lost elsewhere", make: func(s *story) {
			s.Rough = [][2]string{{s.Requests[5].Caller, "m2"}}
			late(1100)(s)
		}, want: []string{"expired"}},
		{name: "after what it was told", make: func(s *story) { s.Runs[5].Expires = s.Runs[5].Began - 6*ms }, want: []string{"expired"}},
		{name: "just after what it was told", make: func(s *story) { s.Runs[5].Expires = s.Runs[5].Began - 5*ms }},
		{name: "no deadline", make: func(s *story) { s.Runs[5].Expires = -1 }, want: []string{"expired"}},
		{name: "a deadline that is a little wrong", make: func(s *story) { s.Runs[5].Expires += 490 * ms }},
		{name: "a deadline that is too late", make: func(s *story) { s.Runs[5].Expires += 510 * ms }, want: []string{"expired"}},
		{name: "a deadline that is too late, by a skewed clock", make: func(s *story) {
			s.fault(sec, 5*sec, "skew", "m3")
			s.Runs[5].Expires += 510 * ms
		}},
	})
}
