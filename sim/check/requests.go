// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// probe is the name of the work that the liveness phase adds.
const probe = "probe"

// answered says whether it came to what it is for: an answer, a queue that has
// it, or somebody who was asked.
func answered(r *history.Request) bool {
	switch r.Outcome {
	case "reply", "refused", "accepted", "complete", "partial":
		return r.Ended >= 0
	}
	return false
}

// succeeded is answered by everybody.
func succeeded(r *history.Request) bool { return answered(r) && r.Outcome != "partial" }

// requests knows who asked for what, and what was handled for it. It never
// changes after newRequests. A request is named by its index in
// History.Requests, a handler's run by its index in History.Runs.
type requests struct {
	h       *history.History
	rules   *Rules
	lives   *lives
	members *registrations
	calm    *disturbance

	runs   [][]int            // request → its runs, in order of the history
	strays []int              // runs of requests that nobody made, or without a registration
	rough  map[[2]string]bool // caller, node of a member: History.Rough
}

func newRequests(m *registrations, c *disturbance, r *Rules) *requests {
	h := m.h
	q := &requests{h: h, rules: r, lives: m.lives, members: m, calm: c, runs: make([][]int, len(h.Requests)), rough: make(map[[2]string]bool)}
	byID := make(map[uint64]int, len(h.Requests))
	for i := range h.Requests {
		byID[h.Requests[i].ID] = i
	}
	for i := range h.Runs {
		run := &h.Runs[i]
		request, ok := byID[run.Request]
		if !ok || run.Tenure < 0 || run.Tenure >= len(h.Tenures) {
			q.strays = append(q.strays, i)
			continue
		}
		q.runs[request] = append(q.runs[request], i)
	}
	for _, pair := range h.Rough {
		q.rough[pair] = true
	}
	return q
}

// pending says that a request had no outcome yet when the run ended, rightly.
func (q *requests) pending(r *history.Request) bool {
	return r.Ended < 0 && r.Outcomes == 0 && q.latest(r) >= q.h.End
}

// latest is when a request must have ended.
func (q *requests) latest(r *history.Request) time.Duration {
	late := q.rules.Outcome
	if q.calm.skewed(r.Caller, span{r.Sent, r.Deadline}) {
		late = plus(late, max(0, minus(r.Deadline, r.Sent))/100)
	}
	return plus(r.Deadline, late)
}
