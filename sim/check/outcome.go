// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

// checkOutcome: every request has exactly one outcome, at the latest so soon
// after its deadline. Of a caller whose own node was hit only the one outcome
// is demanded.
func checkOutcome(q *requests, d *docket) {
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		switch {
		case q.pending(r):
		case r.Outcomes > 1:
			d.add(r.Ended, "request %d of %s to %s ended %d times", r.ID, r.Caller, r.Cluster, r.Outcomes)
		case r.Outcomes < 1 || r.Ended < 0:
			d.add(r.Deadline, "request %d of %s to %s, sent at %v, never ended", r.ID, r.Caller, r.Cluster, r.Sent)
		case !r.Lost && r.Ended > q.latest(r):
			d.add(r.Ended, "request %d of %s to %s ended (%s) %v after its deadline",
				r.ID, r.Caller, r.Cluster, r.Outcome, minus(r.Ended, r.Deadline))
		}
	}
}
