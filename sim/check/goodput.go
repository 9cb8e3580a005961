// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"time"
)

// goodputWindow is the least length of a window in which goodput is measured, and
// goodputRuns how many times as long as a handler takes it is at least.
const (
	goodputWindow = time.Second
	goodputRuns   = 10
)

func goodputMetrics() []MetricInfo {
	return perWork([]MetricInfo{{
		Name: "goodput_min", Unit: Percent,
		Meaning: "of what the members of the cluster can do, or of what was asked of them if that is less, what came of it in time: replies, answers to surveys, and handled pushes and broadcasts whose handler began before the deadline, of all works on this cluster; in the worst window while the work lasted. A window is a second, or ten times what a handler takes; the first one does not count. Only for handlers of kind slow",
	}}, nil)
}

// goodput is what was asked of one cluster, and what came of it in time.
type goodput struct {
	asked []asking
	good  []time.Duration
}

// asking is a message of a work.
type asking struct {
	at      time.Duration
	members bool // it goes to each of them
	work    string
}

// measureGoodput finds out how much of what members can do was of use.
func measureGoodput(q *requests, s metrics) {
	of := make(map[string]*goodput)
	for i := range q.h.Requests {
		r := &q.h.Requests[i]
		if r.Work == probe {
			continue
		}
		g := entry(of, r.Cluster)
		g.asked = append(g.asked, asking{r.Sent, r.Many(), r.Work})
		switch {
		case r.Kind == "survey":
			for _, a := range r.Answers {
				g.add(a.At)
			}
		case r.Kind == "push" || r.Kind == "broadcast":
			for _, n := range q.runs[i] {
				if run := &q.h.Runs[n]; run.Began <= r.Deadline {
					g.add(run.Ended)
				}
			}
		case Outcome(r) == "reply":
			g.add(r.Ended)
		}
	}
	worst, windows := make(map[string]float64), make(map[string]int)
	for cluster, g := range of {
		g.measure(q.members, cluster, func(work string, share float64) {
			for _, name := range labels(work) {
				if n := windows[name]; n == 0 || share < worst[name] {
					worst[name] = share
				}
				windows[name]++
			}
		})
	}
	for name, share := range worst {
		s.sampled(named("goodput_min", name), share, Percent, windows[name])
	}
}

// add counts what came of a message, if it did.
func (g *goodput) add(at time.Duration) {
	if at >= 0 {
		g.good = append(g.good, at)
	}
}

// measure calls found for each window of each work on a cluster.
func (g *goodput) measure(m *registrations, cluster string, found func(work string, share float64)) {
	slices.Sort(g.good)
	slices.SortStableFunc(g.asked, func(a, b asking) int { return cmp.Compare(a.at, b.at) })
	length := goodputWindow
	for _, t := range m.of[cluster] {
		length = max(length, goodputRuns*min(m.h.Tenures[t].Work, time.Hour))
	}
	lasts := make(map[string]span)
	for _, a := range g.asked {
		l, ok := lasts[a.work]
		if !ok {
			l.from = a.at
		}
		lasts[a.work] = span{l.from, a.at}
	}
	for work, l := range lasts {
		for from := plus(l.from, length); minus(l.until, from) >= length*9/10; from = plus(from, length) {
			w := span{from, plus(from, length)}
			if next := g.asked[g.first(from)].at; minus(next, from) >= length {
				from = plus(from, minus(next, from)/length*length-length)
				continue
			}
			if can := min(g.demand(m, cluster, w), able(m, cluster, w)); can > 0 {
				found(work, min(100, 100*float64(within(g.good, w))/can))
			}
		}
	}
}

// demand is what was asked within a window, of all members together.
func (g *goodput) demand(m *registrations, cluster string, w span) (sum float64) {
	for _, a := range g.asked[g.first(w.from):] {
		switch {
		case a.at >= w.until:
			return sum
		case a.members:
			for _, t := range m.of[cluster] {
				if live := truth(&m.h.Tenures[t]); live.from <= a.at && a.at < live.until {
					sum++
				}
			}
		default:
			sum++
		}
	}
	return sum
}

// first finds the first message from a time on.
func (g *goodput) first(from time.Duration) int {
	i, _ := slices.BinarySearchFunc(g.asked, from, func(a asking, at time.Duration) int { return cmp.Compare(a.at, at) })
	return i
}

// able is what the members of a cluster can do within a window.
func able(m *registrations, cluster string, w span) (sum float64) {
	for _, t := range m.of[cluster] {
		if v := &m.h.Tenures[t]; v.Work > 0 {
			live := w.meet(truth(v))
			sum += float64(v.Places) * float64(max(0, live.until-live.from)) / float64(v.Work)
		}
	}
	return sum
}
