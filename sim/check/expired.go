// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// strained is the tolerance of Rules.Begin where link time can't be measured
// well: it is wrong by half of the best round trip so far at most, and what is
// sent again because it was lost, or waits before a bottleneck, makes that long.
const strained = 2 * time.Second

// checkExpired: a handler is told its request's deadline, which travels in link
// time, and none begins after it.
func checkExpired(q *requests, d *docket) {
	for i, runs := range q.runs {
		r := &q.h.Requests[i]
		if r.Kind == "push" || r.Kind == "broadcast" {
			continue // who sent it was told that it is accepted: from then on it has no deadline
		}
		for _, n := range runs {
			run := &q.h.Runs[n]
			node := q.h.Tenures[run.Tenure].Node
			latest := plus(r.Deadline, q.rules.Begin)
			if run.Began > latest || run.Expires > latest {
				latest = plus(r.Deadline, linkTimeError(q, r, node, run.Began))
			}
			switch {
			case run.Began > latest:
				d.add(run.Began, "request %d of %s to %s was begun on %s %v after its deadline",
					r.ID, r.Caller, r.Cluster, node, minus(run.Began, r.Deadline))
			case run.Expires >= 0 && run.Began > plus(run.Expires, q.rules.Outcome):
				d.add(run.Began, "request %d of %s to %s was begun on %s %v after the deadline that it was told",
					r.ID, r.Caller, r.Cluster, node, minus(run.Began, run.Expires))
			case run.Expires < 0:
				d.add(run.Began, "request %d of %s to %s was begun on %s without a deadline", r.ID, r.Caller, r.Cluster, node)
			case run.Expires > latest:
				d.add(run.Began, "request %d of %s to %s was begun on %s with a deadline that is %v too late",
					r.ID, r.Caller, r.Cluster, node, minus(run.Expires, r.Deadline))
			}
		}
	}
}

// linkTimeError is how wrong link time may be between a caller and a member.
func linkTimeError(q *requests, r *history.Request, member string, began time.Duration) time.Duration {
	s := span{r.Sent, max(r.Sent, began)}
	if q.calm.pair(r.Caller, member, s) || q.calm.skewed(r.Caller, s) || q.calm.skewed(member, s) || q.rough[[2]string{r.Caller, member}] {
		return max(q.rules.Begin, strained)
	}
	return q.rules.Begin
}
