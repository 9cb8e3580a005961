// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// caller of a cluster.
type caller struct{ node, cluster string }

// trouble is the requests of one caller that needed more than one attempt or
// were lost, by the time they were sent.
type trouble struct {
	requests []int
	longest  time.Duration // that one of them took
}

// measureReroute finds out how long a removed member cost its callers
// something: of the requests that were under way when it was lost, or sent
// before the caller noticed, the last one in trouble.
func (f *facts) measureReroute(s sheet, detected func(fault int, observer string) (time.Duration, bool)) {
	bereaved := f.bereaved()
	f.measureTroubles(s, "", bereaved, detected)
	for _, work := range f.works() {
		f.measureTroubles(s, work, bereaved, detected)
	}
}

func (f *facts) measureTroubles(
	s sheet, work string, bereaved []map[string]bool, detected func(fault int, observer string) (time.Duration, bool),
) {
	troubles := f.troubles(work)
	affected := make(map[int]bool)
	var ended, sent []time.Duration
	for fault, clusters := range bereaved {
		if len(clusters) == 0 {
			continue
		}
		at := f.h.Faults[fault].At
		last := make(map[string]span) // caller's node → its last request that was sent, its last one that ended
		for c, t := range troubles {
			if !clusters[c.cluster] {
				continue
			}
			noticed, ok := detected(fault, c.node)
			if !ok {
				noticed = plus(at, f.rules.Zombie)
			}
			f.follow(t, at, noticed, func(request int) {
				affected[request] = true
				l := last[c.node]
				last[c.node] = span{max(l.from, minus(f.h.Requests[request].Sent, at)), max(l.until, minus(f.ended(request), at))}
			})
		}
		for _, l := range last {
			sent, ended = append(sent, l.from), append(ended, l.until)
		}
	}
	s.count(named("affected", work), len(affected))
	s.quantilesOf(work, "reroute", ended)
	s.quantilesOf(work, "misrouted", sent)
}

// follow calls hit for the requests in trouble that had not ended at one time
// and were sent before another.
func (f *facts) follow(t *trouble, at, noticed time.Duration, hit func(request int)) {
	i, _ := slices.BinarySearchFunc(t.requests, minus(at, t.longest), func(request int, when time.Duration) int {
		return cmp.Compare(f.h.Requests[request].Sent, when)
	})
	for _, request := range t.requests[i:] {
		r := &f.h.Requests[request]
		if r.Sent > noticed {
			return
		}
		if f.ended(request) > at {
			hit(request)
		}
	}
}

// ended is when a request ended; the run's end if it never did.
func (f *facts) ended(request int) time.Duration {
	r := &f.h.Requests[request]
	if r.Ended < 0 {
		return max(r.Sent, f.h.End)
	}
	return max(r.Sent, r.Ended)
}

// works lists the names of the works, in order.
func (f *facts) works() []string {
	names := make(map[string]bool)
	for i := range f.h.Requests {
		if name := f.h.Requests[i].Work; name != probe && name != "" {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// troubles finds those of one work, or of all.
func (f *facts) troubles(work string) map[caller]*trouble {
	out := make(map[caller]*trouble)
	for i := range f.h.Requests {
		r := &f.h.Requests[i]
		if r.Lost || r.Work == probe || f.pending(r) || (r.Attempts <= 1 && answered(r)) {
			continue
		}
		if work != "" && r.Work != work {
			continue
		}
		k := caller{r.Caller, r.Cluster}
		if out[k] == nil {
			out[k] = &trouble{}
		}
		out[k].requests = append(out[k].requests, i)
		out[k].longest = max(out[k].longest, minus(f.ended(i), r.Sent))
	}
	for _, t := range out {
		slices.SortStableFunc(t.requests, func(a, b int) int {
			return cmp.Compare(f.h.Requests[a].Sent, f.h.Requests[b].Sent)
		})
	}
	return out
}

// bereaved is, by fault, the clusters that lost a member by it.
func (f *facts) bereaved() []map[string]bool {
	out := make([]map[string]bool, len(f.h.Faults))
	for i, fault := range f.endedBy {
		if fault < 0 {
			continue
		}
		if out[fault] == nil {
			out[fault] = make(map[string]bool)
		}
		out[fault][f.h.Tenures[i].Cluster] = true
	}
	return out
}
