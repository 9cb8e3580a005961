// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/report"
)

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

// TestSummaryIsATableForPeople proves the text, which names the seeds that
// failed and how to run them again.
func TestSummaryIsATableForPeople(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, report.Summarize(seeds(5)).WriteText(&b))
	requireGolden(t, "summary.txt", b.Bytes())
}

// TestSummaryHasTheDocumentedFields proves that the JSON keeps its names.
func TestSummaryHasTheDocumentedFields(t *testing.T) {
	var b, pretty bytes.Buffer
	require.NoError(t, report.Summarize(seeds(3)).WriteJSON(&b))
	require.NoError(t, json.Indent(&pretty, b.Bytes(), "", "  "))
	requireGolden(t, "summary.json", pretty.Bytes())
}

// TestSummaryOfNothingIsOK proves that no runs make an empty table.
func TestSummaryOfNothingIsOK(t *testing.T) {
	var b bytes.Buffer
	s := report.Summarize(nil)
	require.True(t, s.OK)
	require.NoError(t, s.WriteText(&b))
}
