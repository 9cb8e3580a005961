// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"slices"
	"strings"
)

// Entry is one thing that can be read off a relay or node.
type Entry struct {
	// Name is the path in `arke status --json`, or for what was dropped the reason
	// as it is counted, like "request.queue_bytes". Empty if only /metrics has it.
	Name string
	// Metric is the name in /metrics. Empty if it is not there.
	Metric string
	// Means is one sentence or two.
	Means string
}

// Drop says whether the entry is a reason of arke_dropped_total.
func (e Entry) Drop() bool { return e.Metric == Dropped && e.Name != "" }

// Dropped is the metric of everything that is counted by reason.
const Dropped = "arke_dropped_total"

// All returns the table, in the order in which it is shown.
func All() []Entry { return slices.Concat(metrics(), fields(), drops()) }

// Help is what /metrics says about a metric. It panics for one without an entry,
// which is a bug.
func Help(metric string) string {
	for _, e := range metrics() {
		if e.Metric == metric {
			return e.Means
		}
	}
	panic("BUG: no meaning of " + metric)
}

// Find returns the entries of that name: a metric, a field, a reason, or the last
// part of one of them.
func Find(name string) (found []Entry) {
	for _, e := range All() {
		if name == e.Metric && !e.Drop() || name == e.Name {
			found = append(found, e)
		}
	}
	if len(found) > 0 {
		return found
	}
	for _, e := range All() {
		if strings.HasSuffix(e.Name, "."+name) {
			found = append(found, e)
		}
	}
	return found
}

// Names are all that Find knows.
func Names() (names []string) {
	for _, e := range All() {
		if e.Metric != "" && !e.Drop() {
			names = append(names, e.Metric)
		}
		if e.Name != "" {
			names = append(names, e.Name)
		}
	}
	return names
}

// Page returns the table as a page of Markdown.
func Page() string {
	var b strings.Builder
	b.WriteString(head)
	section := func(title, first string, all []Entry, name func(Entry) string) {
		fmt.Fprintf(&b, "\n## %s\n\n| %s | meaning |\n|---|---|\n", title, first)
		for _, e := range all {
			fmt.Fprintf(&b, "| `%s` | %s |\n", name(e), e.Means)
		}
	}
	section("Metrics", "metric", metrics(), func(e Entry) string { return e.Metric })
	section("Fields of the status", "field", fields(), func(e Entry) string { return e.Name })
	section("What was dropped or refused", "reason", drops(), func(e Entry) string { return e.Name })
	return b.String()
}

const head = `# What the numbers mean

This page is made from the table in ` + "`internal/meaning`" + `; ` + "`arke status --explain NAME`" + `
says the same. Counters begin at 0 when the process starts.

A relay with ` + "`--admin ADDR`" + ` serves the metrics at ` + "`/metrics`" + `. An embedded node gives a
collector: see ` + "`node.Collector`" + `. The label ` + "`cluster`" + ` has at most 1,000 values; what is beyond
is counted together, with ` + "`cluster=\"other\"`" + ` and ` + "`kind=\"other\"`" + `. The label ` + "`kind`" + ` is
"service" for a cluster that programs serve, and "topic" for one that Arke keeps for the
subscribers of topics. Histograms have classic buckets (powers of two of a second) and, for
a Prometheus that asks for them, native ones (2^(1/4)).
`
