// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"cmp"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// handlePeerEvent takes in what happened to a link.
func (e *Engine) handlePeerEvent(ev overlay.PeerEvent) {
	e.mu.Lock()
	q, closed := e.pipes[ev.Peer], e.closed
	e.mu.Unlock()
	if closed {
		return
	}
	switch ev.Type {
	case overlay.LinkUp:
		if q != nil {
			q.up()
			e.reached(ev.Peer, q)
		}
	case overlay.LinkDown, overlay.DialFailed:
		if q != nil {
			q.down(ev.Type == overlay.DialFailed)
		}
		e.unreached(ev.Peer)
	}
}

// reached tells a node that was lost what it may have missed.
func (e *Engine) reached(p peer.ID, q *pipe) {
	for _, c := range e.allCourses() {
		c.mu.Lock()
		if r := c.receivers[p]; r != nil && r.state.told != q.lossCount() {
			r.state.told = q.lossCount()
			if r.branch != nil && r.index < 0 {
				c.remind(r.branch)
			} else {
				c.mark(r)
			}
		}
		c.mu.Unlock()
	}
	for _, g := range e.allLegs() {
		g.mu.Lock()
		for _, b := range g.branches {
			if b.head.peer == p && !b.known {
				g.remind(b)
			}
		}
		g.mu.Unlock()
	}
}

// unreached has trees made anew that lead through the node, and voids what it
// told.
func (e *Engine) unreached(p peer.ID) {
	for _, c := range e.allCourses() {
		c.mu.Lock()
		if r := c.receivers[p]; r != nil {
			if r.branch != nil && r.index < 0 && len(r.branch.stops) > 0 {
				r.state.doubted = e.now()
				c.regrow()
			}
			if r.number > 0 && r.state.gone == 0 && (r.branch == nil || r.index < 0) {
				e.pipe(p).want(r.addrs)
			}
		}
		c.mu.Unlock()
	}
	for _, g := range e.allLegs() {
		g.mu.Lock()
		g.void = g.void || g.from == p
		lost := false
		for _, b := range g.branches {
			if b.head.peer == p {
				b.known = false
				lost = lost || len(b.stops) > 0
				if b.head.number > 0 && !g.void {
					e.pipe(p).want(b.head.addrs)
				}
			}
		}
		g.mu.Unlock()
		if lost {
			e.complain(g.from, g.session, g.epoch, p)
		}
	}
	e.leaveUpward(p)
}

// allCourses returns them in a fixed order.
func (e *Engine) allCourses() []*course {
	e.mu.Lock()
	defer e.mu.Unlock()
	return sorted(e.courses, func(c *course) string { return c.name })
}

// allLegs returns the newest of each session, in a fixed order.
func (e *Engine) allLegs() []*leg {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]*leg, 0, len(e.legs))
	for _, of := range e.legs {
		if of.newest != nil {
			out = append(out, of.newest)
		}
		if of.before != nil {
			out = append(out, of.before)
		}
	}
	slices.SortFunc(out, func(a, b *leg) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.session, b.session), cmp.Compare(b.epoch, a.epoch))
	})
	return out
}
