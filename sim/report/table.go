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
	"text/tabwriter"

	"github.com/arke-mesh/arke/sim/check"
)

// WriteText writes the summary as a table for people: the metrics in check's
// order, then the runs that failed.
func (s *Summary) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s, level %s: %d of %d seeds passed, %.0f virtual s in %.1f s\n\n",
		s.Name, s.Level, s.Seeds-len(s.Failed), s.Seeds, s.VirtualSeconds, s.RealSeconds)
	fmt.Fprintf(w, "outcomes: %s\n\n", tallyText(s.Outcomes))
	names := s.order()
	first := len("metric")
	for _, name := range names {
		first = max(first, len(name))
	}
	fmt.Fprintf(t, "%-*s\tmin\tp50\tp99\tmax\truns\tseed of max\t\n", first, "metric")
	for _, name := range names {
		m := s.Metrics[name]
		fmt.Fprintf(t, "%-*s\t%s\t%s\t%s\t%s\t%d\t%d\t\n", first, name,
			inUnit(m.Min, m.Unit), inUnit(m.P50, m.Unit), inUnit(m.P99, m.Unit), inUnit(m.Max, m.Unit), m.Runs, m.MaxSeed)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range s.Failed {
		fmt.Fprintf(&b, "\nseed %d failed: %s\n", f.Seed, strings.Join(f.Reasons, "\n  "))
		fmt.Fprintf(&b, "  again: %s\n", f.Replay)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// order returns the names of the metrics, in the order in which package check
// lists them, unknown ones last.
func (s *Summary) order() []string {
	return metricOrder(slices.Collect(maps.Keys(s.Metrics)))
}

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

// tallyText writes counts, the largest first.
func tallyText(counts map[string]int) string {
	var all []string
	for _, name := range byCount(counts) {
		all = append(all, grouped(counts[name])+" "+name)
	}
	if len(all) == 0 {
		return "no requests"
	}
	return strings.Join(all, ", ")
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
