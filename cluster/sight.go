// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// Times of watching.
const (
	watchFirst   = time.Second // without a snapshot, ask again after this, doubled each time
	watchLongest = 15 * time.Second
	keepOld      = 30 * time.Second // the set of an old anchor that lists somebody nobody else does …
	keepDead     = 3 * time.Second  // … and of one that can't be reached: time for its members to go elsewhere
)

// sight is one watched cluster under one of its ids.
type sight struct {
	stamp
	of      *watched
	ring    *ring
	sources []*source // current anchors by distance, then old ones
	known   map[leaseKey]*described
	proofs  map[peer.ID][]byte // checked and good
	told    time.Time          // since when the current anchors have all told; zero = they have not
}

func newSight(st stamp, w *watched, g *ring) *sight {
	return &sight{
		stamp: st, of: w, ring: g,
		known: make(map[leaseKey]*described), proofs: make(map[peer.ID][]byte),
	}
}

// advance does for s whatever can be done now: watch the anchors that have not
// told, and let go of those that are none any more.
func (k *lookout) advance(now time.Time, s *sight) {
	k.matchSources(s)
	told := len(s.ring.anchors) > 0
	for _, c := range s.sources {
		if session := k.reach.session(c.peer); session != c.session {
			// What it said stays until it, or another one, says more.
			c.session, c.asked, c.fresh, c.settled = session, false, false, false
			c.coming, c.tries, c.next = nil, 0, now
		}
		if c.old {
			continue
		}
		if c.session != 0 {
			if due(c.next, now) {
				k.ask(now, s, c)
			}
			k.alarm.plan(c.next)
		}
		told = told && c.fresh
	}
	k.dropOld(now, s, told)
}

// matchSources adds a source for each new anchor, and puts the current ones
// first, in the order of the ring.
func (k *lookout) matchSources(s *sight) {
	for _, c := range s.sources {
		c.old = !s.ring.isAnchor(c.peer)
	}
	var current []*source
	for _, p := range s.ring.anchors {
		c := s.source(p)
		if c == nil {
			c = &source{peer: p, set: make(map[leaseKey]listing), lost: make(map[leaseKey]uint64)}
			k.reach.hold(p)
		}
		current = append(current, c)
	}
	for _, c := range s.sources {
		if c.old {
			current = append(current, c)
		}
	}
	s.sources = current
}

func (k *lookout) ask(now time.Time, s *sight, c *source) {
	k.seq++
	c.seq, c.asked, c.coming = k.seq, true, nil
	c.next = now.Add(backoff(k.dice, c.tries, watchFirst, watchLongest))
	c.tries++
	k.out.send(c.peer, &watchMsg{cid: s.cid, key: s.key, proof: s.proof, seq: c.seq})
}

// dropOld lets go of old anchors once the new ones have told, and the old ones
// list nobody else: members may be slower than we are to follow the anchors.
func (k *lookout) dropOld(now time.Time, s *sight, told bool) {
	if !told || !slices.ContainsFunc(s.sources, func(c *source) bool { return c.old }) {
		s.told = time.Time{}
		return
	}
	if s.told.IsZero() {
		s.told = now
	}
	for _, c := range slices.Clone(s.sources) {
		if !c.old {
			continue
		}
		until := s.told.Add(keepOld)
		if c.session == 0 {
			until = s.told.Add(keepDead)
		}
		if due(until, now) || !s.listsMore(c) {
			k.release(s, c)
			k.touch(s.of)
		} else {
			k.alarm.plan(until)
		}
	}
}

// listsMore says whether c lists anybody whom no current anchor lists.
func (s *sight) listsMore(c *source) bool {
	for key := range c.set {
		if !slices.ContainsFunc(s.sources, func(o *source) bool {
			_, ok := o.set[key]
			return ok && !o.old
		}) {
			return true
		}
	}
	return false
}

// release ends the watch at one anchor.
func (k *lookout) release(s *sight, c *source) {
	if c.session != 0 && c.seq != 0 {
		k.out.send(c.peer, &unwatchMsg{s.cid})
	}
	s.sources = slices.DeleteFunc(s.sources, func(o *source) bool { return o == c })
	k.reach.unhold(c.peer)
}
