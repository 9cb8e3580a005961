// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// Times of authority: an anchor calls a cluster empty only if it can know.
const (
	settleTime  = 1500 * time.Millisecond // alone, or with the same neighbours, for so long
	hintRetry   = 500 * time.Millisecond  // a co-anchor that did not answer is asked again
	hintRefresh = 3 * time.Second         // an answer is asked for again after this, doubled each time …
	hintLongest = time.Minute
	hintGrace   = 3 * time.Second // … and believed for so much longer
)

// opinion is what one co-anchor says of a cluster that has no lease here.
type opinion struct {
	peer   peer.ID
	leases int
	until  time.Time // it is believed; zero = never heard

	asked    time.Time
	answered bool          // since asked
	lasts    time.Duration // until it is asked again
}

// judge says whether this node may call b's cluster empty, and sees to it that
// it can as soon as possible: co-anchors are asked while somebody watches a
// cluster without leases.
func (a *anchor) judge(now time.Time, b *book) bool {
	b.nextCheck = time.Time{}
	if consults := len(b.watchers) > 0 && len(b.leases) == 0; consults != b.consults {
		b.consults = consults
		a.finder.connect(now, b.ring, consults)
	}
	if !b.consults {
		b.opinions = nil
		return a.grounded(now, b)
	}
	a.consult(now, b)
	agree := 1 // this node
	for _, o := range b.opinions {
		switch {
		case !now.Before(o.until):
		case o.leases > 0:
			return false
		default:
			agree++
		}
	}
	return a.grounded(now, b) && agree >= majority(len(b.ring.anchors))
}

// grounded says whether this node is an anchor, knows of nobody else who may be
// one, and has had the same neighbours for a while; to be alone is a
// neighbourhood too. A member whose link broke gets as much time to come back.
// If only time is missing it plans to look again.
func (a *anchor) grounded(now time.Time, b *book) bool {
	if !b.ring.isAnchor(a.self) || b.ring.unsure {
		return false
	}
	from := b.ring.since
	if b.orphaned.After(from) {
		from = b.orphaned
	}
	if at := from.Add(settleTime); now.Before(at) {
		a.check(b, at)
		return false
	}
	return true
}

// check plans to judge b again at that time.
func (a *anchor) check(b *book, at time.Time) {
	if b.nextCheck.IsZero() || at.Before(b.nextCheck) {
		b.nextCheck = at
	}
	a.alarm.plan(b.nextCheck)
}

// consult keeps the opinions of the current co-anchors fresh.
func (a *anchor) consult(now time.Time, b *book) {
	var opinions []opinion
	for _, p := range b.ring.anchors {
		if p == a.self {
			continue
		}
		if o := b.opinion(p); o != nil {
			opinions = append(opinions, *o)
		} else {
			opinions = append(opinions, opinion{peer: p})
		}
	}
	b.opinions = opinions
	for i := range b.opinions {
		o := &b.opinions[i]
		if a.reach.session(o.peer) == 0 {
			continue // peerChanged comes
		}
		wait := hintRetry
		if o.answered {
			wait = o.lasts
		}
		if at := o.asked.Add(wait); now.Before(at) {
			a.check(b, at)
			continue
		}
		o.asked, o.answered = now, false
		a.check(b, now.Add(hintRetry))
		a.out.send(o.peer, &hintMsg{cid: b.cid, wantReply: true, anchors: b.ring.anchors})
	}
}

// doubt has the co-anchors asked soon again: somebody new wants to know.
func (b *book) doubt(now time.Time) {
	for i := range b.opinions {
		o := &b.opinions[i]
		o.lasts = min(o.lasts, hintRefresh)
		if until := now.Add(hintGrace); o.until.After(until) {
			o.until = until
		}
	}
}

func (b *book) opinion(p peer.ID) *opinion {
	for i := range b.opinions {
		if b.opinions[i].peer == p {
			return &b.opinions[i]
		}
	}
	return nil
}

// hint takes in what a co-anchor says, and answers. Its anchors may be news
// here: then the ring changes, and with it the ground this node stands on.
func (a *anchor) hint(now time.Time, from peer.ID, m *hintMsg) {
	b := a.books[m.cid]
	a.finder.tell(now, m.cid, from, m.anchors)
	if m.wantReply {
		a.answer(from, m, b)
	}
	if b == nil {
		return
	}
	if o := b.opinion(from); o != nil {
		if !o.answered {
			o.lasts = min(max(2*o.lasts, hintRefresh), hintLongest)
		}
		o.leases, o.until, o.answered = m.leases, now.Add(o.lasts+hintGrace), true
		a.touch(b)
	}
}

func (a *anchor) answer(from peer.ID, m *hintMsg, b *book) {
	reply := &hintMsg{cid: m.cid}
	if b != nil {
		reply.leases, reply.settled, reply.anchors = len(b.leases), b.settled, b.ring.anchors
	} else {
		reply.anchors = a.finder.nearest(overlay.Key(m.cid), anchorCount)
	}
	a.out.send(from, reply)
}

// peerChanged takes in that the link to p came up or went down: p may be
// asked now, or what it said is old.
func (a *anchor) peerChanged(p peer.ID) {
	for _, b := range a.sorted() {
		if o := b.opinion(p); o != nil {
			*o = opinion{peer: p}
			a.touch(b)
		}
	}
}
