// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
)

// legKey names a session that is forwarded here.
type legKey struct {
	source  peer.ID
	session uint64
}

// leg is this node's part of a path: whom it passes the messages of one session
// and epoch on to.
type leg struct {
	// Immutable.
	from peer.ID // who sends them

	mu      sync.Mutex
	spread  // guarded by mu
	stops   []*receiver
	handles [][]*interest
	void    bool // something is missing of what came; the path will be told anew
	last    int64
	found   []*receiver // scratch
}

// legs are those of one session: the newest, and the one before, as messages
// may still come on it.
type legs struct {
	newest, before *leg
	coming         *wire.Path // parts of a path that is not whole
	told           int64      // when the last part came
}

// handlePath takes in that this node is a forwarder.
func (e *Engine) handlePath(l Link, body []byte) {
	p, err := wire.DecodePath(body)
	if err != nil {
		e.drops.Inc(dropMalformed)
		return
	}
	source := l.Peer()
	if p.Source != "" {
		source = peer.ID(p.Source)
	}
	e.told(l.Peer(), p.Source, p.Session, p.Run, p.Number, p.Group)
	k := legKey{source, p.Session}
	e.mu.Lock()
	of := e.legs[k]
	if of == nil {
		if e.closed || len(e.legs) >= maxLegs {
			e.mu.Unlock()
			e.drops.Inc(dropPath)
			return
		}
		of = &legs{}
		e.legs[k] = of
	}
	of.told = e.now()
	if of.coming != nil && of.coming.Epoch == p.Epoch && !begins(&p, of.coming) {
		p.Stops = append(of.coming.Stops, p.Stops...)
	}
	of.coming = nil
	more := p.Flags&wire.FlagMore != 0
	if more && len(p.Stops) <= maxStops {
		of.coming = &p
	}
	e.mu.Unlock()
	switch {
	case len(p.Stops) > maxStops:
		e.drops.Inc(dropPath)
	case !more:
		e.follow(of, newLeg(e, source, l.Peer(), &p))
	}
	e.armSweep()
}

// begins says whether p is told from the beginning again, because something
// came between: its stops are among those that came before.
func begins(p, before *wire.Path) bool {
	return len(p.Stops) > 0 && slices.ContainsFunc(before.Stops, func(s wire.Stop) bool { return s.Peer == p.Stops[0].Peer })
}

func newLeg(e *Engine, source, from peer.ID, p *wire.Path) *leg {
	g := &leg{from: from, last: e.now()}
	g.spread = spread{
		e: e, source: source, session: p.Session, group: p.Group, root: p.Flags&wire.FlagRoot != 0, epoch: p.Epoch, lock: &g.mu,
	}
	for _, s := range p.Stops {
		r := &receiver{
			peer: peer.ID(s.Peer), hash: hashNode(s.Peer), addrs: s.Addrs, incarnation: s.Incarnation, interests: legal(s.Interests),
			run: s.Run, number: s.Number,
		}
		g.stops = append(g.stops, r)
		g.handles = append(g.handles, g.audience.add(r))
	}
	rs := make([]*receiver, len(g.stops))
	copy(rs, g.stops)
	g.branches = grow(rs, fanOut)
	return g
}

// follow takes a leg into use, and tells those behind it.
func (e *Engine) follow(of *legs, g *leg) {
	e.mu.Lock()
	switch old := of.newest; {
	case old == nil || old.epoch == g.epoch:
		of.newest = g
	case old.epoch < g.epoch:
		of.newest, of.before = g, old
	default: // it was overtaken
		e.mu.Unlock()
		return
	}
	e.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, b := range g.branches {
		g.remind(b)
	}
}

// leg returns the leg of an epoch, or nil.
func (e *Engine) leg(k legKey, epoch uint32) *leg {
	e.mu.Lock()
	defer e.mu.Unlock()
	of := e.legs[k]
	switch {
	case of == nil:
		return nil
	case of.newest != nil && of.newest.epoch == epoch:
		return of.newest
	case of.before != nil && of.before.epoch == epoch:
		return of.before
	}
	return nil
}

// forward passes a message on. It never waits: who has no room sees a gap.
func (e *Engine) forward(l Link, source peer.ID, m *wire.Publish) {
	g := e.leg(legKey{source, m.Session}, m.Epoch)
	if g == nil || g.from != l.Peer() {
		e.drops.Inc(dropNoPath)
		e.complain(l.Peer(), m.Session, m.Epoch, e.self)
		return
	}
	publisher := source
	if m.Publisher != "" {
		publisher = peer.ID(m.Publisher)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.void {
		e.drops.Inc(dropNoPath)
		return
	}
	g.last = e.now()
	g.apply(m.Skips)
	e.counts.forwarded.Add(1)
	o := &outgoing{topic: m.Topic, picks: m.Picks, tree: true, near: [2][]byte{m.Tail}, far: [2][]byte{m.Tail}}
	g.found = g.audience.receivers(g.audience.match(m.Topic), m.Picks, publisher, g.found[:0])
	for _, r := range g.sort(g.found, true) {
		g.alone(r, o.near)
	}
	for _, b := range g.touched {
		if g.through(o, b) == full {
			g.skip(b)
		}
		b.matched = b.matched[:0]
	}
}

// alone sends a message to one that is in no branch any more.
func (g *leg) alone(r *receiver, parts [2][]byte) {
	if g.direct(r, parts) == full {
		r.number++
		g.e.drops.Inc(dropForward)
		g.owe(r)
	}
}

// apply takes in what the stops were sent on other ways.
func (g *leg) apply(skips []wire.Skip) {
	for _, s := range skips {
		if int(s.Index) >= len(g.stops) {
			continue
		}
		r := g.stops[s.Index]
		if s.Add != wire.SkipLeft {
			r.number += uint64(s.Add)
			r.passBy(uint64(s.Add))
			continue
		}
		g.audience.remove(r, g.handles[s.Index])
		r.interests, g.handles[s.Index] = nil, nil
		if !r.direct() {
			r.leave()
		}
	}
}

// complain tells the one before us on a path that somebody is not reached.
func (e *Engine) complain(to peer.ID, session uint64, epoch uint32, whom peer.ID) {
	m := wire.PathLost{Session: session, Epoch: epoch, Peer: string(whom)}
	e.pipe(to).send(destination{}, wire.KindPathLost, m.AppendTo(nil))
}

// handlePathLost takes in that a forwarder is not reached: the source makes
// another tree, forwarders pass it on.
func (e *Engine) handlePathLost(l Link, body []byte) {
	m, err := wire.DecodePathLost(body)
	if err != nil {
		e.drops.Inc(dropMalformed)
		return
	}
	for _, c := range e.allCourses() {
		if c.lostOnPath(&m) {
			return
		}
	}
	for _, g := range e.allLegs() {
		if g.session == m.Session && g.epoch == m.Epoch && g.from != l.Peer() {
			e.complain(g.from, m.Session, m.Epoch, peer.ID(m.Peer))
			return
		}
	}
}

// lostOnPath makes another tree if the path is of this session, and says whether
// it is.
func (c *course) lostOnPath(m *wire.PathLost) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != m.Session {
		return false
	}
	if c.epoch == m.Epoch && c.branches != nil {
		if r := c.receivers[peer.ID(m.Peer)]; r != nil {
			r.state.doubted = c.e.now()
		}
		c.regrow()
	}
	return true
}
