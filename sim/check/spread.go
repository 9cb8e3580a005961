// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// checkSpread: of a survey and of a broadcast each member is told of once, as
// one that answered or as missing; who answered was asked; and the numbers are
// those of the members that have it.
func checkSpread(q *requests, d *docket) {
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if !r.Many() || r.Ended < 0 {
			continue
		}
		missing := make(map[string]bool, len(r.Missing))
		for _, m := range r.Missing {
			if missing[m.Member] {
				d.add(r.Ended, "%s %d of %s to %s names %s as missing twice", r.Kind, r.ID, r.Caller, r.Cluster, q.members.seat(m.Member))
			}
			missing[m.Member] = true
		}
		if r.Kind == "survey" {
			checkAnswers(q, i, missing, d)
		} else if r.Outcome == "complete" || r.Outcome == "partial" {
			checkCounts(q, i, missing, d)
		}
	}
}

// checkAnswers looks at the answers to a survey.
func checkAnswers(q *requests, request int, missing map[string]bool, d *docket) {
	r := &q.h.Requests[request]
	seen := make(map[string]bool, len(r.Answers))
	for _, a := range r.Answers {
		complain := ""
		switch {
		case seen[a.Member]:
			complain = "answered twice"
		case missing[a.Member]:
			complain = "answered and is named as missing"
		case a.Wrong:
			complain = "gave the answer to another survey"
		case !wasAsked(q, request, a.Member, a.At):
			complain = "answered, and no handler of it had begun"
		}
		if complain != "" {
			d.add(a.At, "survey %d of %s to %s: %s %s", r.ID, r.Caller, r.Cluster, q.members.seat(a.Member), complain)
		}
		seen[a.Member] = true
	}
	if (r.Outcome == "complete" || r.Outcome == "partial") && r.Taken != len(r.Answers) {
		d.add(r.Ended, "survey %d of %s to %s says that %d answered, and %d did", r.ID, r.Caller, r.Cluster, r.Taken, len(r.Answers))
	}
}

// wasAsked says whether a member's handler began before a time.
func wasAsked(q *requests, request int, member string, before time.Duration) bool {
	for _, n := range q.runs[request] {
		run := &q.h.Runs[n]
		if run.Began <= before && q.members.sameSeat(member, run.Tenure) {
			return true
		}
	}
	return false
}

// checkCounts compares what a broadcast says of its members with who has it:
// those that ran it and are not missing are at least so many; those that ran
// it, or were lost before they could, at most.
func checkCounts(q *requests, request int, missing map[string]bool, d *docket) {
	r := &q.h.Requests[request]
	ran := make(map[int]bool)
	nodes := make(map[string]bool)
	least := 0
	for _, n := range q.runs[request] {
		tenure := q.h.Runs[n].Tenure
		if ran[tenure] {
			continue
		}
		ran[tenure] = true
		if t := &q.h.Tenures[tenure]; !missing[t.Member] {
			least++
			nodes[q.members.lives.carrier(t.Node)] = true
		}
	}
	most := len(ran) + lostWith(q, r, ran, missing)
	switch {
	case r.Taken < least || r.Taken > most:
		d.add(r.Ended, "broadcast %d of %s to %s says that %d members took it; %d to %d did", r.ID, r.Caller, r.Cluster, r.Taken, least, most)
	case r.Nodes < len(nodes) || r.Nodes > r.Taken || r.Taken > 0 && r.Nodes == 0:
		d.add(r.Ended, "broadcast %d of %s to %s says that %d members on %d nodes took it; they are on %d at least",
			r.ID, r.Caller, r.Cluster, r.Taken, r.Nodes, len(nodes))
	}
}

// lostWith counts the members that may have taken a broadcast and were lost
// before they ran it.
func lostWith(q *requests, r *history.Request, ran map[int]bool, missing map[string]bool) int {
	n := 0
	for _, tenure := range q.members.of[r.Cluster] {
		if !ran[tenure] && !missing[q.h.Tenures[tenure].Member] && q.h.Tenures[tenure].Asked <= r.Ended && q.members.lostNode(tenure, r.Sent) {
			n++
		}
	}
	return n
}
