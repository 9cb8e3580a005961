// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the files in testdata")

// requireGolden compares JSON, which is one line, with a file in testdata.
func requireGolden(t *testing.T, name string, write func(io.Writer) error) {
	t.Helper()
	var b, pretty bytes.Buffer
	require.NoError(t, write(&b))
	require.Equal(t, 1, bytes.Count(b.Bytes(), []byte("\n")), "one line")
	require.NoError(t, json.Indent(&pretty, b.Bytes(), "", "  "))
	path := "testdata/" + name
	if *rewrite {
		require.NoError(t, os.WriteFile(path, pretty.Bytes(), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), pretty.String())
}

// few is a run that can be summed up by hand.
func few() *history.History {
	ms := time.Millisecond
	request := func(id uint64, work string, sent, took time.Duration, outcome string) history.Request {
		return history.Request{ID: id, Work: work, Caller: "c1", Cluster: "echo", Sent: sent, Ended: sent + took, Outcomes: 1, Outcome: outcome, Attempts: 1}
	}
	h := &history.History{
		Start: time.Second, Safety: 60 * time.Second, End: 70 * time.Second,
		Nodes: []history.Node{
			{Name: "c1", Until: -1, Correct: true},
			{Name: "m1", Until: 20 * time.Second, How: "crashed"},
			{Name: "m1", From: 25 * time.Second, Until: -1, Correct: true},
			{Name: "m10", Until: -1, Correct: true},
			{Name: "m2", Until: -1, Correct: true},
		},
		Tenures: []history.Tenure{
			{Cluster: "echo", Node: "m1", Member: "A", Until: 20 * time.Second, Leaving: 20 * time.Second},
			{Cluster: "echo", Node: "m10", Member: "C", Until: -1, Leaving: -1},
			{Cluster: "echo", Node: "m2", Member: "B", Until: -1, Leaving: -1},
			{Cluster: "echo", Node: "m1", Member: "D", From: 25 * time.Second, Until: -1, Leaving: -1},
		},
		Faults: []history.Fault{{At: 20 * time.Second, Until: 25 * time.Second, Do: "crash", Nodes: []string{"m1"}, Text: "crash m1"}},
		Requests: []history.Request{
			request(1, "steady", 2*time.Second, 10*ms, "reply"),
			request(2, "steady", 3*time.Second, 20*ms, "reply"),
			request(3, "steady", 21*time.Second, 500*ms, "reply"), // while m1 is away
			request(4, "steady", 29*time.Second, 70*ms, "reply"),  // soon after
			request(5, "steady", 31*time.Second, 30*ms, "reply"),
			request(6, "steady", 40*time.Second, 5*time.Second, "deadline"),
			request(7, "steady", 41*time.Second, 0, ""), // never ended
			request(8, "steady", 42*time.Second, time.Second, "interrupted"),
			request(9, "probe", 61*time.Second, 12*ms, "reply"),
		},
		Runs: []history.Run{{Request: 1, Tenure: 0}, {Request: 2, Tenure: 1}, {Request: 3, Tenure: 2}, {Request: 4, Tenure: 3}},
	}
	h.Requests[2].Attempts = 3
	h.Requests[6].Ended = -1
	h.Requests[7].Lost = true
	return h
}

// TestReportHasTheDocumentedFields proves that the JSON keeps its names and
// values: the file is what programs may rely on.
func TestReportHasTheDocumentedFields(t *testing.T) {
	requireGolden(t, "report.json", reportOf(few(), true).WriteJSON)
}

// TestReportCountsByHand proves counts, percentiles and shares on a run that
// can be summed up by hand.
func TestReportCountsByHand(t *testing.T) {
	h := few()
	r := report.New(report.Info{Seed: 3}, scenarioOf(), h, &check.Verdict{OK: true})
	require.True(t, r.OK)
	require.Equal(t, 8, r.Requests)
	require.Equal(t, 1, r.CallerLost)
	require.Equal(t, map[string]int{"reply": 6, "deadline": 1, "none": 1}, r.Outcomes)
	require.Equal(t, []string{"all", "steady", "probe"}, []string{r.Works[0].Work, r.Works[1].Work, r.Works[2].Work})
	steady := r.Works[1]
	require.Equal(t, report.Latency{Count: 5, P50MS: 30, P90MS: 500, P99MS: 500, P999MS: 500, MaxMS: 500}, steady.Latency)
	require.Equal(t, report.Latency{Count: 3, P50MS: 20, P90MS: 30, P99MS: 30, P999MS: 30, MaxMS: 30}, steady.Calm)
	require.Equal(t, report.Latency{Count: 2, P50MS: 70, P90MS: 500, P99MS: 500, P999MS: 500, MaxMS: 500}, steady.Faulty)
	require.Equal(t, 1, steady.Retried)
	require.Equal(t, 3, steady.Attempts)
	require.Equal(t, []report.Member{
		{Cluster: "echo", Node: "m1", Tenures: 2, Requests: 2, Share: 0.5},
		{Cluster: "echo", Node: "m2", Tenures: 1, Requests: 1, Share: 0.25},
		{Cluster: "echo", Node: "m10", Tenures: 1, Requests: 1, Share: 0.25},
	}, r.Members)
	require.Equal(t, 4, r.Nodes)
	require.Equal(t, 5, r.Lives)
}

// TestReportIsNotOKIfTheRunBroke proves that no verdict and an error both fail
// a run.
func TestReportIsNotOKIfTheRunBroke(t *testing.T) {
	require.False(t, report.New(report.Info{}, scenarioOf(), nil, nil).OK)
	require.False(t, report.New(report.Info{Error: "bubble hangs"}, scenarioOf(), few(), &check.Verdict{OK: true}).OK)
	require.True(t, report.New(report.Info{}, scenarioOf(), few(), &check.Verdict{OK: true}).OK)
}

// TestReportComesBackFromJSON proves that a program in Go can read what it
// wrote, and that such a report has a page without drawings.
func TestReportComesBackFromJSON(t *testing.T) {
	var b, again, page bytes.Buffer
	require.NoError(t, reportOf(few(), true).WriteJSON(&b))
	var r report.Report
	require.NoError(t, json.Unmarshal(b.Bytes(), &r))
	require.NoError(t, r.WriteJSON(&again))
	require.Equal(t, b.String(), again.String())
	require.NoError(t, r.WriteHTML(&page))
	require.Contains(t, page.String(), "member-crash")
}

// TestInfoKnowsTheCommandThatRunsItAgain proves the command for each level.
func TestInfoKnowsTheCommandThatRunsItAgain(t *testing.T) {
	for _, c := range []struct {
		info report.Info
		want string
	}{
		{report.Info{Name: "churn", Seed: 7, Level: "sim"}, "arke sim run churn --seed 7"},
		{report.Info{Name: "churn", File: "my/churn.yaml", Seed: 7, Level: "net"}, "arke sim run my/churn.yaml --seed 7 --level net"},
		{report.Info{Name: "churn", Command: "arke sim replay fail-1.json"}, "arke sim replay fail-1.json"},
	} {
		require.Equal(t, c.want, c.info.Replay())
	}
}

// seeds are reports of a scenario under seeds 1 to n in reverse order, of which
// the third fails.
func seeds(n int) []*report.Report {
	var all []*report.Report
	for i := n; i >= 1; i-- {
		v := &check.Verdict{OK: i != 3, Metrics: map[string]check.Metric{
			"lost":        {Value: 0, Unit: check.Count},
			"reroute_p99": {Value: 10 * float64(i), Unit: check.Millis},
			"sent_rpc":    {Value: 1_250_000, Unit: check.Bytes},
			"homemade":    {Value: 0.25, Unit: check.Ratio},
		}}
		if i == 3 {
			v.Metrics["lost"] = check.Metric{Value: 2, Unit: check.Count}
			v.Metrics["detection_max"] = check.Metric{Value: 1234, Unit: check.Millis}
			v.Assertions = []check.Result{{Text: "lost == 0", Kind: check.Assert, Value: "2"}}
			v.Violations = []check.Violation{
				{Checker: "once", At: time.Second, Text: "request 5 was handled twice"},
				{Checker: "once", At: 2 * time.Second, Text: "request 9 was handled twice"},
			}
		}
		info := report.Info{Name: "member-crash", Level: "sim", Seed: uint64(i), TraceHash: "ab", Virtual: 70 * time.Second, Real: 2 * time.Second}
		all = append(all, report.New(info, scenarioOf(), few(), v))
	}
	return all
}

// TestSummaryHasTheSpreadOfEachMetric proves minimum, percentiles, maximum and
// the seeds to look at.
func TestSummaryHasTheSpreadOfEachMetric(t *testing.T) {
	s := report.Summarize(seeds(20))
	require.False(t, s.OK)
	require.Equal(t, 20, s.Seeds)
	require.Equal(t, report.Spread{Unit: check.Millis, Runs: 20, Min: 10, P50: 100, P99: 200, Max: 200, MinSeed: 1, MaxSeed: 20}, s.Metrics["reroute_p99"])
	require.Equal(t, report.Spread{Unit: check.Count, Runs: 20, Max: 2, P99: 2, MinSeed: 1, MaxSeed: 3}, s.Metrics["lost"])
	require.Equal(t, report.Spread{Unit: check.Millis, Runs: 1, Min: 1234, P50: 1234, P99: 1234, Max: 1234, MinSeed: 3, MaxSeed: 3}, s.Metrics["detection_max"])
	require.Equal(t, 120, s.Outcomes["reply"])
	require.Equal(t, []report.Failure{{
		Seed: 3, Replay: "arke sim run member-crash --seed 3",
		Reasons: []string{"once: request 5 was handled twice (and one more)", "assert lost == 0: 2"},
	}}, s.Failed)
	require.Equal(t, uint64(1), s.Runs[0].Seed)
	require.InDelta(t, 1400, s.VirtualSeconds, 0.001)
}

// TestSummaryHasTheDocumentedFields proves that the JSON keeps its names.
func TestSummaryHasTheDocumentedFields(t *testing.T) {
	requireGolden(t, "summary.json", report.Summarize(seeds(3)).WriteJSON)
}

// TestSummaryOfNothingIsOK proves that where nothing ran nothing failed.
func TestSummaryOfNothingIsOK(t *testing.T) {
	require.True(t, report.Summarize(nil).OK)
}
