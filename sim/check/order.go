// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"time"
)

// strand is what must stay in order: what one life of a node published on one
// topic, or broadcast.
type strand struct {
	life  int
	topic string
}

// checkOrder: of two publications on one topic, or two broadcasts, of the same
// node, the one whose sending ended before the other's began comes first. Of
// members only those are looked at that handle one message after the other.
func checkOrder(x *topics, d *docket) {
	for s, list := range x.got {
		sub := &x.h.Subscriptions[s]
		latest := make(map[strand]time.Duration) // when the last of those was sent that came
		for _, i := range list {
			g := &x.h.Deliveries[i]
			n := x.published[g.Publication]
			p := &x.h.Publications[n]
			k := strand{x.source[n], p.Topic}
			if last, seen := latest[k]; seen && p.Ended >= 0 && p.Ended < last {
				d.add(g.At, "subscription %s to %s on %s got publication %d of %s on %s after a later one",
					sub.Name, sub.Pattern, sub.Node, g.Publication, p.Publisher, p.Topic)
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

func checkBroadcastOrder(q *requests, d *docket) {
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
