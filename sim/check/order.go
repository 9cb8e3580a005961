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
func checkOrder(f *facts, _ *viewMeasures, d *docket) {
	for s, list := range f.topics.got {
		sub := &f.h.Subscriptions[s]
		latest := make(map[strand]time.Duration) // when the last of those was sent that came
		for _, i := range list {
			g := &f.h.Deliveries[i]
			n := f.topics.published[g.Publication]
			p := &f.h.Publications[n]
			k := strand{f.topics.source[n], p.Topic}
			if last, seen := latest[k]; seen && p.Ended >= 0 && p.Ended < last {
				d.add(g.At, "subscription %s to %s on %s got publication %d of %s on %s after a later one",
					sub.Name, sub.Pattern, sub.Node, g.Publication, p.Publisher, p.Topic)
			}
			latest[k] = max(latest[k], p.Sent)
		}
	}
	f.checkBroadcastOrder(d)
}

// heard is a run of a broadcast.
type heard struct {
	request int
	began   time.Duration
}

func (f *facts) checkBroadcastOrder(d *docket) {
	turns := make(map[int][]heard) // tenure → its runs of broadcasts
	for i, runs := range f.runs {
		if f.h.Requests[i].Kind != "broadcast" {
			continue
		}
		for _, n := range runs {
			run := &f.h.Runs[n]
			if f.h.Tenures[run.Tenure].Serial {
				turns[run.Tenure] = append(turns[run.Tenure], heard{i, run.Began})
			}
		}
	}
	for tenure, list := range turns {
		slices.SortStableFunc(list, func(a, b heard) int { return cmp.Compare(a.began, b.began) })
		latest := make(map[int]time.Duration) // caller's life → when its last one was sent
		for _, t := range list {
			r := &f.h.Requests[t.request]
			life := f.life(r.Caller, r.Sent)
			if last, seen := latest[life]; seen && r.Ended >= 0 && r.Ended < last {
				d.add(t.began, "the member on %s got broadcast %d of %s after a later one", f.h.Tenures[tenure].Node, r.ID, r.Caller)
			}
			latest[life] = max(latest[life], r.Sent)
		}
	}
}
