// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/arke-mesh/arke/sim/check"
)

// Summary is one scenario over several seeds.
type Summary struct {
	Schema   int               `json:"schema"`
	Name     string            `json:"name"`
	Level    string            `json:"level"`
	Commit   string            `json:"commit"`
	OK       bool              `json:"ok"` // every run is
	Seeds    int               `json:"seeds"`
	Failed   []Failure         `json:"failed"`   // the runs that are not ok, by seed
	Outcomes map[string]int    `json:"outcomes"` // of all runs
	Metrics  map[string]Spread `json:"metrics"`
	Runs     []Brief           `json:"runs"` // by seed

	VirtualSeconds float64 `json:"virtual_seconds"` // all runs together
	RealSeconds    float64 `json:"real_seconds"`
}

// Failure is a run that is not ok, and why.
type Failure struct {
	Seed    uint64   `json:"seed"`
	Reasons []string `json:"reasons"`
	Replay  string   `json:"replay"`
}

// Spread is how a metric came out in several runs. Percentiles are real values,
// by nearest rank.
type Spread struct {
	Unit    check.Unit `json:"unit"`
	Runs    int        `json:"runs"` // that have the metric
	Min     float64    `json:"min"`
	P50     float64    `json:"p50"`
	P99     float64    `json:"p99"`
	Max     float64    `json:"max"`
	MinSeed uint64     `json:"min_seed"` // the first seed that has Min
	MaxSeed uint64     `json:"max_seed"` // the first seed that has Max
}

// Brief is one run of several.
type Brief struct {
	Seed        uint64  `json:"seed"`
	OK          bool    `json:"ok"`
	TraceHash   string  `json:"trace_hash"`
	Requests    int     `json:"requests"`
	RealSeconds float64 `json:"real_seconds"`
}

// Summarize sums up the reports of one scenario, one for each seed. It keeps
// none of them.
func Summarize(reports []*Report) *Summary {
	s := &Summary{Schema: Schema, OK: true, Seeds: len(reports), Outcomes: map[string]int{}, Metrics: map[string]Spread{}, Failed: []Failure{}, Runs: []Brief{}}
	sorted := slices.SortedFunc(slices.Values(reports), func(a, b *Report) int { return cmp.Compare(a.Seed, b.Seed) })
	values := map[string][]reading{}
	for _, r := range sorted {
		s.Name, s.Level, s.Commit = r.Name, r.Level, r.Commit
		s.VirtualSeconds += r.VirtualSeconds
		s.RealSeconds += r.RealSeconds
		s.Runs = append(s.Runs, Brief{Seed: r.Seed, OK: r.OK, TraceHash: r.TraceHash, Requests: r.Requests, RealSeconds: r.RealSeconds})
		if !r.OK {
			s.OK = false
			s.Failed = append(s.Failed, Failure{Seed: r.Seed, Reasons: reasons(r), Replay: r.Replay})
		}
		for name, n := range r.Outcomes {
			s.Outcomes[name] += n
		}
		for name, m := range r.Metrics {
			values[name] = append(values[name], reading{m.Value, r.Seed, m.Unit})
		}
	}
	s.VirtualSeconds, s.RealSeconds = rounded(s.VirtualSeconds, 1e6), rounded(s.RealSeconds, 1e6)
	for name, v := range values {
		s.Metrics[name] = spread(v)
	}
	return s
}

// WriteJSON writes the summary as one line of JSON.
func (s *Summary) WriteJSON(w io.Writer) error {
	return writeJSON(w, s)
}

// reading is a metric of one run.
type reading struct {
	value float64
	seed  uint64
	unit  check.Unit
}

// spread sums up readings, which it sorts.
func spread(all []reading) Spread {
	slices.SortFunc(all, func(a, b reading) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.seed, b.seed))
	})
	last := slices.IndexFunc(all, func(r reading) bool { return r.value == all[len(all)-1].value })
	return Spread{
		Unit: all[0].unit, Runs: len(all), Min: all[0].value, MinSeed: all[0].seed,
		P50: check.Rank(all, 500).value, P99: check.Rank(all, 990).value, Max: all[last].value, MaxSeed: all[last].seed,
	}
}

// reasons are why a run is not ok, in the order of their weight.
func reasons(r *Report) []string {
	var all []string
	if r.Error != "" {
		all = append(all, r.Error)
	}
	count := map[string]int{}
	first := map[string]string{}
	for _, v := range r.Violations {
		if count[v.Checker]++; count[v.Checker] == 1 {
			first[v.Checker] = v.Text
		}
	}
	for _, checker := range slices.Sorted(maps.Keys(count)) {
		all = append(all, checker+": "+first[checker]+more(count[checker]-1))
	}
	for _, a := range r.Assertions {
		if !a.OK {
			all = append(all, a.Kind+" "+a.Text+": "+cmp.Or(a.Value, a.Reason, "no value"))
		}
	}
	return all
}

// metricOrder sorts the names of metrics in the order in which package check lists
// them, unknown ones last.
func metricOrder(names []string) []string {
	place := map[string]int{}
	for i, m := range check.Metrics() {
		place[m.Name] = i + 1
	}
	slices.SortFunc(names, func(a, b string) int {
		pa, pb := place[base(a)], place[base(b)]
		switch {
		case pa != 0 && pb != 0:
			return cmp.Or(pa-pb, natural(a, b))
		case pa != pb:
			return pb - pa // the one that is known first
		}
		return natural(a, b)
	})
	return names
}

// base is a metric's name without the workload that it may be restricted to,
// as in "lost{steady}".
func base(metric string) string {
	name, _, _ := strings.Cut(metric, "{")
	return name
}

// inUnit writes a metric for people.
func inUnit(v float64, unit check.Unit) string {
	switch unit {
	case check.Millis:
		return inMillis(v)
	case check.Bytes:
		return size(v)
	case check.BytesSec:
		return size(v) + "/s"
	case check.Percent:
		return fmt.Sprintf("%.4g %%", v)
	case check.Count:
		return grouped(int(v))
	}
	return fmt.Sprintf("%.4g", v)
}

func byCount(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
}

func more(n int) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return " (and one more)"
	}
	return fmt.Sprintf(" (and %d more)", n)
}
