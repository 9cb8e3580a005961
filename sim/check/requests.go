// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// probe is the work that the liveness phase adds.
const probe = "probe"

// outcomes that a request can have, beside "reply" and "refused".
func failures() []string {
	return []string{
		"no_members", "overloaded", "unreachable", "interrupted", "deadline", "canceled",
		"unauthorized", "too_large", "closed", "wrong_reply", "other",
	}
}

func answered(r *history.Request) bool {
	return r.Ended >= 0 && (r.Outcome == "reply" || r.Outcome == "refused")
}

// pending says that a request had no outcome yet when the run ended, rightly.
func (f *facts) pending(r *history.Request) bool {
	return r.Ended < 0 && r.Outcomes == 0 && f.latest(r) >= f.h.End
}

// latest is when a request must have ended.
func (f *facts) latest(r *history.Request) time.Duration {
	late := f.rules.Outcome
	if f.skewed(r.Caller, span{r.Sent, r.Deadline}) {
		late = plus(late, max(0, minus(r.Deadline, r.Sent))/100)
	}
	return plus(r.Deadline, late)
}

// skewed says whether the node's clock may have been wrong in s.
func (f *facts) skewed(node string, s span) bool {
	return f.calm.skew[node].touches(s)
}

func (f *facts) measureRequests(s sheet) {
	counts := make(map[string]int)
	attempts, late := 0, time.Duration(0)
	for i := range f.h.Requests {
		r := &f.h.Requests[i]
		switch {
		case f.pending(r):
			continue
		case r.Work == probe:
			f.countProbe(counts, r)
			continue
		}
		counts["requests"]++
		counts["handled"] += len(f.runs[i])
		if f.twice(i) != "" {
			counts["duplicated"]++
		}
		if r.Lost {
			counts["excused"]++
			continue
		}
		f.countOutcome(counts, r)
		attempts = max(attempts, r.Attempts)
		if r.Ended >= 0 {
			late = max(late, minus(r.Ended, r.Deadline))
		}
	}
	for _, m := range requestMetrics() {
		if m.Unit == Count {
			s.count(m.Name, counts[m.Name])
		}
	}
	s.count("attempts_max", attempts)
	s.count("false_empty", len(f.falseEmpty()))
	s.duration("late_max", late)
	s.share("success", counts["replies"]+counts["refused"], counts["requests"]-counts["excused"])
}

func (f *facts) countProbe(counts map[string]int, r *history.Request) {
	if r.Lost {
		return
	}
	counts["probes"]++
	if !answered(r) {
		counts["probes_lost"]++
	}
}

func (f *facts) countOutcome(counts map[string]int, r *history.Request) {
	if r.Attempts > 1 {
		counts["retried"]++
	}
	if !answered(r) {
		counts["lost"]++
	}
	switch {
	case r.Ended < 0 || r.Outcomes == 0:
		counts["unanswered"]++
	case r.Outcome == "reply":
		counts["replies"]++
	case r.Outcome == "refused":
		counts["refused"]++
	default:
		counts[failure(r.Outcome)]++
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
