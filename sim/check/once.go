// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"time"
)

// checkOnce: each attempt of a request runs at most once, and only idempotent
// requests are attempted again after a handler may have run; what goes to many
// runs at most once on each. This holds for callers whose own node was hit, too.
func checkOnce(q *requests, d *docket) {
	for i, runs := range q.runs {
		if text := tooOften(q, i); text != "" {
			var at time.Duration
			for _, run := range runs {
				at = max(at, q.h.Runs[run].Began)
			}
			r := &q.h.Requests[i]
			d.add(at, "request %d of %s to %s was handled %s", r.ID, r.Caller, r.Cluster, text)
		}
	}
}

// tooOften says how a request was handled too often, or "".
func tooOften(q *requests, request int) string {
	r, runs := &q.h.Requests[request], q.runs[request]
	if len(runs) < 2 {
		return ""
	}
	if !r.Idempotent && !r.Many() {
		return fmt.Sprintf("%d times, and is not idempotent", len(runs))
	}
	seen := make(map[int]bool, len(runs))
	for _, run := range runs {
		tenure := q.h.Runs[run].Tenure
		// Who was lost while it handled it may be asked again when nobody else
		// is left, which makes another attempt of it.
		node := q.h.Tenures[tenure].Node
		if seen[tenure] && (r.Many() || !q.calm.pair(r.Caller, node, span{r.Sent, q.h.Runs[run].Began})) {
			return fmt.Sprintf("twice by the member on %s, and nothing parted it from its caller", node)
		}
		seen[tenure] = true
	}
	// The caller's side does not know its attempts if it was hit or never ended, nor
	// a client all that a relay had made when it died.
	if relay := q.members.lives.relay(r.Caller, r.Sent); relay >= 0 && q.h.Nodes[relay].Until >= 0 && q.h.Nodes[relay].Until < r.Ended {
		return ""
	}
	if !r.Many() && !r.Lost && r.Ended >= 0 && r.Attempts > 0 && len(runs) > r.Attempts {
		return fmt.Sprintf("%d times in %d attempts", len(runs), r.Attempts)
	}
	return ""
}
