// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// laneNames are the lanes, in the order of history.Sample.
var laneNames = [4]string{"ctl", "rpc", "pub", "bulk"}

// traffic is what one node sent over time.
type traffic struct {
	rate  [4][]float64 // bytes by bucket
	total [4]float64
}

// measure spreads the bytes between two samples of a life evenly over the time
// between them.
func measure(a axis, h *history.History) map[string]*traffic {
	all := map[string]*traffic{}
	last := map[string]history.Sample{}
	births := map[string][]time.Duration{}
	for i := range h.Nodes {
		births[h.Nodes[i].Name] = append(births[h.Nodes[i].Name], h.Nodes[i].From)
	}
	for i := range h.Samples {
		s := h.Samples[i]
		t := all[s.Node]
		if t == nil {
			t = &traffic{}
			for lane := range t.rate {
				t.rate[lane] = make([]float64, a.n)
			}
			all[s.Node] = t
		}
		before, known := last[s.Node]
		last[s.Node] = s
		for lane, sent := range s.Sent {
			from := before.At
			if !known || sent < before.Sent[lane] { // another life
				before.Sent[lane] = 0
				from = birth(births[s.Node], s.At)
			}
			bytes := float64(sent - before.Sent[lane])
			t.total[lane] += bytes
			a.spread(t.rate[lane], from, s.At, bytes)
		}
	}
	return all
}

// birth returns the last of the births until a time.
func birth(all []time.Duration, at time.Duration) time.Duration {
	var last time.Duration
	for _, b := range all {
		if b <= at {
			last = max(last, b)
		}
	}
	return last
}

// weights says how directly faults hit each node: a fault of one node counts
// one, a fault of a hundred a hundredth for each.
func weights(h *history.History) map[string]float64 {
	w := map[string]float64{}
	for _, f := range h.Faults {
		for _, n := range f.Nodes {
			w[n] += 1 / float64(len(f.Nodes))
		}
	}
	return w
}

// pickNodes keeps at most n nodes: half of them those that faults hit most
// directly, then members, callers and some others. The result is in the order
// of names.
func pickNodes(h *history.History, n int) []string {
	all := names(h)
	if len(all) <= n {
		return all
	}
	role := map[string]int{} // 3 a member, 2 a caller, 1 neither
	for i := range h.Requests {
		role[h.Requests[i].Caller] = 2
	}
	for _, t := range h.Tenures {
		role[t.Node] = 3
	}
	weight := weights(h)
	// Among nodes that were hit as directly, members say most.
	slices.SortStableFunc(all, func(x, y string) int {
		return cmp.Or(cmp.Compare(weight[y], weight[x]), cmp.Compare(role[y], role[x]))
	})
	kept := map[string]bool{}
	keep := func(most int, fits func(name string) bool) {
		for _, name := range all {
			if most > 0 && len(kept) < n && !kept[name] && fits(name) {
				kept[name] = true
				most--
			}
		}
	}
	keep((n+1)/2, func(name string) bool { return weight[name] > 0 })
	keep((n+3)/4, func(name string) bool { return role[name] == 3 })
	keep((n+7)/8, func(name string) bool { return role[name] == 2 })
	keep(n, func(string) bool { return true })
	return slices.SortedFunc(maps.Keys(kept), natural)
}
