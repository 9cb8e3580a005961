// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/bench/driver"
	"github.com/arke-mesh/arke/bench/system"
)

func TestBarsAreJudgedRoundByRound(t *testing.T) {
	// This test checks that a ratio is that of one round, that the median is
	// held to the bar, and that rounds which lack a system don't count.
	var samples []driver.Sample
	rate := func(system string, round int, rate float64) {
		samples = append(samples, driver.Sample{System: system, Workload: "w", Round: round, Rate: rate})
	}
	for round, pair := range [][2]float64{{10, 10}, {40, 20}, {3, 1}} {
		rate("a", round, pair[0])
		rate("b", round, pair[1])
	}
	rate("a", 3, 100)
	b := Bar{Metric: Rate, System: "a", Workload: "w", Reference: "b", Against: "w", AtLeast: 2}
	v, ok := Judge(b, samples)
	require.True(t, ok)
	require.Equal(t, Verdict{Bar: b, Rounds: 3, Median: 2, Least: 1, Most: 3}, v)
	require.True(t, v.Met())
	v.AtLeast, v.AtMost = 0, 1.9
	require.False(t, v.Met())
	_, ok = Judge(Bar{Metric: P50, System: "a", Workload: "w", Reference: "b", Against: "w"}, samples)
	require.False(t, ok, "topics have no latency")
}

func TestBarsNameWhatThereIs(t *testing.T) {
	// This test checks that systems and workloads of the bars exist, and that
	// the systems can do the work.
	for _, b := range Bars() {
		for _, pair := range [][2]string{{b.System, b.Workload}, {b.Reference, b.Against}} {
			s, err := system.Find(pair[0])
			require.NoError(t, err)
			w, ok := driver.FindWorkload(pair[1])
			require.True(t, ok, pair[1])
			require.True(t, w.Suits(s), "%s does %s", pair[0], pair[1])
		}
	}
}

func TestResultsAreWritten(t *testing.T) {
	// This test checks that tables and plots are made of any samples: rates,
	// latencies, failures, few samples and none.
	h := hdrhistogram.New(1, 1e9, 3)
	for i := range int64(5000) {
		require.NoError(t, h.RecordValue(i*1000))
	}
	latency, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	require.NoError(t, err)
	r := Results{
		Systems: []System{{Name: "arke", Version: "1"}, {Name: "zenoh", Skipped: "no cargo"}},
		Samples: []driver.Sample{
			{System: "arke", Workload: "1to1-1k", Rate: 2e5, CPU: 3, Lost: 4, Told: 4, Expected: 10},
			{System: "nats", Workload: "1to1-1k", Rate: 1e5, CPU: 6},
			{System: "mangos", Workload: "1to1-1k", Failed: "ended"},
			{System: "arke", Workload: "closed-1", Rate: 5000, Latency: latency},
		},
	}
	dir := t.TempDir()
	require.NoError(t, Write(dir, r))
	text, err := os.ReadFile(filepath.Join(dir, "results.md"))
	require.NoError(t, err)
	for _, want := range []string{
		"| topic 1→1, 1 KB, embedded | rate | arke / nats | ≥ 1.5 | 2.00 (2.00–2.00) | yes |",
		"4 lost (4 told) of 10", "| mangos | failed: ended |", "skipped: no cargo", "4952 µs", "1to1-1k.svg",
	} {
		require.Contains(t, string(text), want)
	}
	require.False(t, strings.Contains(string(text), "NaN"))
	again, err := Read(filepath.Join(dir, "results.json"))
	require.NoError(t, err)
	require.Equal(t, r.Samples, again.Samples)
}
