// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// few is which part of a node's links a fault may hit without disturbing the node: less
// than one of so many. What such a node knows, it hears from all the others; only of the
// nodes at the other ends nothing is demanded.
const few = 4

// parting is a fault of links as one of the nodes that it hits sees it.
type parting struct {
	when   span            // while it stood
	others map[string]bool // at the other ends, without clients
}

// linkFaults are the faults that hit links, and not whole nodes. They never change after
// newLinkFaults.
type linkFaults struct {
	lives *lives
	grace time.Duration        // how long a fault is felt after its end
	of    map[string][]parting // node → those that hit links of it
	whole map[string]spans     // node → while they hit so many of its links that it is disturbed
}

func newLinkFaults(l *lives, r *Rules) *linkFaults {
	x := &linkFaults{lives: l, grace: r.Converge, of: make(map[string][]parting), whole: make(map[string]spans)}
	for _, fault := range l.h.Faults {
		if !ofLinks(fault) || !disturbs(fault.Do) || Undoes(fault) {
			continue
		}
		var ends [2]map[string]bool
		for i, side := range fault.Between {
			ends[i] = make(map[string]bool, len(side))
			for _, node := range side {
				ends[i][l.carrier(node)] = true
			}
		}
		for i := range ends {
			for node := range ends[i] {
				x.of[node] = append(x.of[node], parting{span{fault.At, max(Over(l.h, fault), plus(fault.At, 1))}, ends[1-i]})
			}
		}
	}
	nodes := 0
	for name := range l.byName {
		if l.carrier(name) == name {
			nodes++
		}
	}
	for node, list := range x.of {
		x.whole[node] = disturbed(node, list, nodes-1)
	}
	return x
}

// ofLinks says whether a fault hits links between two sides.
func ofLinks(fault history.Fault) bool { return len(fault.Between) == 2 }

// disturbed is while a node with so many links has too few that no fault hits.
func disturbed(node string, list []parting, links int) spans {
	var turns []time.Duration
	for _, p := range list {
		turns = append(turns, p.when.from, p.when.until)
	}
	slices.Sort(turns)
	turns = slices.Compact(turns)
	var out []span
	for i := 1; i < len(turns); i++ {
		s := span{turns[i-1], turns[i]}
		hit := make(map[string]bool)
		for _, p := range list {
			if p.when.meet(s).empty() {
				continue
			}
			for other := range p.others {
				if other != node {
					hit[other] = true
				}
			}
		}
		if few*len(hit) >= links && len(hit) > 0 {
			out = append(out, s)
		}
	}
	return merged(out)
}

// touches says whether a fault that disturbs can have come between two nodes: one of links
// that hits few of theirs has not, unless it hits the one between them.
func (d *disturbance) touches(fault history.Fault, a, b string) bool {
	if !ofLinks(fault) {
		return true
	}
	while := span{fault.At, plus(Over(d.h, fault), 1)}
	return d.bare[a].touches(while) || d.bare[b].touches(while) || slices.ContainsFunc(fault.Between, func(side []string) bool {
		return slices.Contains(side, d.lives.carrier(a))
	}) && slices.ContainsFunc(fault.Between, func(side []string) bool { return slices.Contains(side, d.lives.carrier(b)) }) && d.linkHit(a, b, false, while)
}

// between appends to out while faults hit the link between two nodes, and, if felt, for
// how long they are felt afterwards.
func (x *linkFaults) between(a, b string, felt bool, out []span) []span {
	a, b = x.lives.carrier(a), x.lives.carrier(b)
	list, other := x.of[a], b
	if len(x.of[b]) < len(list) {
		list, other = x.of[b], a
	}
	for _, p := range list {
		if !p.others[other] {
			continue
		}
		s := p.when
		if felt {
			s.until = plus(s.until, x.grace)
		}
		out = append(out, s)
	}
	return out
}
