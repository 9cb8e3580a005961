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
	q, in, closed := e.pipes[ev.Peer], e.inlets[ev.Peer], e.closed
	e.mu.Unlock()
	if closed {
		return
	}
	if in != nil && ev.Type == overlay.LinkDown {
		in.ended()
	}
	if q == nil { // then nothing leads there
		return
	}
	switch ev.Type {
	case overlay.LinkUp:
		q.up(ev.Session)
		e.reached(ev.Peer, q)
	case overlay.LinkRecovered:
		e.reached(ev.Peer, q)
	case overlay.LinkSuspect:
		q.undoubted()
	case overlay.LinkDown:
		doubtful := q.down(ev.Session)
		e.complainOf(ev.Peer)
		if !doubtful {
			e.unreached(ev.Peer)
		}
	case overlay.DialFailed:
		q.dialFailed()
		e.complainOf(ev.Peer)
		e.unreached(ev.Peer)
		q.undoubted()
	}
}

// reached tells a node that was lost, or suspect, what it may have missed.
func (e *Engine) reached(p peer.ID, q *pipe) {
	for _, c := range e.allCourses() {
		c.mu.Lock()
		r := c.receivers[p]
		if r != nil && r.branch == nil {
			c.stale = true // it may have been left out of the tree
		}
		if r != nil && r.state.told != q.lossCount() {
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

// unreached has the trees of what is published here made anew if they lead
// through the node.
func (e *Engine) unreached(p peer.ID) {
	for _, c := range e.allCourses() {
		c.mu.Lock()
		if r := c.receivers[p]; r != nil {
			if r.branch != nil && r.index < 0 && len(r.branch.stops) > 0 {
				r.state.doubted = e.now()
				c.regrow()
			}
			c.stale = c.stale || r.branch == nil && !r.pipe(e).mayLack()
			if r.number > 0 && r.state.gone == 0 && (r.branch == nil || r.index < 0) {
				r.pipe(e).want(r.addrs)
			}
		}
		c.mu.Unlock()
	}
	e.leaveUpward(p)
}

// complainOf tells the sources of what is passed on through the node that it is
// not reached. They can't wait, so it is told at once.
func (e *Engine) complainOf(p peer.ID) {
	for _, g := range e.allLegs() {
		g.mu.Lock()
		lost := false
		for _, b := range g.branches {
			if b.head.peer == p {
				lost = lost || len(b.stops) > 0
				b.known = false
				if len(b.stops) > 0 && !g.void {
					g.replay(b)
				}
				if b.head.number > 0 && !g.void {
					b.head.pipe(e).want(b.head.addrs)
				}
			}
		}
		g.mu.Unlock()
		if lost {
			e.complain(g.from, g.session, g.epoch, p)
		}
	}
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
