// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
)

// This test checks the figures of a run in which nothing happens.
func TestPeaceIsMeasured(t *testing.T) {
	v := claims(
		t, peace(),
		"requests == 300", "replies == 300", "handled == 300", "probes == 100", "probes_lost == 0", "lost == 0",
		"success == 100%", "latency_p50 == 10ms", "latency_max == 10ms", "latency_calm_p99 == 10ms", "late_max == 0",
		"control_bytes_per_node_s == 1KB/s", "sent_ctl == 205000", "sent_bulk == 45B", "links_max == 4", "leases_max == 3",
		"balance == 1", "observers == 2", "zombie_max == 0s", "convergence_last == 0s", "faults == 0", "serve_p99 == 200ms",
	)
	require.True(t, v.OK)
	absent(t, peace(), "latency_fault_p50", "detection_p50", "reroute_p99", "convergence_p50", "slow_share")
}

// This test checks that nothing is made up of an empty history.
func TestAnEmptyHistoryHasNoMeasures(t *testing.T) {
	v := check.Judge(&history.History{}, check.Rules{Assert: []string{"latency_p50 < 1s"}, Sometimes: []string{"crashes > 0"}})
	require.False(t, v.OK)
	require.Empty(t, v.Violations)
	require.Equal(t, "there is no latency_p50: nothing in this run could be measured for it", v.Assertions[0].Reason)
	require.Equal(t, check.Result{Text: "crashes > 0", Kind: check.Sometimes, Value: "0"}, v.Assertions[1])
	for name, m := range v.Metrics {
		require.Zero(t, m.Value, name)
	}
}

// This test checks that requests of callers that were hit, probes and what had
// not to end yet are counted apart.
func TestRequestsAreCountedByOutcome(t *testing.T) {
	s := peace()
	for i, outcome := range []string{
		"refused", "no_members", "overloaded", "unreachable", "interrupted", "deadline", "cancelled", "unauthorized", "too_large",
		"closed", "wrong_reply", "other", "something new",
	} {
		s.Requests[100+i].Outcome = outcome
	}
	s.Requests[50].Lost, s.Requests[50].Outcome = true, "closed"
	s.Requests[51].Ended, s.Requests[51].Outcomes = -1, 0
	s.Requests[390].Outcome = "deadline"
	r := s.ask(40*sec, "c1", 0, "load")
	r.Ended, r.Outcomes = -1, 0
	s.run(1, 1, 2*sec)
	claims(
		t, s, "requests == 300", "excused == 1", "refused == 1", "no_members == 1", "overloaded == 1", "unreachable == 1",
		"interrupted == 1", "deadline == 1", "cancelled == 1", "unauthorized == 1", "too_large == 1", "closed == 1",
		"wrong_reply == 1", "other == 2", "unanswered == 1", "lost == 13", "replies == 285", "probes_lost == 1",
		"handled == 301", "duplicated == 1",
	)
}

// This test checks that works are measured apart, and the probes with none.
func TestWorksAreMeasuredApart(t *testing.T) {
	s := peace()
	for i := range 100 {
		s.Requests[i].Work, s.Requests[i].Ended = "other", s.Requests[i].Sent+20*ms
	}
	s.Requests[3].Outcome = "interrupted"
	s.Requests[200].Outcome = "no_members"
	v := claims(
		t, s, "requests{other} == 100", "requests{load} == 200", "lost{other} == 1", "interrupted{other} == 1", "lost{load} == 1",
		"success{other} == 99%", "success{load} == 99.5%", "lost == 2", "false_empty{load} == 1", "false_empty{other} == 0", "false_empty == 1",
		"latency_p50{other} == 20ms", "latency_max{load} == 10ms", "latency_max == 20ms", "attempts_max{other} == 1", "late_max{load} == 0s",
	)
	require.NotContains(t, v.Metrics, "requests{probe}")
	require.NotContains(t, v.Metrics, "probes{load}")
}

// This test checks that calm and troubled times are told apart.
func TestLatencyIsMeasuredByPhase(t *testing.T) {
	s := peace()
	s.fault(10*sec, 12*sec, "degrade", "m1")
	for i := range s.Requests {
		if r := &s.Requests[i]; r.Sent >= 10*sec && r.Sent < 12*sec {
			r.Ended = r.Sent + 300*ms
		}
	}
	claims(
		t, s, "latency_calm_max == 10ms", "latency_fault_p90 == 300ms", "latency_fault_p50 == 10ms",
		"latency_p50 == 10ms", "latency_p99 == 300ms", "degrades == 1",
	)
}

