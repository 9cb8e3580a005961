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
func measureReroute(q *requests, detected func(fault int, observer string) (time.Duration, bool), s sheet) {
	m := &reroute{requests: q, detected: detected, bereaved: bereaved(q)}
	m.measure(s, "")
	for _, work := range m.works() {
		m.measure(s, work)
	}
}

// reroute measures the requests of one work after another.
type reroute struct {
	*requests
	detected func(fault int, observer string) (time.Duration, bool)
	bereaved []map[string]bool // fault → the clusters that lost a member by it
}

func (m *reroute) measure(s sheet, work string) {
	troubles := m.troubles(work)
	affected := make(map[int]bool)
	var ended, sent []time.Duration
	for fault, clusters := range m.bereaved {
		if len(clusters) == 0 {
			continue
		}
		at := m.h.Faults[fault].At
		last := make(map[string]span) // caller's node → its last request that was sent, its last one that ended
		for c, t := range troubles {
			if !clusters[c.cluster] {
				continue
			}
			noticed, ok := m.detected(fault, c.node)
			if !ok {
				noticed = plus(at, m.rules.Zombie)
			}
			m.follow(t, at, noticed, func(request int) {
				affected[request] = true
				l := last[c.node]
				last[c.node] = span{max(l.from, minus(m.h.Requests[request].Sent, at)), max(l.until, minus(m.ended(request), at))}
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
func (m *reroute) follow(t *trouble, at, noticed time.Duration, hit func(request int)) {
	i, _ := slices.BinarySearchFunc(t.requests, minus(at, t.longest), func(request int, when time.Duration) int {
		return cmp.Compare(m.h.Requests[request].Sent, when)
	})
	for _, request := range t.requests[i:] {
		r := &m.h.Requests[request]
		if r.Sent > noticed {
			return
		}
		if m.ended(request) > at {
			hit(request)
		}
	}
}

// ended is when a request ended; the run's end if it never did.
func (m *reroute) ended(request int) time.Duration {
	r := &m.h.Requests[request]
	if r.Ended < 0 {
		return max(r.Sent, m.h.End)
	}
	return max(r.Sent, r.Ended)
}

// works lists the names of the works, in order.
func (m *reroute) works() []string {
	names := make(map[string]bool)
	for i := range m.h.Requests {
		if name := m.h.Requests[i].Work; name != probe && name != "" {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// troubles finds those of one work, or of all.
func (m *reroute) troubles(work string) map[caller]*trouble {
	out := make(map[caller]*trouble)
	for i := range m.h.Requests {
		r := &m.h.Requests[i]
		if r.Lost || r.Work == probe || m.pending(r) || (r.Attempts <= 1 && answered(r)) {
			continue
		}
		if work != "" && r.Work != work {
			continue
		}
		k := caller{r.Caller, r.Cluster}
		t := entry(out, k)
		t.requests = append(t.requests, i)
		t.longest = max(t.longest, minus(m.ended(i), r.Sent))
	}
	for _, t := range out {
		slices.SortStableFunc(t.requests, func(a, b int) int {
			return cmp.Compare(m.h.Requests[a].Sent, m.h.Requests[b].Sent)
		})
	}
	return out
}

// bereaved is, by fault, the clusters that lost a member by it.
func bereaved(q *requests) []map[string]bool {
	out := make([]map[string]bool, len(q.h.Faults))
	for i, fault := range q.calm.endedBy {
		if fault < 0 {
			continue
		}
		if out[fault] == nil {
			out[fault] = make(map[string]bool)
		}
		out[fault][q.h.Tenures[i].Cluster] = true
	}
	return out
}
