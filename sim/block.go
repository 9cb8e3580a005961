// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"maps"
	"slices"
	"strings"
)

// rule says for two sets of hosts which of the paths between them that do not
// exist yet are blocked: the last rule that fits decides.
type rule struct {
	from, to map[uint32]bool
	clog     bool // else it is about a cut
	on       bool
}

// fewPaths is how many paths are made rather than ruled.
const fewPaths = 64

// ruled applies the rules to a new path.
func (n *Network) ruled(a, b *host) (cut, clogged bool) {
	for _, r := range n.rules {
		switch {
		case !r.from[a.index] || !r.to[b.index]:
		case r.clog:
			clogged = r.on
		default:
			cut = r.on
		}
	}
	return cut, clogged
}

// severed reports whether nothing passes between two hosts, one way or the
// other: both are needed for a connection. It makes no path.
func (n *Network) severed(a, b *host) bool {
	if n.blocks == 0 && len(n.rules) == 0 {
		return false
	}
	return n.deadEnd(a, b) || n.deadEnd(b, a)
}

func (n *Network) deadEnd(a, b *host) bool {
	if p := a.paths[b.index]; p != nil {
		return p.blocked()
	}
	cut, clogged := n.ruled(a, b)
	return cut || clogged
}

// Partition cuts every path between a node of a and one of b, in both
// directions: a black hole. What is on its way is lost, and sent again after
// Heal or Mend as TCP does it, at the next of its retransmissions: within a
// second, as package p2p asks of the kernel.
func (n *Network) Partition(a, b []string) {
	n.inject("partition "+strings.Join(a, ",")+" from "+strings.Join(b, ","), func() {
		n.block(a, b, false, true)
		n.block(b, a, false, true)
	})
}

// CutOneWay cuts every path from a node of from to one of to. The other way
// works for as long as a sender does without acknowledgements, which is about
// link.MinRTO; what is sent later waits for Mend as well. New connections need
// both ways.
func (n *Network) CutOneWay(from, to []string) {
	n.inject("cut "+strings.Join(from, ",")+" to "+strings.Join(to, ","), func() { n.block(from, to, false, true) })
}

// Mend ends the cut of every path from a node of from to one of to.
func (n *Network) Mend(from, to []string) {
	n.inject("mend "+strings.Join(from, ",")+" to "+strings.Join(to, ","), func() { n.block(from, to, false, false) })
}

// Clog holds everything that arrives on the paths from a node of from to one of
// to, until it is called again with on unset; then all of it arrives, in
// order. Nothing is lost and nothing breaks, except for connections on which
// that lasts for Config.DeadAfter. New ones are not made meanwhile.
func (n *Network) Clog(from, to []string, on bool) {
	name := "clog "
	if !on {
		name = "unclog "
	}
	n.inject(name+strings.Join(from, ",")+" to "+strings.Join(to, ","), func() { n.block(from, to, true, on) })
}

// Heal mends every path: it ends all of Partition, CutOneWay and Clog.
func (n *Network) Heal() { n.inject("heal", n.heal) }

func (n *Network) heal() {
	n.rules = nil
	if n.blocks == 0 {
		return
	}
	for _, h := range n.hosts {
		for _, p := range h.sortedPaths() {
			p.block(false, false)
			p.block(true, false)
		}
	}
}

// block blocks or frees the paths from one set of nodes to another one.
func (n *Network) block(from, to []string, clog, on bool) {
	few := len(from)*len(to) <= fewPaths
	r := rule{from: n.indexes(from), to: n.indexes(to), clog: clog, on: on}
	for _, index := range slices.Sorted(maps.Keys(r.from)) {
		a := n.byIndex[index]
		if few {
			for _, name := range to {
				if b := n.host(name); a != b {
					n.path(a, b)
				}
			}
		}
		for _, p := range a.sortedPaths() {
			if r.to[p.to.index] {
				p.block(clog, on)
			}
		}
	}
	if !few {
		n.rules = append(n.rules, r)
	}
}

func (n *Network) indexes(names []string) map[uint32]bool {
	set := make(map[uint32]bool, len(names))
	for _, name := range names {
		set[n.host(name).index] = true
	}
	return set
}

func (h *host) sortedPaths() []*path {
	list := make([]*path, 0, len(h.paths))
	for _, index := range slices.Sorted(maps.Keys(h.paths)) {
		list = append(list, h.paths[index])
	}
	return list
}

// block blocks or frees one path. Connections on a blocked one break when the
// keepalive runs out.
func (p *path) block(clog, on bool) {
	state := &p.cut
	if clog {
		state = &p.clogged
	}
	if *state == on {
		return
	}
	was := p.blocked()
	*state = on
	if on {
		if !was {
			p.n.blocks++
			p.since = p.n.now()
			p.expire()
		}
		return
	}
	if p.blocked() {
		return
	}
	p.n.blocks--
	flows := p.stalled
	p.stalled = nil
	for _, f := range flows {
		f.resume()
	}
	p.feed()
}

// expire plans the end of the path's connections.
func (p *path) expire() {
	for _, h := range []*host{p.from, p.to} {
		other := p.from
		if h == p.from {
			other = p.to
		}
		if h.proc == nil {
			continue
		}
		for _, c := range h.proc.conns[other.index] {
			c.expire(c.endOf(h.proc))
		}
	}
}
