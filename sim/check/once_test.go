// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import "testing"

// This test checks that a request that is handled twice is found, unless that
// is allowed.
func TestNoRequestIsHandledTwice(t *testing.T) {
	runCases(t, []verdictCase{
		{name: "twice", make: func(s *story) { s.run(7, 1, s.Requests[6].Sent+8*ms) }, want: []string{"once"}},
		{name: "twice, and its caller was lost", make: func(s *story) {
			s.Requests[6].Lost = true
			s.run(7, 1, s.Requests[6].Sent+8*ms)
		}, want: []string{"once"}},
		{name: "idempotent", make: func(s *story) {
			s.Requests[6].Idempotent, s.Requests[6].Attempts = true, 2
			s.run(7, 1, s.Requests[6].Sent+8*ms)
		}},
		{name: "idempotent, by the same member", make: func(s *story) {
			s.Requests[6].Idempotent, s.Requests[6].Attempts = true, 2
			s.run(7, 0, s.Requests[6].Sent+8*ms)
		}, want: []string{"once"}},
		{name: "idempotent, by the same member, after the link was lost", make: func(s *story) {
			s.Requests[6].Idempotent, s.Requests[6].Attempts = true, 2
			at := s.Requests[6].Sent + 6*ms
			s.fault(at, at, "corrupt", "m1")
			s.run(7, 0, s.Requests[6].Sent+8*ms)
		}},
		{name: "idempotent, by the same member, more often than attempted", make: func(s *story) {
			s.Requests[6].Idempotent = true
			at := s.Requests[6].Sent + 6*ms
			s.fault(at, at, "corrupt", "m1")
			s.run(7, 0, s.Requests[6].Sent+8*ms)
		}, want: []string{"once"}},
		{name: "idempotent, by the same member, before anything happened", make: func(s *story) {
			s.Requests[6].Idempotent, s.Requests[6].Attempts = true, 2
			s.fault(s.Requests[6].Sent+9*ms, s.Requests[6].Sent+9*ms, "corrupt", "m1")
			s.run(7, 0, s.Requests[6].Sent+8*ms)
		}, want: []string{"once"}},
		{name: "idempotent, more often than attempted", make: func(s *story) {
			s.Requests[6].Idempotent = true
			s.run(7, 1, s.Requests[6].Sent+8*ms)
		}, want: []string{"once"}},
		{name: "idempotent, attempts unknown", make: func(s *story) {
			s.Requests[6].Idempotent, s.Requests[6].Attempts = true, 0
			s.run(7, 1, s.Requests[6].Sent+8*ms)
		}},
	})
}
