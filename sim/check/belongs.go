// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/arke-mesh/arke/sim/history"

// checkBelongs: a reply is the one to its request: the player compares bodies,
// and here it must be that a handler began before the reply came, on the
// member that is said to have given it. Nothing is handled that nobody asked.
func checkBelongs(f *facts, _ *viewMeasures, d *docket) {
	for _, run := range f.strays {
		d.add(f.h.Runs[run].Began, "request %d was handled, and nobody made it", f.h.Runs[run].Request)
	}
	for i := range f.h.Requests {
		r := &f.h.Requests[i]
		switch {
		case r.Outcome == "wrong_reply":
			d.add(r.Ended, "request %d of %s to %s got the reply of another: %s", r.ID, r.Caller, r.Cluster, r.Detail)
		case r.Kind != "" && r.Kind != "request": // pushes may be handled later; for those to many see checkSpread
		case answered(r) && !f.answerer(i, r):
			d.add(r.Ended, "request %d of %s to %s ended (%s), and no handler of the member that answered had begun",
				r.ID, r.Caller, r.Cluster, r.Outcome)
		}
	}
}

// answerer says whether a handler ran that can have given the answer.
func (f *facts) answerer(request int, r *history.Request) bool {
	for _, i := range f.runs[request] {
		run := &f.h.Runs[i]
		member := f.h.Tenures[run.Tenure].Member
		if run.Began <= r.Ended && (r.Member == "" || member == "" || r.Member == member) {
			return true
		}
	}
	return false
}
