// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/arke-mesh/arke/bench/driver"
)

// Metric is a figure of a sample.
type Metric string

// The metrics. Rates are better when larger, all others when smaller.
const (
	Rate Metric = "rate"
	CPU  Metric = "CPU"
	P50  Metric = "p50"
	P99  Metric = "p99"
	P999 Metric = "p99.9"
)

func (m Metric) of(s driver.Sample) (float64, bool) {
	switch m {
	case Rate:
		return s.Rate, true
	case CPU:
		return s.CPU, true
	}
	q, h := quantiles[m], s.Histogram()
	if h == nil || !told(h, q) {
		return 0, false
	}
	return float64(h.ValueAtQuantile(q)), true
}

var quantiles = map[Metric]float64{P50: 50, P99: 99, P999: 99.9}

// leastBeyond is how many samples must be beyond a percentile that is told.
const leastBeyond = 10

// Bar is what Arke is to reach beside a reference.
type Bar struct {
	Work   string // what the table says
	Metric Metric
	// The systems, and the workloads they are compared on; Against is the
	// reference's if it is another one.
	System, Workload   string
	Reference, Against string
	AtLeast, AtMost    float64 // the ratio of the metrics; the one that is not 0
}

// Bars returns the bars that Arke is held to, of those that this benchmark
// measures.
func Bars() []Bar {
	least := func(work string, m Metric, system, workload, reference string, ratio float64) Bar {
		return Bar{Work: work, Metric: m, System: system, Workload: workload, Reference: reference, Against: workload, AtLeast: ratio}
	}
	most := func(work string, m Metric, system, workload, reference string, ratio float64) Bar {
		return Bar{Work: work, Metric: m, System: system, Workload: workload, Reference: reference, Against: workload, AtMost: ratio}
	}
	nodes := most("25 nodes in one process beside one with 25 times the load, 20,000/s", P999, "arke", "open-25", "arke", 1.0)
	nodes.Against = "open-20k"
	return []Bar{
		least("topic 1→1, 1 KB, embedded", Rate, "arke", "1to1-1k", "nats", 1.5),
		least("topic 1→1, 1 KB, embedded", Rate, "arke", "1to1-1k", "nats-tls", 2.5),
		least("topic 1→1, 16 B, embedded", Rate, "arke", "1to1-16", "nats", 2),
		least("topic 1→4, 128 B, embedded", Rate, "arke", "1to4", "nats", 1.5),
		least("topic 4→4, 128 B, embedded", Rate, "arke", "4to4", "nats", 1.5),
		least("topic 1→1, 1 KB, two relays", Rate, "arke-2relays", "1to1-1k", "nats-2", 1.2),
		least("topic 1→4, 128 B, two relays", Rate, "arke-2relays", "1to4", "nats-2", 1.0),
		least("topic 4→4, 128 B, two relays", Rate, "arke-2relays", "4to4", "nats-2", 1.0),
		least("topic 1→1, 1 KB, embedded", Rate, "arke", "1to1-1k", "tls", 0.7),
		least("tunnel 1 KB, embedded", Rate, "arke-tunnel", "1to1-1k", "tls", 0.8),
		least("tunnel 64 KB, two relays", Rate, "arke-tunnel-2relays", "1to1-64k", "libp2p", 0.8),
		most("request 1 KB, one in flight, embedded", P50, "arke", "closed-1", "libp2p", 1.1),
		most("request 1 KB, one in flight, two relays", P50, "arke-2relays", "closed-1", "nats", 1.0),
		most("request 1 KB, one in flight, two relays", P99, "arke-2relays", "closed-1", "nats", 1.0),
		least("requests, 64 in flight, embedded", Rate, "arke", "closed-64", "nats", 1.3),
		least("requests, 64 in flight, embedded", Rate, "arke", "closed-64", "tls", 0.85),
		least("requests, 64 in flight, two relays", Rate, "arke-2relays", "closed-64", "nats-2", 1.2),
		most("open loop, 25 connections at half the slower's capacity, two relays", P999, "arke-2relays", "open-25-half", "nats-2", 1.0),
		least("capacity over 25 connections, two relays", Rate, "arke-2relays", "capacity-25", "nats-2", 1.0),
		most("CPU per message, topic 1 KB, embedded", CPU, "arke", "1to1-1k", "nats", 0.8),
		most("CPU per message, topic 1 KB, embedded", CPU, "arke", "1to1-1k", "tls", 1.5),
		most("one slow member of five, one handler each", P99, "arke", "balance-1", "nats", 0.5),
		most("one slow member of five, 64 handlers each", P99, "arke", "balance-64", "nats", 0.5),
		nodes,
		least("PostgreSQL through four processes, pgbench's TPC-B", Rate, "arke-forward", "pgbench", "direct", 0.5),
	}
}

// Verdict is a bar with what was measured.
type Verdict struct {
	Bar
	Rounds              int
	Median, Least, Most float64 // of the ratios of the rounds
}

// Met says whether the median is on the right side.
func (v Verdict) Met() bool {
	if v.AtLeast > 0 {
		return v.Median >= v.AtLeast
	}
	return v.Median <= v.AtMost
}

// Judge compares round by round; a percentile for which no round has samples enough,
// all rounds together. It is false if there is nothing to compare.
func Judge(b Bar, samples []driver.Sample) (Verdict, bool) {
	type key struct {
		system, workload string
		round            int
	}
	values := map[key]float64{}
	rounds := 0
	for _, s := range samples {
		if value, ok := b.Metric.of(s); ok && s.Failed == "" {
			values[key{s.System, s.Workload, s.Round}] = value
		}
		rounds = max(rounds, s.Round+1)
	}
	var ratios []float64
	for round := range rounds {
		ours, ok := values[key{b.System, b.Workload, round}]
		theirs, also := values[key{b.Reference, b.Against, round}]
		if ok && also && theirs > 0 {
			ratios = append(ratios, ours/theirs)
		}
	}
	if ratio, ok := b.together(samples); ok && len(ratios) == 0 {
		ratios = append(ratios, ratio)
	}
	if len(ratios) == 0 {
		return Verdict{Bar: b}, false
	}
	v := Verdict{Bar: b, Rounds: len(ratios)}
	v.Median, v.Least, v.Most = spread(ratios)
	return v, true
}

// together is the ratio of a percentile of all rounds.
func (b Bar) together(samples []driver.Sample) (ratio float64, ok bool) {
	q := quantiles[b.Metric]
	value := func(system, workload string) float64 {
		h := merged(only(samples, func(s driver.Sample) bool {
			return s.System == system && s.Workload == workload && s.Failed == ""
		}))
		if q == 0 || h == nil || !told(h, q) {
			return 0
		}
		return float64(h.ValueAtQuantile(q))
	}
	ours, theirs := value(b.System, b.Workload), value(b.Reference, b.Against)
	if ours == 0 || theirs == 0 {
		return 0, false
	}
	return ours / theirs, true
}

// spread returns the median, the least and the most.
func spread(values []float64) (median, least, most float64) {
	if len(values) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[0], sorted[n-1]
}

// limit is the bar as it is written.
func (b Bar) limit() string {
	if b.AtLeast > 0 {
		return fmt.Sprintf("≥ %.4g", b.AtLeast)
	}
	return fmt.Sprintf("≤ %.4g", b.AtMost)
}

// reference is who the bar compares with, and at what if that is other work.
func (b Bar) reference() string {
	if b.Against != b.Workload {
		return b.Reference + " (" + b.Against + ")"
	}
	return b.Reference
}
