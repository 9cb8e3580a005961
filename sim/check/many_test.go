// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"slices"
	"testing"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// This test checks what surveys may say of their members, and when they may
// call themselves complete.
func TestSurveysTellTheTruth(t *testing.T) {
	survey := func(change func(s *story, r *history.Request)) func(s *story) {
		return func(s *story) { change(s, s.survey(5*sec, "c1")) }
	}
	// without has only two members answer.
	without := func(outcome string, missing ...string) func(s *story) {
		return survey(func(_ *story, r *history.Request) {
			r.Answers, r.Taken, r.Outcome = r.Answers[:2], 2, outcome
			for _, m := range missing {
				r.Missing = append(r.Missing, history.Missing{Member: m, Outcome: "deadline"})
			}
		})
	}
	// joined has c1 become a member at 14 s and a survey not ask it.
	joined := func(asked time.Duration) func(s *story) {
		return func(s *story) {
			s.serve("c1", 14*sec)
			s.view(14500*ms, "c2", "c1", "live")
			s.view(14500*ms, "c1", "c1", "live")
			s.survey(asked, "c2")
		}
	}
	runCases(t, nil, []verdictCase{
		{name: "everybody", make: survey(func(*story, *history.Request) {})},
		{name: "one is named as missing", make: without("partial", "m3")},
		{name: "complete without one", make: without("complete"), want: []string{"complete"}},
		{name: "complete and one missing", make: without("complete", "m3"), want: []string{"complete"}},
		{name: "complete without one that has just come", make: joined(15 * sec)},
		{name: "complete without one that has been there", make: joined(17 * sec), want: []string{"complete"}},
		{name: "complete without one that was cut off", make: func(s *story) {
			s.fault(4*sec, 6*sec, "cut", "m3")
			without("complete")(s)
		}},
		{name: "one answered twice", make: survey(func(s *story, r *history.Request) {
			r.Answers[2] = r.Answers[0]
			s.Runs[len(s.Runs)-1].Tenure = 2
		}), want: []string{"complete", "spread"}},
		{name: "answered and missing", make: survey(func(_ *story, r *history.Request) {
			r.Outcome, r.Missing = "partial", []history.Missing{{Member: "m3", Outcome: "deadline"}}
		}), want: []string{"spread"}},
		{name: "missing twice", make: without("partial", "m3", "m3"), want: []string{"spread"}},
		{name: "a wrong number", make: survey(func(_ *story, r *history.Request) { r.Taken = 4 }), want: []string{"spread"}},
		{name: "another's answer", make: survey(func(_ *story, r *history.Request) { r.Answers[1].Wrong = true }), want: []string{"spread"}},
		{name: "an answer of nobody who ran", make: survey(func(s *story, _ *history.Request) {
			s.Runs = s.Runs[:len(s.Runs)-1]
		}), want: []string{"spread"}},
		{name: "asked twice", make: survey(func(s *story, r *history.Request) { s.run(r.ID, 2, 5*sec+6*ms) }), want: []string{"once"}},
	})
}

// This test checks that a broadcast's numbers fit who has it.
func TestBroadcastsCountRightly(t *testing.T) {
	runCases(t, nil, []verdictCase{
		{name: "everybody", make: func(s *story) { s.broadcast(5*sec, "c1") }},
		{name: "one too many", make: func(s *story) {
			s.broadcast(5*sec, "c1").Outcome = "partial"
			s.Runs = s.Runs[:len(s.Runs)-1]
		}, want: []string{"spread"}},
		{name: "one too few", make: func(s *story) { s.broadcast(5*sec, "c1").Taken = 2 }, want: []string{"spread"}},
		{name: "one died with it", make: func(s *story) {
			s.crash(10*sec, ms)
			r := s.broadcast(10*sec-5*ms, "c1")
			s.Runs = slices.DeleteFunc(s.Runs, func(run history.Run) bool { return run.Request == r.ID && run.Tenure == 1 })
		}},
		{name: "one is missing and may have it", make: func(s *story) {
			r := s.broadcast(5*sec, "c1")
			r.Outcome, r.Taken, r.Nodes = "partial", 2, 2
			r.Missing = []history.Missing{{Member: "m2", Outcome: "interrupted"}}
		}},
		{name: "too few nodes", make: func(s *story) { s.broadcast(5*sec, "c1").Nodes = 2 }, want: []string{"spread"}},
		{name: "more nodes than members", make: func(s *story) { s.broadcast(5*sec, "c1").Nodes = 4 }, want: []string{"spread"}},
		{name: "one got it twice", make: func(s *story) {
			r := s.broadcast(5*sec, "c1")
			s.run(r.ID, 1, 5*sec+20*ms)
		}, want: []string{"once"}},
		{name: "called complete without one", make: func(s *story) {
			r := s.broadcast(5*sec, "c1")
			r.Taken, r.Nodes = 2, 2
			s.Runs = s.Runs[:len(s.Runs)-1]
		}, want: []string{"complete"}},
		{name: "handled long after its deadline", make: func(s *story) {
			s.broadcast(5*sec, "c1")
			s.Runs[len(s.Runs)-1].Began = 15 * sec
		}},
	})
}

