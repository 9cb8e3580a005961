// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// checkEmpty: as long as no fault hit anything, no caller is told that a
// cluster has no members while it has one. After faults such answers are only
// counted: an anchor may have to be found first.
func checkEmpty(q *requests, d *docket) {
	for _, i := range falselyEmpty(q) {
		r := &q.h.Requests[i]
		if q.calm.quiet(r.Ended) {
			d.add(r.Ended, "request %d of %s was told that %s has no members, and nothing had gone wrong", r.ID, r.Caller, r.Cluster)
		}
	}
}

// falselyEmpty lists the requests that were told that there are no members
// although one was registered long enough, reachable and healthy.
func falselyEmpty(q *requests) []int {
	var out []int
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if r.Outcome == "no_members" && !r.Lost && hadMember(q, r) {
			out = append(out, i)
		}
	}
	return out
}

func hadMember(q *requests, r *history.Request) bool {
	since := minus(r.Sent, q.rules.Known)
	while := span{since, max(r.Sent, r.Ended) + time.Nanosecond}
	life := q.lives.at(r.Caller, r.Sent)
	for _, i := range q.members.of[r.Cluster] {
		t := &q.h.Tenures[i]
		s := truth(t)
		if s.from <= since && s.until >= while.until && q.members.known(life, i) && !q.calm.pair(r.Caller, t.Node, while) {
			return true
		}
	}
	return false
}
