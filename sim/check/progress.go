// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/arke-mesh/arke/sim/history"

// checkProgress: once everything is healed and had time to settle, every probe
// to a cluster that has a member is answered.
func checkProgress(q *requests, d *docket) {
	settled := plus(q.h.Safety, q.rules.Settle)
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if r.Work != probe || r.Lost || answered(r) || r.Sent < settled || q.pending(r) {
			continue
		}
		if wasServed(q, r) {
			d.add(r.Sent, "probe %d of %s to %s, sent %v after the faults, was not answered: %s %s",
				r.ID, r.Caller, r.Cluster, minus(r.Sent, q.h.Safety), r.Outcome, r.Detail)
		}
	}
}

// wasServed says whether a member that the caller can know was live from the time
// that the request was sent until it ended.
func wasServed(q *requests, r *history.Request) bool {
	life := q.lives.at(r.Caller, r.Sent)
	for _, i := range q.members.of[r.Cluster] {
		s := truth(&q.h.Tenures[i])
		if s.from <= r.Sent && s.until > max(r.Sent, r.Ended) && q.members.known(life, i) {
			return true
		}
	}
	return false
}