// This test checks the share of a slowed member, and that it does not count for
// the balance of the others.
func TestSharesOfMembersAreMeasured(t *testing.T) {
	s := peace()
	s.fault(10*sec, 20*sec, "slow", "m1")
	s.fault(20*sec, 20*sec, "slow", "m1")
	moved := 0
	for i := range s.Runs {
		if r := &s.Runs[i]; r.Tenure == 0 && r.Began > 10*sec && r.Began < 20*sec && moved < 23 {
			r.Tenure, s.Requests[i].Member = 1, "m2"
			moved++
		}
	}
	claims(t, s, "slows == 1", "slow_share == 11%", "balance > 1.1", "balance < 1.2")
}

// This test checks that each metric that is measured is in the catalogue, with
// its unit and a meaning, and that names are unique.
func TestEveryMetricIsInTheCatalogue(t *testing.T) {
	s := peace()
	s.crash(10*sec, 300*ms)
	s.Requests[90].Attempts, s.Requests[90].Ended = 2, 10*sec+250*ms
	s.fault(5*sec, 8*sec, "slow", "m2")
	s.serve("c1", 15*sec)
	s.view(15150*ms, "c2", "c1", "live")
	s.view(15150*ms, "c1", "c1", "live")
	s.survey(5*sec, "c1")
	s.subscribe("m1", "a.>", 0)
	s.queue("m1", "a.>", "q", 0)
	s.queue("m3", "a.>", "q", 0)
	s.deliver(s.publish(5*sec, "c1", "a.b"), 0, 1)
	s.publish(15*sec, "c2", "a.b")
	s.copy(0, "c1", "m1")
	s.copy(0, "m1", "m3")
	s.tunnel(6*sec, "c1", 0)
	s.fault(6500*ms, -1, "crash", "m3")
	s.tunnel(6*sec, "c1", 0).Outcome = "interrupted"
	s.Tenures[0].Places, s.Tenures[0].Work = 1, 100*ms
	tenures := s.Tenures
	federate(s)
	s.hop(&s.Requests[len(s.Requests)-1], "c1", "g", "us")
	for i := range tenures {
		s.Tenures[i].Leaving = 40 * sec
	}
	s.cross("c1")
	s.Samples[0].Held = []history.Held{{Client: "app", Bytes: 1}}
	measured := s.judge(check.Rules{}).Metrics
	known := make(map[string]check.Unit)
	for _, m := range check.Metrics() {
		require.NotContains(t, known, m.Name)
		require.NotEmpty(t, m.Meaning)
		require.NotEmpty(t, m.Unit)
		known[m.Name] = m.Unit
		require.Contains(t, measured, m.Name, "nothing measures it")
	}
	for name, m := range measured {
		name, _, _ = strings.Cut(name, "{")
		require.Equal(t, known[name], m.Unit, name)
	}
}

// This test checks that goodput is what came in time, of what the members can do or of
// what was asked of them, in the worst window of ten handlers, and that it needs to know what they can.
func TestGoodputIsMeasuredInEachWindow(t *testing.T) {
	absent(t, peace(), "goodput_min", "goodput_min{load}")
	able := func(perMember int) *story {
		s := peace()
		for i := range s.Tenures {
			s.Tenures[i].Places, s.Tenures[i].Work = perMember, sec
		}
		return s
	}
	claims(t, able(5), "goodput_min{load} == 100%")
	for name, test := range map[string]struct {
		perMember int
		want      string
	}{
		"less is asked than can be done": {5, "goodput_min{load} == 97%"},
		"more is asked than can be done": {2, "goodput_min{load} == 100%"},
	} {
		t.Run(name, func(t *testing.T) {
			s := able(test.perMember)
			for i := 103; i < 106; i++ { // of the hundred requests of one window
				s.Requests[i].Outcome = "overloaded"
			}
			claims(t, s, test.want)
		})
	}
	s := able(2)
	for i := 100; i < 170; i++ {
		s.Requests[i].Outcome = "deadline"
	}
	claims(t, s, "goodput_min{load} == 50%")
}
