// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/arke-mesh/arke/sim/history"

// checkComplete: a survey or a broadcast that is called complete names nobody
// as missing, and every member that was registered long enough before it began
// for everybody to know, stayed, and could be reached, has answered it or got
// it.
func checkComplete(q *requests, d *docket) {
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if !r.Many() || r.Outcome != "complete" || r.Lost {
			continue
		}
		if len(r.Missing) > 0 {
			d.add(r.Ended, "%s %d of %s to %s is called complete and names %d missing", r.Kind, r.ID, r.Caller, r.Cluster, len(r.Missing))
		}
		for _, tenure := range stableMembers(q, r) {
			if !wasReached(q, i, tenure) {
				d.add(r.Ended, "%s %d of %s to %s is called complete, without the member on %s, which was one all the time",
					r.Kind, r.ID, r.Caller, r.Cluster, q.h.Tenures[tenure].Node)
			}
		}
	}
}

// stableMembers lists the members that were registered for the bound Known before the
// request and until it ended, and that nothing disturbed, nor the caller. A
// member whose node was alone when it registered counts from when another node
// has shown it.
func stableMembers(q *requests, r *history.Request) []int {
	var out []int
	since := minus(r.Sent, q.rules.Known)
	life := q.lives.at(r.Caller, r.Sent)
	for _, i := range q.members.of[r.Cluster] {
		t := &q.h.Tenures[i]
		s := truth(t)
		if shown, seen := q.members.seen[t.Member]; !seen || shown > since {
			continue
		}
		if s.from <= since && s.until > r.Ended && q.members.known(life, i) && !q.calm.pair(r.Caller, t.Node, span{since, plus(r.Ended, 1)}) {
			out = append(out, i)
		}
	}
	return out
}

// wasReached says whether a member answered a survey, or has a broadcast.
func wasReached(q *requests, request, tenure int) bool {
	r := &q.h.Requests[request]
	if r.Kind == "survey" {
		for _, a := range r.Answers {
			if a.Member == q.h.Tenures[tenure].Member {
				return true
			}
		}
		return false
	}
	for _, n := range q.runs[request] {
		if q.h.Runs[n].Tenure == tenure {
			return true
		}
	}
	return q.members.lostNode(tenure, r.Sent)
}
