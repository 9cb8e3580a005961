// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import "testing"

// This test checks that replies to something else, replies from nowhere and
// requests that nobody made are found.
func TestRepliesBelongToRequests(t *testing.T) {
	runCases(t, []verdictCase{
		{name: "the reply of another", make: func(s *story) { s.Requests[6].Outcome = "wrong_reply" }, want: []string{"belongs"}},
		{name: "a reply that no handler gave", make: func(s *story) { s.unrun(7) }, want: []string{"belongs"}},
		{name: "a refusal that no handler gave", make: func(s *story) {
			s.Requests[6].Outcome = "refused"
			s.unrun(7)
		}, want: []string{"belongs"}},
		{name: "a refusal", make: func(s *story) { s.Requests[6].Outcome = "refused" }},
		{name: "a reply before its handler began", make: func(s *story) {
			s.unrun(7)
			s.run(7, 0, s.Requests[6].Ended+ms)
		}, want: []string{"belongs"}},
		{name: "a reply of another member", make: func(s *story) { s.Requests[6].Member = "m2" }, want: []string{"belongs"}},
		{name: "a reply of nobody in particular", make: func(s *story) { s.Requests[6].Member = "" }},
		{name: "a request that nobody made", make: func(s *story) { s.run(12345, 0, 5*sec) }, want: []string{"belongs"}},
		{name: "a handler of no member", make: func(s *story) { s.run(7, 99, 5*sec) }, want: []string{"belongs"}},
	})
}
