// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"
	"time"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
)

// This test checks that a request without exactly one outcome in time is found,
// and which ones are excused.
func TestEveryRequestHasOneOutcomeInTime(t *testing.T) {
	runCases(t, nil, []verdictCase{
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

// This test checks that a request that is handled twice is found, unless that
// is allowed.
func TestNoRequestIsHandledTwice(t *testing.T) {
	again := func(attempts, tenure int) func(s *story) {
		return func(s *story) {
			r := &s.Requests[6]
			r.Idempotent, r.Attempts = true, attempts
			s.run(7, tenure, r.Sent+8*ms)
		}
	}
	parted := func(after time.Duration, run func(s *story)) func(s *story) {
		return func(s *story) {
			run(s)
			at := s.Requests[6].Sent + after
			s.fault(at, at, "corrupt", "m1")
		}
	}
	runCases(t, nil, []verdictCase{
		{name: "twice", make: func(s *story) { s.run(7, 1, s.Requests[6].Sent+8*ms) }, want: []string{"once"}},
		{name: "twice, and its caller was lost", make: func(s *story) {
			s.Requests[6].Lost = true
			s.run(7, 1, s.Requests[6].Sent+8*ms)
		}, want: []string{"once"}},
		{name: "idempotent", make: again(2, 1)},
		{name: "idempotent, by the same member", make: again(2, 0), want: []string{"once"}},
		{name: "idempotent, by the same member, after the link was lost", make: parted(6*ms, again(2, 0))},
		{name: "idempotent, by the same member, more often than attempted", make: parted(6*ms, again(1, 0)), want: []string{"once"}},
		{name: "idempotent, by the same member, before anything happened", make: parted(9*ms, again(2, 0)), want: []string{"once"}},
		{name: "idempotent, more often than attempted", make: again(1, 1), want: []string{"once"}},
		{name: "idempotent, attempts unknown", make: again(0, 1)},
	})
}

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
	runCases(t, nil, []verdictCase{
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
	runCases(t, nil, cases)
}

// This test checks that replies to something else, replies from nowhere and
// requests that nobody made are found.
func TestRepliesBelongToRequests(t *testing.T) {
	runCases(t, nil, []verdictCase{
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

// This test checks that handlers of nodes that are not, not yet or no longer
// members are found.
func TestOnlyMembersHandle(t *testing.T) {
	late := func(s *story) {
		s.crash(10*sec, ms)
		r := s.ask(10*sec, "c1", 0, "load")
		r.Member = ""
		s.unrun(r.ID)
		s.run(r.ID, 1, 10*sec+ms)
	}
	unseen := func(change func(m1 *history.Node)) func(s *story) {
		return func(s *story) {
			change(&s.Nodes[2])
			for i := range s.Views {
				if s.Views[i].Member == "m1" {
					s.Views[i].State = ""
				}
			}
		}
	}
	runCases(t, nil, []verdictCase{
		{name: "before it asked", make: func(s *story) { s.Tenures[0].Asked, s.Tenures[0].From = 1005*ms, 1005*ms }, want: []string{"member"}},
		{name: "before it was told", make: func(s *story) { s.Tenures[0].From = 1050 * ms }},
		{name: "after it was gone", make: late, want: []string{"member"}},
		{name: "after it was gone, by a coarser clock", make: late, rules: check.Rules{Member: 5 * ms}},
		{name: "while it leaves", make: func(s *story) {
			late(s)
			s.Tenures[1].Until = 10*sec + 5*ms
		}},
		{name: "of another cluster", make: func(s *story) { s.Requests[6].Cluster = "geo" }, want: []string{"member"}},
		{name: "with another network's key", make: unseen(func(m1 *history.Node) { m1.Key = "other" }), want: []string{"member"}},
		{name: "with another key for the cluster", make: unseen(func(m1 *history.Node) {
			m1.Keys = map[string]string{"echo": "red"}
		}), want: []string{"member"}},
	})
}

// This test checks that probes must be answered once everything had time to
// settle, by whoever could be.
func TestProgressIsDemandedAfterTheFaults(t *testing.T) {
	fails := func(i int) func(s *story) {
		return func(s *story) {
			s.Requests[i].Outcome = "unreachable"
			s.unrun(s.Requests[i].ID)
		}
	}
	runCases(t, nil, []verdictCase{
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

// This test checks that "no members" is held against whoever says it while
// there are some and nothing has gone wrong, and counted later.
func TestNobodyIsToldThatAClusterIsEmptyThatIsNot(t *testing.T) {
	empty := func(s *story, i int) {
		s.Requests[i].Outcome = "no_members"
		s.unrun(s.Requests[i].ID)
	}
	runCases(t, nil, []verdictCase{
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
