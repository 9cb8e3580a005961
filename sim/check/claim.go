// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/arke-mesh/arke/sim/history"

// checkClaim: no handler ran if the outcome says so. Callers whose own node was
// hit got their outcome from their own end, which knows nothing.
func checkClaim(q *requests, d *docket) {
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if r.Lost || len(q.runs[i]) == 0 || !claimsNoRun(r) {
			continue
		}
		run := &q.h.Runs[q.runs[i][0]]
		d.add(max(r.Ended, run.Began), "request %d of %s to %s ended (%s), which says that no handler ran; one did on %s at %v",
			r.ID, r.Caller, r.Cluster, r.Outcome, q.h.Tenures[run.Tenure].Node, run.Began)
	}
}

func claimsNoRun(r *history.Request) bool {
	switch r.Outcome {
	case "no_members", "overloaded", "unreachable", "unauthorized", "too_large", "closed":
		return true
	case "deadline", "cancelled":
		return !r.MaybeRan
	default:
		return false
	}
}
