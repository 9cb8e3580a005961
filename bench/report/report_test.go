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

func TestAPercentileOfFewSamplesIsThatOfAllRounds(t *testing.T) {
	// This test checks that a bar whose rounds are too short each is judged by all of
	// them together, and not at all if those are too few.
	b := Bar{Metric: P99, System: "a", Workload: "w", Reference: "b", Against: "w", AtMost: 1}
	sample := func(system string, round int, nanoseconds int64) driver.Sample {
		h := hdrhistogram.New(1, 1e9, 3)
		for range 600 {
			require.NoError(t, h.RecordValue(nanoseconds))
		}
		latency, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		require.NoError(t, err)
		return driver.Sample{System: system, Workload: "w", Round: round, Latency: latency}
	}
	samples := []driver.Sample{sample("a", 0, 100), sample("b", 0, 200)}
	_, ok := Judge(b, samples)
	require.False(t, ok)
	v, ok := Judge(b, append(samples, sample("a", 1, 100), sample("b", 1, 200)))
	require.True(t, ok)
	require.Equal(t, Verdict{Bar: b, Rounds: 1, Median: 0.5, Least: 0.5, Most: 0.5}, v)
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
		Command: "bin/bench -rounds 1",
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
		"Made by `bin/bench -rounds 1`", "4 lost (4 told) of 10", "| mangos | failed: ended |", "skipped: no cargo", "4952 µs", "1to1-1k.svg",
	} {
		require.Contains(t, string(text), want)
	}
	require.False(t, strings.Contains(string(text), "NaN"))
	again, err := Read(filepath.Join(dir, "results.json"))
	require.NoError(t, err)
	require.Equal(t, r.Samples, again.Samples)
}

func TestTheFirstTableSaysWhoIsFaster(t *testing.T) {
	// This test checks that limits are no peers, that more a second and less time
	// are both better, and that what is behind is said as plainly as what is ahead.
	latency := func(least int64) []byte {
		h := hdrhistogram.New(1, 1e9, 3)
		for i := range int64(5000) {
			require.NoError(t, h.RecordValue(least+i))
		}
		raw, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		require.NoError(t, err)
		return raw
	}
	var b strings.Builder
	Glance(&b, []driver.Sample{
		{System: "arke", Workload: "1to1-1k", Rate: 3e5},
		{System: "nats", Workload: "1to1-1k", Rate: 2e5},
		{System: "zeromq", Workload: "1to1-1k", Rate: 6e5},
		{System: "tls", Workload: "1to1-1k", Rate: 9e6},
		{System: "chain-2", Workload: "1to1-1k", Rate: 9e6},
		{System: "arke-2relays", Workload: "1to1-1k", Rate: 1e5, Expected: 10, Lost: 2, Told: 2},
		{System: "nats-2", Workload: "1to1-1k", Rate: 2e5, Expected: 10, Lost: 3},
		{System: "arke", Workload: "open-1k", Latency: latency(1e6)},
		{System: "nats", Workload: "open-1k", Latency: latency(2e6)},
		{System: "arke-forward", Workload: "pgbench", Rate: 800},
		{System: "direct", Workload: "pgbench", Rate: 2000},
	})
	for _, want := range []string{
		"| topic, 1 → 1, 1 KB | 300 k/s | **1.50 ×** (200 k/s) | zeromq: 0.50 × (600 k/s) | 100 k/s | 0.50 × (200 k/s) |",
		"| open loop, 1 KB at 3,000/s: p99 | 1005 µs | **1.99 ×** (2005 µs) | nats: **1.99 ×** (2005 µs) | – | – |",
		"direct: 0.40 × (2.0 k/s)",
		"Embedded, beside NATS with one server, Arke is ahead in 2 of 2: 1to1-1k (1.50 × nats), open-1k (1.99 × nats). **Behind: nothing.**",
		"Through two relays, beside NATS with two servers, Arke is ahead in 0 of 1: nothing. **Behind: 1to1-1k (0.50 × nats-2).**",
		"Lost messages and said each one: arke-2relays (2 of 10).", "Lost messages and did not say so: nats-2 (3 of 10, 0 told).",
	} {
		require.Contains(t, b.String(), want)
	}
}

func TestResultsOfSeveralRunsAreOne(t *testing.T) {
	// This test checks that a second file adds what the first one lacks, and nothing
	// to what that has.
	first := Results{Samples: []driver.Sample{{System: "nats", Workload: "1to1-1k", Rate: 1}, {System: "arke", Workload: "1to4", Rate: 2}}}
	second := Results{Samples: []driver.Sample{
		{System: "nats", Workload: "1to1-1k", Rate: 3}, {System: "mangos", Workload: "1to1-1k", Rate: 4}, {System: "arke", Workload: "1to1-1k", Rate: 5},
	}, Systems: []System{{Name: "mangos"}}}
	var got []float64
	all := first.With(second)
	for _, s := range all.Samples {
		got = append(got, s.Rate)
	}
	require.Equal(t, []float64{5, 1, 4, 2}, got)
	require.Equal(t, []System{{Name: "mangos"}}, all.Systems)
}
