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
	h     *history.History
	rules *Rules
	lives *lives

	bare   map[string]spans // node → while a fault stood
	grace  map[string]spans // node → and for the convergence bound after it
	orphan map[string]spans // client → while its relay was away, and for that bound after it
	skew   map[string]spans // node → while its clock was wrong

	endedBy []int         // registration → the fault that ended it, or -1
	last    time.Duration // when the last fault was over, or the last node was started; at least Start
}

func newDisturbance(m *registrations, r *Rules) *disturbance {
	d := &disturbance{h: m.h, rules: r, lives: m.lives}
	d.blameFaults(m)
	bare, grace, skew, orphan := make(map[string][]span), make(map[string][]span), make(map[string][]span), make(map[string][]span)
	for i := range d.h.Faults {
		fault := &d.h.Faults[i]
		if Undoes(fault) {
			continue
		}
		over := Over(d.h, fault)
		if fault.Do == "skew" {
			for _, node := range fault.Nodes {
				skew[node] = append(skew[node], span{fault.At, max(over, d.h.Safety)})
			}
		}
		d.orphans(fault, orphan)
		if !disturbs(fault.Do) {
			continue
		}
		for _, node := range d.hit(fault) {
			bare[node] = append(bare[node], span{fault.At, over})
			grace[node] = append(grace[node], span{fault.At, plus(over, d.rules.Converge)})
		}
	}
	d.bare, d.grace, d.skew, d.orphan = eachMerged(bare), eachMerged(grace), eachMerged(skew), eachMerged(orphan)
	return d
}

func eachMerged(lists map[string][]span) map[string]spans {
	out := make(map[string]spans, len(lists))
	for node, list := range lists {
		out[node] = merged(list)
	}
	return out
}

// hit lists the nodes that a fault hits: everybody, if it does not say.
func (d *disturbance) hit(fault *history.Fault) []string {
	nodes := d.lives.withClients(slices.Concat(fault.Nodes, slices.Concat(fault.Between...)))
	if len(nodes) == 0 {
		for name := range d.lives.byName {
			nodes = append(nodes, name)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// pair says whether one of two nodes was disturbed at any time in s, or a
// disturbance of theirs had been over for less than the convergence bound.
func (d *disturbance) pair(a, b string, s span) bool {
	return d.node(a, s) || d.node(b, s)
}

// node is pair for one.
func (d *disturbance) node(a string, s span) bool {
	return d.grace[a].touches(s) || d.orphan[a].touches(s)
}

// standing says whether a fault of one of two nodes stood at any time in s.
func (d *disturbance) standing(a, b string, s span) bool {
	return d.bare[a].touches(s) || d.bare[b].touches(s)
}

// excused is how much of s an observer that is disturbed is not held to: what
// is left is appended to out.
func (d *disturbance) excused(node string, s span, out []span) []span {
	for _, rest := range d.grace[node].cut(s, nil) {
		out = d.orphan[node].cut(rest, out)
	}
	return out
}

// quiet says whether no fault at all began before t.
func (d *disturbance) quiet(t time.Duration) bool {
	for i := range d.h.Faults {
		if fault := &d.h.Faults[i]; fault.At <= t && !Undoes(fault) {
			return false
		}
	}
	return true
}

// blameFaults finds the last fault, and which registrations faults ended.
func (d *disturbance) blameFaults(m *registrations) {
	d.endedBy = make([]int, len(d.h.Tenures))
	for i := range d.endedBy {
		d.endedBy[i] = -1
	}
	d.last = d.h.Start
	for i := range d.h.Nodes {
		d.last = max(d.last, d.h.Nodes[i].From)
	}
	for i := range d.h.Faults {
		fault := &d.h.Faults[i]
		// What undoes a fault is that fault's end; alone, such as the heal before
		// the liveness phase, it changes nothing.
		if !Undoes(fault) {
			d.last = max(d.last, fault.At, Over(d.h, fault))
		}
		if removes(fault.Do) {
			for _, node := range d.lives.withClients(fault.Nodes) {
				d.blame(m, i, node)
			}
		}
	}
}

// blame notes which registrations of the node a fault ended: the last such
// fault before it counts.
func (d *disturbance) blame(m *registrations, fault int, node string) {
	at := d.h.Faults[fault].At
	for _, i := range m.byNode[node] {
		t := &d.h.Tenures[i]
		if t.Leaving < 0 || at < t.Asked || at > plus(t.Leaving, time.Second) {
			continue
		}
		if d.endedBy[i] < 0 || d.h.Faults[d.endedBy[i]].At <= at {
			d.endedBy[i] = fault
		}
	}
}

// skewed says whether the node's clock may have been wrong in s.
func (d *disturbance) skewed(node string, s span) bool {
	return d.skew[node].touches(s)
}
