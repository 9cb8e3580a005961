// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// control is the membership of one node without goroutine, clock or socket:
// the cores, and the order in which they hear of things. Feed it with step,
// call finish once all events at hand are in, perform what that returns, and
// come back with finish at next. It reads the routing table and the node's own
// addresses through functions; everything else comes in events.
type control struct {
	self      peer.ID
	out       outbox
	reach     *reach
	finder    *finder
	calendar  *calendar
	anchor    *anchor
	registrar *registrar
	lookout   *lookout
	strays    []stray
	drops     counters
}

// controlConfig is what control needs.
type controlConfig struct {
	self        peer.ID
	incarnation uint64
	zone        string
	addrs       func() []string
	nearest     func(key overlay.Key, k int) []peer.ID
	keys        func(name string) *security.Cluster
	rand        io.Reader // seals records
	seed        uint64    // of jitter
}

func newControl(now time.Time, cfg controlConfig) *control {
	d := dice(cfg.seed)
	c := &control{self: cfg.self, drops: make(counters)}
	out := &c.out
	c.reach = newReach(cfg.self, &d, out)
	c.finder = newFinder(now, c.reach, &d, out, cfg.nearest)
	c.calendar = newCalendar(cfg.self, cfg.keys)
	c.anchor = newAnchor(cfg.self, out, c.reach, c.finder)
	c.registrar = &registrar{
		self: cfg.self, incarnation: cfg.incarnation, zone: cfg.zone, addrs: cfg.addrs, rand: cfg.rand,
		dice: &d, out: out, reach: c.reach, finder: c.finder, calendar: c.calendar,
		alone: now.Add(settleTime), enrolled: make(map[enrolmentKey]*enrolment), refused: make(counters),
	}
	c.lookout = &lookout{
		self: cfg.self, zone: cfg.zone,
		dice: &d, out: out, reach: c.reach, finder: c.finder, calendar: c.calendar,
		verify: security.VerifyProof,
		names:  make(map[string]*watched), sights: make(map[security.ClusterID]*sight),
		rejected: make(counters),
	}
	return c
}

// step takes in one event.
func (c *control) step(now time.Time, e event) {
	e.apply(c, now)
	c.spread(now)
}

// finish does what is due, makes known what changed, and returns what has to
// be done outside, in order. Messages to this node itself do not leave it.
func (c *control) finish(now time.Time) []action {
	var actions []action
	for {
		c.tick(now)
		c.anchor.flush(now)
		c.lookout.flush(now)
		c.spread(now)
		if len(c.out.actions) == 0 {
			return actions
		}
		done := c.out.actions
		c.out.actions = nil
		for _, a := range done {
			if s, ok := a.(sendAction); ok && s.to == c.self {
				c.receive(now, c.self, s.msg)
				c.spread(now)
			} else {
				actions = append(actions, a)
			}
		}
	}
}

// next is when finish has to be called at the latest; zero = when something
// happens.
func (c *control) next() time.Time {
	var first alarm
	for _, a := range []alarm{
		c.reach.alarm, c.finder.alarm, c.calendar.alarm, c.anchor.alarm, c.registrar.alarm, c.lookout.alarm,
	} {
		if !a.at.IsZero() {
			first.plan(a.at)
		}
	}
	return first.at
}

func (c *control) tick(now time.Time) {
	c.reach.tick(now)
	c.spread(now)
	c.finder.tick(now)
	for _, name := range c.calendar.tick(now) {
		c.registrar.turned(now, name)
		c.lookout.turned(now, name)
	}
	c.registrar.tick(now)
	c.lookout.tick(now)
}

// spread tells the cores what reach and finder have concluded, until there is
// no more news.
func (c *control) spread(now time.Time) {
	for {
		switch {
		case len(c.reach.events) > 0:
			p := c.reach.events[0]
			c.reach.events = c.reach.events[1:]
			c.finder.peerChanged(now, p)
			c.anchor.peerChanged(p)
			c.registrar.peerChanged(now, p)
			c.lookout.peerChanged(now, p)
		case len(c.finder.events) > 0:
			cid := c.finder.events[0]
			c.finder.events = c.finder.events[1:]
			c.anchor.ringChanged(cid)
			c.registrar.ringChanged(now, cid)
			c.lookout.ringChanged(now, cid)
		default:
			return
		}
	}
}

// receive takes in a message. One from a link that is down is late: what it
// asks for would never end.
func (c *control) receive(now time.Time, from peer.ID, m message) {
	if c.reach.session(from) == 0 {
		c.drops.add("frame_without_link")
		return
	}
	switch m := m.(type) {
	case *registeredMsg:
		c.tell(now, m.cid, from, m.anchors)
		c.registrar.registered(now, from, m)
	case *snapshotMsg:
		c.tell(now, m.cid, from, m.anchors)
		c.lookout.snapshot(now, from, m)
	case *deltaMsg:
		c.tell(now, m.cid, from, m.anchors)
		c.lookout.delta(now, from, m)
	default:
		c.anchor.receive(now, from, m)
	}
}

func (c *control) tell(now time.Time, cid security.ClusterID, from peer.ID, anchors []peer.ID) {
	if len(anchors) > 0 {
		c.finder.tell(now, cid, from, anchors)
	}
}

// link takes in a change of a link.
func (c *control) link(now time.Time, e PeerEvent) {
	if e.Peer == c.self {
		return
	}
	switch e.Type {
	case PeerUp:
		if c.reach.session(e.Peer) != 0 {
			c.link(now, PeerEvent{Type: PeerDown, Peer: e.Peer})
		}
		c.reach.up(e.Peer, e.Session)
		c.spread(now)
		c.recall(e.Peer, e.Session)
	case PeerDown:
		c.reach.down(now, e.Peer)
		c.anchor.down(now, e.Peer)
	case PeerSuspect, PeerRecovered:
		on := e.Type == PeerSuspect
		c.reach.setSuspect(e.Peer, on)
		c.anchor.suspected(e.Peer, on)
	case PeerDialFailed:
		c.reach.dialFailed(now, e.Peer)
	}
}
