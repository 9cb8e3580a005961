// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// tally counts requests: all of them, or those of one work.
type tally struct {
	counts   map[string]int
	attempts int
	late     time.Duration
}

// tallies has the tally of each work, and that of all under "".
type tallies map[string]*tally

func (all tallies) of(work string) *tally {
	t := entry(all, work)
	if t.counts == nil {
		t.counts = make(map[string]int)
	}
	return t
}

func measureRequests(q *requests, s sheet) {
	all := make(tallies)
	all.of("")
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		switch {
		case q.pending(r):
		case r.Work == probe:
			all[""].probe(r)
		default:
			all[""].add(q, i)
			if r.Work != "" {
				all.of(r.Work).add(q, i)
			}
		}
	}
	for _, i := range falselyEmpty(q) {
		if work := q.h.Requests[i].Work; work != probe && work != "" {
			all.of(work).counts["false_empty"]++
		}
		all[""].counts["false_empty"]++
	}
	for work, t := range all {
		t.measure(s, work)
	}
}

func (t *tally) probe(r *history.Request) {
	if r.Lost {
		return
	}
	t.counts["probes"]++
	if !answered(r) {
		t.counts["probes_lost"]++
	}
}

func (t *tally) add(q *requests, request int) {
	r := &q.h.Requests[request]
	t.counts["requests"]++
	t.counts["handled"] += len(q.runs[request])
	if tooOften(q, request) != "" {
		t.counts["duplicated"]++
	}
	if r.Lost {
		t.counts["excused"]++
		return
	}
	t.attempts = max(t.attempts, r.Attempts)
	if r.Attempts > 1 {
		t.counts["retried"]++
	}
	if !answered(r) {
		t.counts["lost"]++
	}
	if r.Ended >= 0 {
		t.late = max(t.late, minus(r.Ended, r.Deadline))
	}
	t.outcome(r)
}

func (t *tally) outcome(r *history.Request) {
	switch {
	case r.Ended < 0 || r.Outcomes == 0:
		t.counts["unanswered"]++
	case r.Outcome == "reply":
		t.counts["replies"]++
	case answered(r):
		t.counts[r.Outcome]++
	default:
		t.counts[failure(r.Outcome)]++
	}
}

// failure is the name under which an outcome is counted.
func failure(outcome string) string {
	for _, name := range failures() {
		if outcome == name {
			return name
		}
	}
	return "other"
}

// failures are the outcomes that a request can have, beside those of one that
// came to what it is for.
func failures() []string {
	return []string{
		"no_members", "overloaded", "unreachable", "interrupted", "deadline", "cancelled",
		"unauthorized", "too_large", "closed", "wrong_reply", "other",
	}
}

func (t *tally) measure(s sheet, work string) {
	for _, m := range requestMetrics() {
		if m.Unit == Count && (work == "" || m.PerWork) {
			s.count(named(m.Name, work), t.counts[m.Name])
		}
	}
	s.count(named("attempts_max", work), t.attempts)
	s.duration(named("late_max", work), t.late)
	s.share(named("success", work), t.counts["replies"]+t.counts["refused"]+t.counts["accepted"]+t.counts["complete"], t.counts["requests"]-t.counts["excused"])
}
