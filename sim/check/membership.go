// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// checkMember: whoever handles a request serves its cluster then, and holds the
// caller's keys.
func checkMember(q *requests, d *docket) {
	for i, runs := range q.runs {
		r := &q.h.Requests[i]
		caller := q.lives.at(r.Caller, r.Sent)
		for _, n := range runs {
			run := &q.h.Runs[n]
			t := &q.h.Tenures[run.Tenure]
			switch {
			case t.Cluster != r.Cluster:
				d.add(run.Began, "request %d of %s to %s was handled by a member of %s on %s",
					r.ID, r.Caller, r.Cluster, t.Cluster, t.Node)
			case !serves(t, run.Began, q.rules.Member):
				d.add(run.Began, "request %d of %s to %s was handled on %s, which was no member then",
					r.ID, r.Caller, r.Cluster, t.Node)
			case caller >= 0 && q.lives.at(t.Node, t.Asked) >= 0 && !q.members.known(caller, run.Tenure):
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
