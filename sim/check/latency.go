// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "time"

// latencies are how long replies took: all, and in calm and troubled times.
type latencies struct{ all, calm, fault []time.Duration }

func (l *latencies) add(took time.Duration, calm bool) {
	l.all = append(l.all, took)
	if calm {
		l.calm = append(l.calm, took)
	} else {
		l.fault = append(l.fault, took)
	}
}

func measureLatency(q *requests, s sheet) {
	works, calmly := make(map[string]*latencies), NewCalm(q.h, *q.rules)
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if r.Lost || r.Work == probe || !succeeded(r) || r.Outcome == "refused" {
			continue
		}
		took, calm := minus(r.Ended, r.Sent), calmly.Between(r.Sent, max(r.Sent, r.Ended))
		for _, work := range labels(r.Work) {
			entry(works, work).add(took, calm)
		}
	}
	for work, l := range works {
		s.quantilesOf(work, "latency", l.all)
		s.quantilesOf(work, "latency_calm", l.calm)
		s.quantilesOf(work, "latency_fault", l.fault)
	}
}
