// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arke-mesh/arke/bench/driver"
)

// Table prints each workload with its systems: the median of the rounds, the
// least and the most.
func Table(w io.Writer, samples []driver.Sample) {
	for _, work := range names(samples, func(s driver.Sample) string { return s.Workload }) {
		of := only(samples, func(s driver.Sample) bool { return s.Workload == work })
		known, _ := driver.FindWorkload(work)
		fmt.Fprintf(w, "\n### %s: %s\n\n", work, known.About)
		if known.HalfOf != "" {
			fmt.Fprintf(w, "The rate is %.0f/s.\n\n", of[0].Offered)
		}
		requests := slices.ContainsFunc(of, func(s driver.Sample) bool { return len(s.Latency) > 0 })
		switch {
		case known.Database != nil:
			fmt.Fprintln(w, "| system | transactions/s (min–max) | CPU s per million (min–max) | peak RSS, MB | others' CPU | rounds | what went wrong |")
			fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
		case requests:
			fmt.Fprintln(w, "| system | replies/s (min–max) | p50 | p90 | p99 | p99.9 | p99.99 | CPU s per million | peak RSS, MB | others' CPU | rounds | what went wrong |")
			fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|---|")
		default:
			fmt.Fprintln(w, "| system | delivered/s (min–max) | MB/s | CPU s per million (min–max) | peak RSS, MB | others' CPU | rounds | lost, repeated, out of order |")
			fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
		}
		for _, name := range names(of, func(s driver.Sample) string { return s.System }) {
			row(w, known, name, only(of, func(s driver.Sample) bool { return s.System == name }), requests)
		}
	}
}

func row(w io.Writer, work driver.Workload, name string, all []driver.Sample, requests bool) {
	good := only(all, func(s driver.Sample) bool { return s.Failed == "" })
	if len(good) == 0 {
		fmt.Fprintf(w, "| %s | failed: %s |\n", name, strings.ReplaceAll(all[0].Failed, "\n", "; "))
		return
	}
	pick := func(f func(driver.Sample) float64) (median, least, most float64) {
		values := make([]float64, len(good))
		for i, s := range good {
			values[i] = f(s)
		}
		return spread(values)
	}
	rate, low, high := pick(func(s driver.Sample) float64 { return s.Rate })
	cpu, cpuLow, cpuHigh := pick(func(s driver.Sample) float64 { return s.CPU })
	peak, _, _ := pick(func(s driver.Sample) float64 { return float64(s.Peak) / 1e6 })
	others, _, most := pick(func(s driver.Sample) float64 { return 100 * s.Others })
	fmt.Fprintf(w, "| %s | %s (%s–%s) ", name, count(rate), count(low), count(high))
	switch {
	case requests:
		for _, q := range []float64{50, 90, 99, 99.9, 99.99} {
			fmt.Fprintf(w, "| %s ", quantile(good, q))
		}
		fmt.Fprintf(w, "| %.1f ", cpu)
	case work.Database != nil:
		fmt.Fprintf(w, "| %.0f (%.0f–%.0f) ", cpu, cpuLow, cpuHigh)
	default:
		fmt.Fprintf(w, "| %.0f | %.2f (%.2f–%.2f) ", rate*float64(work.Bytes)/1e6, cpu, cpuLow, cpuHigh)
	}
	fmt.Fprintf(w, "| %.0f | %.0f %% (≤ %.0f) | %d | %s |\n", peak, others, most, len(good), wrong(all))
}

// quantile is the median over the rounds of a percentile, if at least ten
// samples are beyond it in each, or else, with a star, that of all rounds
// together, if ten are beyond that.
func quantile(samples []driver.Sample, q float64) string {
	var values []float64
	for _, s := range samples {
		if h := s.Histogram(); h != nil && told(h, q) {
			values = append(values, float64(h.ValueAtQuantile(q)))
		}
	}
	if len(values) == len(samples) {
		median, _, _ := spread(values)
		return duration(median)
	}
	if all := merged(samples); all != nil && told(all, q) {
		return duration(float64(all.ValueAtQuantile(q))) + "*"
	}
	return "–"
}

