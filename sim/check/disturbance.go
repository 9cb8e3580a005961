// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// disturbance is when faults kept nodes from seeing others and from being
// seen. A node counts as disturbed as soon as one of its links is: which nodes
// hold the leases that it depends on is not in a history.
type disturbance struct {
	bare   map[string]spans // node → while a fault stood
	grace  map[string]spans // node → and for the convergence bound after it
	skew   map[string]spans // node → while its clock was wrong
	faulty spans            // while any fault stood, of whatever kind, and for that bound after it
}

func newDisturbance(f *facts) *disturbance {
	bare, grace, skew := make(map[string][]span), make(map[string][]span), make(map[string][]span)
	var faulty []span
	for i := range f.h.Faults {
		fault := &f.h.Faults[i]
		if undoes(fault) {
			continue
		}
		over := f.over(fault)
		faulty = append(faulty, span{fault.At, plus(over, f.rules.Converge)})
		if fault.Do == "skew" {
			for _, node := range fault.Nodes {
				skew[node] = append(skew[node], span{fault.At, max(over, f.h.Safety)})
			}
		}
		if !disturbs(fault.Do) {
			continue
		}
		for _, node := range f.hit(fault) {
			bare[node] = append(bare[node], span{fault.At, over})
			grace[node] = append(grace[node], span{fault.At, plus(over, f.rules.Converge)})
		}
	}
	return &disturbance{bare: eachMerged(bare), grace: eachMerged(grace), skew: eachMerged(skew), faulty: merged(faulty)}
}

func eachMerged(lists map[string][]span) map[string]spans {
	out := make(map[string]spans, len(lists))
	for node, list := range lists {
		out[node] = merged(list)
	}
	return out
}

// hit lists the nodes that a fault hits: everybody, if it does not say.
func (f *facts) hit(fault *history.Fault) []string {
	nodes := slices.Concat(fault.Nodes, slices.Concat(fault.Between...))
	if len(nodes) == 0 {
		for name := range f.lives {
			nodes = append(nodes, name)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// pair says whether one of two nodes was disturbed at any time in s, or a
// disturbance of theirs had been over for less than the convergence bound.
func (d *disturbance) pair(a, b string, s span) bool {
	return d.grace[a].touches(s) || d.grace[b].touches(s)
}

// standing says whether a fault of one of two nodes stood at any time in s.
func (d *disturbance) standing(a, b string, s span) bool {
	return d.bare[a].touches(s) || d.bare[b].touches(s)
}

// excused is how much of s an observer that is disturbed is not held to: what
// is left is appended to out.
func (d *disturbance) excused(node string, s span, out []span) []span {
	return d.grace[node].cut(s, out)
}

// calmly says whether no fault stood or had just ended in s.
func (d *disturbance) calmly(s span) bool { return !d.faulty.touches(s) }

// quiet says whether no fault at all began before t.
func (f *facts) quiet(t time.Duration) bool {
	for i := range f.h.Faults {
		if fault := &f.h.Faults[i]; fault.At <= t && !undoes(fault) {
			return false
		}
	}
	return true
}
