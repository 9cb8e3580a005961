// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/arke-mesh/arke/sim/history"

// checkBelongs: a reply is the one to its request: the player compares bodies,
// and here it must be that a handler began before the reply came, on the
// member that is said to have given it. Nothing is handled that nobody asked.
func checkBelongs(q *requests, d *docket) {
	for _, run := range q.strays {
		d.add(q.h.Runs[run].Began, "request %d was handled, and nobody made it", q.h.Runs[run].Request)
	}
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		switch {
		case r.Outcome == "wrong_reply":
			d.add(r.Ended, "request %d of %s to %s got the reply of another: %s", r.ID, r.Caller, r.Cluster, r.Detail)
		case r.Kind != "" && r.Kind != "request": // pushes may be handled later; for those to many see checkSpread
		case answered(r) && !answerer(q, i, r):
			d.add(r.Ended, "request %d of %s to %s ended (%s), and no handler of the member that answered had begun",
				r.ID, r.Caller, r.Cluster, r.Outcome)
		}
	}
}

// answerer says whether a handler ran that can have given the answer.
func answerer(q *requests, request int, r *history.Request) bool {
	for _, i := range q.runs[request] {
		run := &q.h.Runs[i]
		member := q.h.Tenures[run.Tenure].Member
		if run.Began <= r.Ended && (r.Member == "" || member == "" || q.members.sameSeat(r.Member, run.Tenure)) {
			return true
		}
	}
	return false
}