// merged is the histogram of all rounds; nil if there is none.
func merged(samples []driver.Sample) *hdrhistogram.Histogram {
	var all *hdrhistogram.Histogram
	for _, s := range samples {
		h := s.Histogram()
		switch {
		case h == nil:
		case all == nil:
			all = h
		default:
			all.Merge(h)
		}
	}
	return all
}

// told says whether enough samples are beyond a percentile.
func told(h *hdrhistogram.Histogram, q float64) bool {
	return float64(h.TotalCount())*(100-q)/100 >= leastBeyond
}

func duration(nanoseconds float64) string {
	d := time.Duration(nanoseconds)
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.0f µs", nanoseconds/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", nanoseconds/1e6)
	}
	return fmt.Sprintf("%.2f s", nanoseconds/1e9)
}

// wrong sums up what did not go well in all rounds.
func wrong(samples []driver.Sample) string {
	sum := driver.Sample{Errors: map[string]uint64{}}
	var notes []string
	failed, noisy := 0, 0
	slow, replies := uint64(0), uint64(0)
	for _, s := range samples {
		sum.Expected += s.Expected
		sum.Lost += s.Lost
		sum.Told += s.Told
		sum.Duplicated += s.Duplicated
		sum.Disordered += s.Disordered
		sum.Damaged += s.Damaged
		sum.Stalls += s.Stalls
		sum.Behind += s.Behind
		for text, n := range s.Errors {
			sum.Errors[text] += n
		}
		if s.Failed != "" {
			failed++
		}
		if s.Noisy {
			noisy++
		}
		for i, n := range s.By {
			replies += n
			if i == 0 && len(s.By) > 1 {
				slow += n
			}
		}
	}
	if w := sum.Wrong(); w != "" {
		notes = append(notes, w)
	}
	if slow > 0 && replies > 0 {
		notes = append(notes, fmt.Sprintf("%.0f %% answered by the slow member", 100*float64(slow)/float64(replies)))
	}
	if failed > 0 {
		notes = append(notes, fmt.Sprintf("%d rounds failed", failed))
	}
	if noisy > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d rounds noisy", noisy, len(samples)))
	}
	if len(notes) == 0 {
		return "–"
	}
	return strings.Join(notes, "; ")
}

// BarsTable prints the bars with what was measured; with all also those that were
// not.
func BarsTable(w io.Writer, samples []driver.Sample, all bool) {
	var lines []string
	met, judged := 0, 0
	for _, b := range Bars() {
		v, ok := Judge(b, samples)
		said := "not measured | – |"
		if ok {
			judged++
			said = fmt.Sprintf("%.2f (%.2f–%.2f) | ", v.Median, v.Least, v.Most)
			if v.Met() {
				met++
				said += "yes |"
			} else {
				said += "**no** |"
			}
		}
		if ok || all {
			lines = append(lines, fmt.Sprintf("| %s | %s | %s / %s | %s | %s", b.Work, b.Metric, b.System, b.reference(), b.limit(), said))
		}
	}
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(w, "\n## Bars\n\nThe ratio of each round, Arke's to the reference's: median (min–max). %d of %d are met.\n\n", met, judged)
	fmt.Fprintln(w, "| work | metric | system / reference | bar | measured | met |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	fmt.Fprintln(w, strings.Join(lines, "\n"))
}

func count(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.2f M", n/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.0f k", n/1e3)
	case n >= 1e3:
		return fmt.Sprintf("%.1f k", n/1e3)
	}
	return fmt.Sprintf("%.0f", n)
}

// names returns what name says of the samples, each once, in their order.
func names(samples []driver.Sample, name func(driver.Sample) string) []string {
	var all []string
	for _, s := range samples {
		if n := name(s); !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

func only(samples []driver.Sample, keep func(driver.Sample) bool) []driver.Sample {
	var kept []driver.Sample
	for _, s := range samples {
		if keep(s) {
			kept = append(kept, s)
		}
	}
	return kept
}
