// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

// path is one direction between two hosts: its latency, what cuts it, and
// what waits for it to be mended.
type path struct {
	from, to *host
	latency  Latency
	rng      *pcg
	cut      bool
	cuts     uint64  // times it was cut
	conns    uint64  // connections dialled this way so far: their numbers
	stalled  []*flow // with something that arrived while it was cut
}

// path returns the path from a to b.
func (n *Network) path(a, b *host) *path {
	id := [2]uint32{a.index, b.index}
	p := n.paths[id]
	if p == nil {
		p = &path{from: a, to: b, latency: n.cfg.Latency, rng: newPCG(n.cfg.Seed, "path", a.name, b.name)}
		n.paths[id] = p
	}
	return p
}

// delay draws the latency of one flight.
func (p *path) delay() int64 {
	d := int64(p.latency.Base)
	if j := int64(p.latency.Jitter); j > 0 {
		d += int64(p.rng.below(uint64(j) + 1))
	}
	return d
}

// stall has f wait for the path to be mended.
func (p *path) stall(f *flow) {
	if !f.stalled {
		f.stalled = true
		p.stalled = append(p.stalled, f)
	}
}

// mend ends the cut; what was held is sent again.
func (p *path) mend(n *Network) {
	p.cut = false
	flows := p.stalled
	p.stalled = nil
	for _, f := range flows {
		f.stalled = false
		f.last = 0
		for _, e := range f.flight {
			if !e.parked { // else it has passed the path, and waits for a paused node
				n.cancel(e)
				f.schedule(p, e)
			}
		}
	}
}

// SetLatency changes the latency between two nodes in both directions. What
// is on its way keeps the old one.
func (n *Network) SetLatency(a, b string, l Latency) {
	n.inject("latency "+a+" "+b+" "+l.Base.String()+" "+l.Jitter.String(), func() {
		ha, hb := n.host(a), n.host(b)
		n.path(ha, hb).latency = l
		n.path(hb, ha).latency = l
	})
}

// severed reports whether nothing passes between two hosts, one way or the
// other: both are needed for a connection.
func (n *Network) severed(a, b *host) bool { return n.path(a, b).cut || n.path(b, a).cut }
