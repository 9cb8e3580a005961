// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/arke-mesh/arke/bench/driver"
)

// TreesTable compares this tree of Arke with others, round by round: figures
// above 1 are more of that metric in this tree.
func TreesTable(w io.Writer, samples []driver.Sample) {
	printed := false
	for _, work := range names(samples, func(s driver.Sample) string { return s.Workload }) {
		for _, label := range names(samples, func(s driver.Sample) string { return s.System }) {
			name, tree, ok := strings.Cut(label, "@")
			if !ok {
				continue
			}
			var cells strings.Builder
			compared := false
			for _, m := range []Metric{Rate, CPU, P50, P99} {
				v, ok := Judge(Bar{Metric: m, System: name, Workload: work, Reference: label, Against: work}, samples)
				if !ok {
					cells.WriteString(" – |")
					continue
				}
				compared = true
				fmt.Fprintf(&cells, " %.2f (%.2f–%.2f) |", v.Median, v.Least, v.Most)
			}
			if !compared {
				continue
			}
			if !printed {
				printed = true
				fmt.Fprint(w, "\n## This tree beside others\n\nThe ratio of each round, this tree's to the other's: median (min–max).\n\n")
				fmt.Fprintln(w, "| system | workload | beside | rate | CPU per message | p50 | p99 |\n|---|---|---|---|---|---|---|")
			}
			fmt.Fprintf(w, "| %s | %s | %s |%s\n", name, work, tree, cells.String())
		}
	}
}