// This test checks that members that handle one message after the other get
// broadcasts in order.
func TestBroadcastsComeInOrder(t *testing.T) {
	swap := func(s *story) {
		s.broadcast(5*sec, "c1")
		s.broadcast(6*sec, "c1")
		n := len(s.Runs)
		s.Runs[n-4].Began = 7 * sec // the last run of the first
	}
	runCases(t, nil, []verdictCase{
		{name: "several at once", make: swap},
		{name: "one after the other", make: func(s *story) {
			swap(s)
			s.Tenures[2].Serial = true
		}, want: []string{"order"}},
		{name: "sent at the same time", make: func(s *story) {
			swap(s)
			s.Tenures[2].Serial = true
			s.Requests[len(s.Requests)-2].Ended = 6*sec + ms
		}},
	})
}

// This test checks that accepted means handled, once and to the end.
func TestAcceptedPushesAreHandled(t *testing.T) {
	runCases(t, nil, []verdictCase{
		{name: "later", make: func(s *story) { s.push(5*sec, "c1", 1) }},
		{name: "never", make: func(s *story) { s.unrun(s.push(5*sec, "c1", 1).ID) }, want: []string{"accepted"}},
		{name: "half", make: func(s *story) {
			s.push(5*sec, "c1", 1)
			s.Runs[len(s.Runs)-1].Ended = -1
		}, want: []string{"accepted"}},
		{name: "twice", make: func(s *story) { s.run(s.push(5*sec, "c1", 1).ID, 1, 6*sec) }, want: []string{"once"}},
		{name: "its node was lost", make: func(s *story) {
			s.crash(10*sec, ms)
			s.Nodes[3].How = "crashed"
			s.unrun(s.push(5*sec, "c1", 1).ID)
		}},
		{name: "its node was stopped", make: func(s *story) {
			s.crash(10*sec, ms)
			s.Nodes[3].How, s.Faults[0].Do = "stopped", "stop"
			s.unrun(s.push(5*sec, "c1", 1).ID)
		}, want: []string{"accepted"}},
		{name: "not accepted, and handled", make: func(s *story) { s.push(5*sec, "c1", 1).Outcome = "overloaded" }, want: []string{"claim"}},
	})
}

// This test checks the figures of surveys, broadcasts and pushes.
func TestManyAreMeasured(t *testing.T) {
	s := peace()
	s.push(5*sec, "c1", 1)
	s.broadcast(5*sec, "c1")
	r := s.survey(6*sec, "c1")
	r.Outcome, r.Answers, r.Taken = "partial", r.Answers[:2], 2
	r.Missing = []history.Missing{{Member: "m3", Outcome: "deadline"}}
	claims(
		t, s, "accepted == 1", "accepted{push} == 1", "complete{broadcast} == 1", "partial{survey} == 1", "lost == 0",
		"completeness{broadcast} == 100%", "completeness{survey} < 67%", "success{survey} == 0%", "success{broadcast} == 100%",
		"latency_p50{broadcast} == 10ms", "handled{broadcast} == 3", "duplicated == 0",
	)
	absent(t, peace(), "completeness")
}
