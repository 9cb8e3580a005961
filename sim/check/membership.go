// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// checkMember: whoever handles a request serves its cluster then, and holds the
// caller's keys.
func checkMember(f *facts, _ *viewMeasures, d *docket) {
	for i, runs := range f.runs {
		r := &f.h.Requests[i]
		caller := f.life(r.Caller, r.Sent)
		for _, n := range runs {
			run := &f.h.Runs[n]
			t := &f.h.Tenures[run.Tenure]
			switch {
			case t.Cluster != r.Cluster:
				d.add(run.Began, "request %d of %s to %s was handled by a member of %s on %s",
					r.ID, r.Caller, r.Cluster, t.Cluster, t.Node)
			case !serves(t, run.Began, f.rules.Member):
				d.add(run.Began, "request %d of %s to %s was handled on %s, which was no member then",
					r.ID, r.Caller, r.Cluster, t.Node)
			case caller >= 0 && f.life(t.Node, t.Asked) >= 0 && !f.known(caller, run.Tenure):
				d.add(run.Began, "request %d of %s to %s was handled on %s, which holds other keys",
					r.ID, r.Caller, r.Cluster, t.Node)
			}
		}
	}
}

// serves says whether requests may reach the member at that time.
func serves(t *history.Tenure, at, tolerance time.Duration) bool {
	return plus(at, tolerance) >= t.Asked && (t.Until < 0 || minus(at, tolerance) <= t.Until)
}
