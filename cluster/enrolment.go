// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
)

// Times of registration.
const (
	registerFirst   = time.Second // without an answer, ask again after this, doubled each time
	registerLongest = 15 * time.Second
	refusedFirst    = 5 * time.Second // after a refusal
	refusedLongest  = time.Minute
	renewFirst      = 4 * time.Minute // a lease is registered again after this …
	renewSpread     = 2 * time.Minute // … and at most this more: heals what nobody thought of
	breakAfter      = 3 * time.Second // an old lease outlives the new ones, until watchers have followed
	maxOldAttaches  = 6
)

// enrolment is one member under one cluster id.
type enrolment struct {
	stamp
	member   *registration
	ring     *ring
	sealed   []byte // the record
	attaches []*attach
	breakAt  time.Time // when old attaches are let go; zero = the new ones do not all stand
}

type attachState uint8

const (
	attachIdle    attachState = iota // waits for the link
	attachSent                       // waits for the answer
	attachHeld                       // acknowledged
	attachRefused                    // waits before it asks again
)

// attach is one enrolment at one anchor.
type attach struct {
	peer    peer.ID
	state   attachState
	session uint64
	seq     uint64
	tries   int
	next    time.Time // when to send again; zero = when the link is up
	reason  wire.Refusal
	old     bool // no longer an anchor, or not yet replaced
}

func (e *enrolment) at(p peer.ID) *attach {
	for _, a := range e.attaches {
		if a.peer == p {
			return a
		}
	}
	return nil
}

// tally counts the current anchors: those that hold the lease, those that
// refuse it, and all that can be asked, which excludes those that miss
// heartbeats.
func (e *enrolment) tally(r *reach) (held, refused, asked int, reason wire.Refusal) {
	for _, a := range e.attaches {
		if a.old || r.suspect(a.peer) {
			continue
		}
		asked++
		switch a.state {
		case attachHeld:
			held++
		case attachRefused:
			refused++
			reason = a.reason
		}
	}
	return held, refused, asked, reason
}

// heldElsewhere says whether an anchor other than this node holds the lease.
func (e *enrolment) heldElsewhere(self peer.ID) bool {
	return slices.ContainsFunc(e.attaches, func(a *attach) bool { return a.state == attachHeld && a.peer != self })
}

// answered takes in what the anchor said.
func (a *attach) answered(now time.Time, reason wire.Refusal, d *dice) {
	if reason == wire.Refusal_NONE {
		a.state, a.tries = attachHeld, 0
		a.next = now.Add(renewFirst + spread(d, renewSpread))
		return
	}
	if a.state != attachRefused {
		a.tries = 0
	}
	a.state, a.reason = attachRefused, reason
	a.next = now.Add(backoff(d, a.tries, refusedFirst, refusedLongest))
	a.tries++
}

// renew has the record sent again; the lease stands meanwhile.
func (a *attach) renew(now time.Time) {
	if a.state != attachIdle {
		a.next, a.tries = now, 0
	}
}

// advance does for e whatever can be done now: ask the anchors that have not
// acknowledged, and let go of those that are none any more.
func (r *registrar) advance(now time.Time, e *enrolment) {
	r.matchAnchors(e)
	standing := true
	for _, a := range slices.Clone(e.attaches) {
		if s := r.reach.session(a.peer); s != a.session {
			a.session, a.state, a.tries, a.next = s, attachIdle, 0, now
		}
		switch {
		case a.old:
			if a.state == attachIdle {
				r.release(e, a) // the lease ended with the link, or never was
			}
			continue
		case a.session != 0 && due(a.next, now):
			r.ask(now, e, a)
		}
		if a.session != 0 {
			r.alarm.plan(a.next)
		}
		standing = standing && a.state == attachHeld
	}
	r.breakOld(now, e, standing)
}

// matchAnchors adds an attach for each new anchor and marks the old ones.
func (r *registrar) matchAnchors(e *enrolment) {
	for _, a := range e.attaches {
		a.old = !e.ring.isAnchor(a.peer)
	}
	for _, p := range e.ring.anchors {
		if e.at(p) == nil {
			e.attaches = append(e.attaches, &attach{peer: p})
			r.reach.hold(p)
		}
	}
}

func (r *registrar) ask(now time.Time, e *enrolment, a *attach) {
	r.seq++
	a.seq = r.seq
	if a.state == attachIdle {
		a.state = attachSent
	}
	a.next = now.Add(backoff(r.dice, a.tries, registerFirst, registerLongest))
	if a.state != attachRefused {
		a.tries++
	}
	r.out.send(a.peer, &registerMsg{
		cid: e.cid, key: e.key, proof: e.proof, member: e.member.record.member,
		incarnation: r.incarnation, record: e.sealed, seq: a.seq,
	})
}

// breakOld lets go of old attaches once all new ones have stood for a while.
func (r *registrar) breakOld(now time.Time, e *enrolment, standing bool) {
	var old []*attach
	for _, a := range e.attaches {
		if a.old {
			old = append(old, a)
		}
	}
	switch {
	case len(old) == 0 || !standing:
		e.breakAt = time.Time{}
		if len(old) > maxOldAttaches {
			r.unregister(e, old[0])
		}
	case e.breakAt.IsZero():
		e.breakAt = now.Add(breakAfter)
		r.alarm.plan(e.breakAt)
	case due(e.breakAt, now):
		for _, a := range old {
			r.unregister(e, a)
		}
		e.breakAt = time.Time{}
	default:
		r.alarm.plan(e.breakAt)
	}
}

// unregister ends the lease at one anchor.
func (r *registrar) unregister(e *enrolment, a *attach) {
	if a.state == attachSent || a.state == attachHeld {
		r.out.send(a.peer, &unregisterMsg{cid: e.cid, member: e.member.record.member})
	}
	r.release(e, a)
}

func (r *registrar) release(e *enrolment, a *attach) {
	e.attaches = slices.DeleteFunc(e.attaches, func(o *attach) bool { return o == a })
	r.reach.unhold(a.peer)
}

// drop ends the enrolment everywhere.
func (r *registrar) drop(now time.Time, e *enrolment) {
	for _, a := range slices.Clone(e.attaches) {
		r.unregister(e, a)
	}
	r.finder.seek(now, e.ring, false)
	r.finder.connect(now, e.ring, false)
	r.finder.leave(e.ring)
	delete(r.enrolled, enrolmentKey{e.cid, e.member.record.member})
}
