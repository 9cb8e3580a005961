// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "time"

// strained is the tolerance of Rules.Begin where link time can't be measured
// well.
const strained = 2 * time.Second

// checkExpired: no handler begins after its request's deadline, which the
// member knows in link time.
func checkExpired(f *facts, _ *viewMeasures, d *docket) {
	for i, runs := range f.runs {
		r := &f.h.Requests[i]
		for _, n := range runs {
			run := &f.h.Runs[n]
			if run.Began <= plus(r.Deadline, f.rules.Begin) {
				continue
			}
			node := f.h.Tenures[run.Tenure].Node
			s := span{r.Sent, run.Began}
			if f.calm.pair(r.Caller, node, s) || f.skewed(r.Caller, s) || f.skewed(node, s) {
				if run.Began <= plus(r.Deadline, max(f.rules.Begin, strained)) {
					continue
				}
			}
			d.add(run.Began, "request %d of %s to %s was begun on %s %v after its deadline",
				r.ID, r.Caller, r.Cluster, node, minus(run.Began, r.Deadline))
		}
	}
}
