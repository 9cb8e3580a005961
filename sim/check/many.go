// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// census counts how many of the members that had to be reached were.
type census struct{ reached, stable int }

// measureMany measures surveys and broadcasts.
func measureMany(q *requests, s metrics) {
	works := make(map[string]*census)
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if !r.Many() || r.Lost || r.Ended < 0 {
			continue
		}
		for _, work := range labels(r.Work) {
			c := entry(works, work)
			for _, tenure := range stableMembers(q, r) {
				c.stable++
				if wasReached(q, i, tenure) {
					c.reached++
				}
			}
		}
	}
	for work, c := range works {
		s.share(named("completeness", work), c.reached, c.stable)
	}
}

// labels are under which names something of a work, or of a subscription, is
// measured.
func labels(names ...string) []string {
	out := []string{""}
	for _, name := range names {
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

func manyMetrics() []MetricInfo {
	return perWork([]MetricInfo{
		{Name: "completeness", Unit: Percent, Meaning: "of the members that were registered long enough before a survey or a broadcast, stayed until its end and could be reached, those that answered it or got it"},
	}, nil)
}

// checkSpread: of a survey and of a broadcast each member is told of once, as
// one that answered or as missing; who answered was asked; and the numbers are
// those of the members that have it.
func checkSpread(q *requests, d *violations) {
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if !r.Many() || r.Ended < 0 {
			continue
		}
		missing := make(map[string]bool, len(r.Missing))
		for _, m := range r.Missing {
			if missing[m.Member] {
				d.add(r.Ended, "%s %s names %s as missing twice", r.Kind, asked(r), q.members.seat(m.Member))
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
func checkAnswers(q *requests, request int, missing map[string]bool, d *violations) {
	r := &q.h.Requests[request]
	seen := make(map[string]bool, len(r.Answers))
	for _, a := range r.Answers {
		complain := ""
		switch {
		case q.foreign(r, a.Member):
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
			d.add(a.At, "survey %s: %s %s", asked(r), q.members.seat(a.Member), complain)
		}
		seen[a.Member] = true
	}
	if (r.Outcome == "complete" || r.Outcome == "partial") && r.Taken != len(r.Answers) {
		d.add(r.Ended, "survey %s says that %d answered, and %d did", asked(r), r.Taken, len(r.Answers))
	}
}

// wasAsked says whether a member's handler began before a time.
func wasAsked(q *requests, request int, member string, before time.Duration) bool {
	return slices.ContainsFunc(q.runs[request], func(n int) bool {
		run := &q.h.Runs[n]
		return run.Began <= before && q.members.sameSeat(member, run.Tenure)
	})
}

// checkCounts compares what a broadcast says of its members with who has it:
// those that ran it and are not missing are at least so many; those that ran
// it, or were lost before they could, at most.
func checkCounts(q *requests, request int, missing map[string]bool, d *violations) {
	r := &q.h.Requests[request]
	cutOff := make(map[string]bool) // networks of which nothing came back
	beyond := false                 // somebody is missing whom only a gateway on the way knows
	for member := range missing {
		from, lent := q.borders.lent[member]
		cutOff[from] = cutOff[from] || lent
		_, registered := q.members.named[member]
		beyond = beyond || !lent && !registered
	}
	life := q.lives.at(r.Caller, r.Sent)
	ran := make(map[int]bool)
	nodes := make(map[string]bool)
	least := 0
	for _, n := range q.runs[request] {
		tenure := q.h.Runs[n].Tenure
		if ran[tenure] {
			continue
		}
		ran[tenure] = true
		if t := &q.h.Tenures[tenure]; !missing[t.Member] && !cutOff[q.borders.from(tenure)] && !(beyond && q.borders.passesOn(life, r.Cluster, tenure)) {
			least++
			nodes[q.members.lives.carrier(t.Node)] = true
		}
	}
	if q.borders.betrayed(r) {
		return
	}
	most := len(ran) + lostWith(q, r, ran, missing)
	switch {
	case r.Taken < least || r.Taken > most:
		d.add(r.Ended, "broadcast %s says that %d members took it; %d to %d did", asked(r), r.Taken, least, most)
	case r.Nodes < len(nodes) || r.Nodes > r.Taken || r.Taken > 0 && r.Nodes == 0:
		d.add(r.Ended, "broadcast %s says that %d members on %d nodes took it; they are on %d at least", asked(r), r.Taken, r.Nodes, len(nodes))
	}
}

// lostWith counts the members that may have taken a broadcast and were lost
// before they ran it.
func lostWith(q *requests, r *history.Request, ran map[int]bool, missing map[string]bool) int {
	n := 0
	for _, tenure := range q.borders.everybody(q.lives.at(r.Caller, r.Sent), r.Cluster) {
		if !ran[tenure] && !missing[q.h.Tenures[tenure].Member] && q.h.Tenures[tenure].Asked <= r.Ended && q.members.lostNode(tenure, r.Sent) {
			n++
		}
	}
	return n
}

// strand is what must stay in order: what one life of a node published on one
// topic, or broadcast.
type strand struct {
	life  int
	topic string
}

// checkOrder: of two publications on one topic, or two broadcasts, of the same
// node, the one whose sending ended before the other's began comes first. Of
// members only those are looked at that handle one message after the other.
func checkOrder(x *topics, d *violations) {
	for s, list := range x.got {
		sub := &x.h.Subscriptions[s]
		latest := make(map[strand]time.Duration) // when the last of those was sent that came
		for _, i := range list {
			g := &x.h.Deliveries[i]
			n := x.published[g.Publication]
			p := &x.h.Publications[n]
			k := strand{x.source[n], p.Topic}
			if last, seen := latest[k]; seen && p.Ended >= 0 && p.Ended < last {
				d.add(g.At, "%s got publication %d of %s on %s after a later one", listening(sub), g.Publication, p.Publisher, p.Topic)
			}
			latest[k] = max(latest[k], p.Sent)
		}
	}
}

// heard is a run of a broadcast.
type heard struct {
	request int
	began   time.Duration
}

func checkBroadcastOrder(q *requests, d *violations) {
	turns := make(map[int][]heard) // tenure → its runs of broadcasts
	for i, runs := range q.runs {
		if q.h.Requests[i].Kind != "broadcast" {
			continue
		}
		for _, n := range runs {
			run := &q.h.Runs[n]
			if q.h.Tenures[run.Tenure].Serial {
				turns[run.Tenure] = append(turns[run.Tenure], heard{i, run.Began})
			}
		}
	}
	for tenure, list := range turns {
		slices.SortStableFunc(list, func(a, b heard) int { return cmp.Compare(a.began, b.began) })
		latest := make(map[int]time.Duration) // caller's life → when its last one was sent
		for _, t := range list {
			r := &q.h.Requests[t.request]
			life := q.lives.at(r.Caller, r.Sent)
			if last, seen := latest[life]; seen && r.Ended >= 0 && r.Ended < last {
				d.add(t.began, "the member on %s got broadcast %d of %s after a later one", q.h.Tenures[tenure].Node, r.ID, r.Caller)
			}
			latest[life] = max(latest[life], r.Sent)
		}
	}
}
