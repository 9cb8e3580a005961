// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/arke-mesh/arke/sim/history"

// checkAccepted: a push that was accepted is handled, once as checkOnce says,
// and to the end, unless the node that had it was lost. Draining does not lose
// it.
func checkAccepted(q *requests, d *docket) {
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if r.Kind != "push" || r.Outcome != "accepted" {
			continue
		}
		if len(q.runs[i]) == 0 {
			if !lostPush(q, r) {
				d.add(r.Ended, "push %d of %s to %s was accepted by %s and never handled", r.ID, r.Caller, r.Cluster, q.members.seat(r.Member))
			}
			continue
		}
		for _, n := range q.runs[i] {
			if run := &q.h.Runs[n]; run.Ended < 0 && !q.members.lostNode(run.Tenure, run.Began) {
				d.add(run.Began, "push %d of %s to %s was begun on %s and never finished",
					r.ID, r.Caller, r.Cluster, q.h.Tenures[run.Tenure].Node)
			}
		}
	}
}

// lostPush says whether a push may have been lost with its member's node. If
// nobody knows which one that was, any of the cluster will do.
func lostPush(q *requests, r *history.Request) bool {
	if tenure, ok := q.members.named[r.Member]; ok {
		return q.members.lostNode(tenure, r.Sent)
	}
	for _, tenure := range q.members.of[r.Cluster] {
		if q.members.lostNode(tenure, r.Sent) {
			return true
		}
	}
	return false
}
