// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/arke-mesh/arke/sim/history"

// checkAccepted: a push that was accepted is handled, once as checkOnce says,
// and to the end, unless the node that had it was lost. Draining does not lose
// it.
func checkAccepted(f *facts, _ *viewMeasures, d *docket) {
	for i := range f.h.Requests {
		r := &f.h.Requests[i]
		if r.Kind != "push" || r.Outcome != "accepted" {
			continue
		}
		if len(f.runs[i]) == 0 {
			if !f.lostPush(r) {
				d.add(r.Ended, "push %d of %s to %s was accepted by %s and never handled", r.ID, r.Caller, r.Cluster, f.seat(r.Member))
			}
			continue
		}
		for _, n := range f.runs[i] {
			if run := &f.h.Runs[n]; run.Ended < 0 && !f.lostNode(run.Tenure, run.Began) {
				d.add(run.Began, "push %d of %s to %s was begun on %s and never finished",
					r.ID, r.Caller, r.Cluster, f.h.Tenures[run.Tenure].Node)
			}
		}
	}
}

// lostPush says whether a push may have been lost with its member's node. If
// nobody knows which one that was, any of the cluster will do.
func (f *facts) lostPush(r *history.Request) bool {
	if tenure, ok := f.named[r.Member]; ok {
		return f.lostNode(tenure, r.Sent)
	}
	for _, tenure := range f.tenures[r.Cluster] {
		if f.lostNode(tenure, r.Sent) {
			return true
		}
	}
	return false
}

// seat is the node of a member, or its id if it has none.
func (f *facts) seat(member string) string {
	if tenure, ok := f.named[member]; ok {
		return f.h.Tenures[tenure].Node
	}
	return "member " + member
}
