// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"github.com/arke-mesh/arke/sim/link"
)

// path is one direction between two hosts: its link, what blocks it, and what
// waits for that to end or for the bottleneck. Guarded by Network.mu.
type path struct {
	n        *Network
	from, to *host
	link     *link.Direction
	cut      bool    // what arrives is lost
	clogged  bool    // what arrives is held
	since    int64   // when the first of the two began
	conns    uint64  // connections dialled this way so far: their numbers
	corrupt  int     // deliveries that will be corrupted
	stalled  []*flow // that wait for this path to work again
	parcels  []*parcel
	pump     *event // the next parcel's turn
}

// path returns the path from a to b.
func (n *Network) path(a, b *host) *path {
	p := a.paths[b.index]
	if p == nil {
		p = &path{n: n, from: a, to: b, link: link.NewDirection(n.model(a, b), n.cfg.Seed, a.name, b.name)}
		p.cut, p.clogged = n.ruled(a, b)
		p.since = n.now()
		if p.blocked() {
			n.blocks++
		}
		a.paths[b.index] = p
	}
	return p
}

// model is what a new path from a to b has.
func (n *Network) model(a, b *host) link.Model {
	if a.local || b.local {
		return link.Model{Latency: localLatency}
	}
	m := link.Model{Latency: n.cfg.Latency.Base, Jitter: n.cfg.Latency.Jitter}
	if n.cfg.Link != nil {
		m = n.cfg.Link(a.name, b.name)
	}
	if n.calm {
		m.Loss = 0
	}
	return m
}

// SetLinks says how links behave that no node has used yet, in the place of
// Config.Link. of must not block.
func (n *Network) SetLinks(of func(from, to string) link.Model) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cfg.Link = of
}

// modelled is the model of the path from a to b, which need not exist.
func (n *Network) modelled(a, b *host) link.Model {
	if p := a.paths[b.index]; p != nil {
		return p.link.Model()
	}
	return n.model(a, b)
}

// blocked reports whether nothing passes.
func (p *path) blocked() bool { return p.cut || p.clogged }

// flight draws how long one message of a handshake takes; false means that it
// never arrives.
func (p *path) flight() (time.Duration, bool) {
	takes, broken := p.link.Flight()
	return takes, !broken
}

// SetLatency changes the latency between two nodes in both directions, and
// nothing else of their link. What is on its way keeps the old one.
func (n *Network) SetLatency(a, b string, l Latency) {
	n.inject("latency "+a+" "+b+" "+l.Base.String()+" "+l.Jitter.String(), func() {
		n.bothWays(a, b, func(p *path) {
			m := p.link.Model()
			m.Latency, m.Jitter = l.Base, l.Jitter
			p.link.SetModel(m)
		})
	})
}

// SetLink changes the link between two nodes in both directions. What is on
// its way, or in the bottleneck's queue, arrives as before.
func (n *Network) SetLink(a, b string, m link.Model) {
	n.inject("link "+a+" "+b+" "+m.String(), func() {
		n.bothWays(a, b, func(p *path) { p.link.SetModel(m) })
	})
}

func (n *Network) bothWays(a, b string, f func(*path)) {
	ha, hb := n.host(a), n.host(b)
	f(n.path(ha, hb))
	f(n.path(hb, ha))
}
