// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
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

// source is what one anchor says.
type source struct {
	peer    peer.ID
	session uint64
	old     bool // no longer an anchor, or not yet replaced
	asked   bool // a snapshot is awaited
	fresh   bool // set was told in this session
	settled bool // the anchor can know that set is all there is
	seq     uint64
	number  uint64 // of the last Delta
	tries   int
	next    time.Time // when to watch again

	set    map[leaseKey]listing
	coming map[leaseKey]listing // of the snapshot that is arriving
	lost   map[leaseKey]uint64  // members it took off the set, with their incarnations
}

// listing is one member as one anchor lists it.
type listing struct {
	*described
	suspect bool
}

func newSight(st stamp, w *watched, g *ring) *sight {
	return &sight{
		stamp: st, of: w, ring: g,
		known: make(map[leaseKey]*described), proofs: make(map[peer.ID][]byte),
	}
}

func (s *sight) source(p peer.ID) *source {
	for _, c := range s.sources {
		if c.peer == p {
			return c
		}
	}
	return nil
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

// snapshot takes in one part of what an anchor holds.
func (k *lookout) snapshot(now time.Time, from peer.ID, m *snapshotMsg) {
	s := k.sights[m.cid]
	if s == nil {
		return
	}
	c := s.source(from)
	if c == nil || !c.asked || m.seq != c.seq {
		return
	}
	k.touch(s.of)
	if m.refusal != wire.Refusal_NONE {
		k.rejected.add("watch_" + refusalName(m.refusal))
		c.asked, c.fresh, c.settled = false, false, false
		c.next = now.Add(backoff(k.dice, c.tries-1, refusedFirst, refusedLongest)) // ask counted this try
		k.alarm.plan(c.next)
		return
	}
	if c.coming == nil {
		c.coming = make(map[leaseKey]listing)
	}
	for i := range m.leases {
		k.list(s, c.coming, &m.leases[i])
	}
	if m.more {
		return
	}
	old := c.set
	c.replace()
	k.news(now, c.set, old)
	c.settled = m.settled
	c.tries, c.next = 0, now.Add(renewFirst+spread(k.dice, renewSpread))
	k.advance(now, s)
}

// news dials the nodes of those who are in set and were not in old: they live,
// as far as the anchor can see.
func (k *lookout) news(now time.Time, set, old map[leaseKey]listing) {
	var fresh []peer.ID
	for key := range set {
		if _, ok := old[key]; !ok && k.reach.failing(key.peer) {
			fresh = append(fresh, key.peer)
		}
	}
	slices.Sort(fresh)
	for _, p := range slices.Compact(fresh) {
		k.reach.retry(now, p)
	}
}

// replace makes the snapshot that has arrived the set. Whom the anchor had
// listed in the same session, and no longer does, it has lost; after a new
// session it may only have lost its memory.
func (c *source) replace() {
	if c.fresh {
		for key, l := range c.set {
			if _, ok := c.coming[key]; !ok {
				c.lost[key] = l.incarnation
			}
		}
	} else {
		clear(c.lost)
	}
	for key := range c.coming {
		delete(c.lost, key)
	}
	c.set, c.coming, c.number = c.coming, nil, 0
	c.asked, c.fresh = false, true
}

// delta takes in a change. After a gap the anchor is asked for everything.
func (k *lookout) delta(now time.Time, from peer.ID, m *deltaMsg) {
	s := k.sights[m.cid]
	if s == nil {
		return
	}
	c := s.source(from)
	if c == nil || c.asked || !c.fresh || m.seq != c.seq {
		return
	}
	k.touch(s.of)
	if m.number != c.number+1 {
		k.rejected.add("delta_gap")
		c.settled = false
		k.ask(now, s, c)
		k.alarm.plan(c.next)
		return
	}
	c.number, c.settled = m.number, m.settled
	for i := range m.upserted {
		l := &m.upserted[i]
		if old, ok := c.set[l.leaseKey]; !ok || old.incarnation < l.incarnation {
			k.reach.retry(now, l.peer) // it has just registered there: it lives
		}
		k.list(s, c.set, l)
		delete(c.lost, l.leaseKey)
	}
	for _, r := range m.removed {
		if l, ok := c.set[r.leaseKey]; ok && l.incarnation <= r.incarnation {
			delete(c.set, r.leaseKey)
			c.lost[r.leaseKey] = r.incarnation
		}
	}
	if c.old || len(s.sources) > len(s.ring.anchors) {
		k.advance(now, s) // an old anchor may be free to go now
	}
}

// described is a lease that was believed: its proof is good, and its record
// could be opened and is its own.
type described struct {
	record
	sealed, proof []byte
}

// list adds l to set if it can be believed.
func (k *lookout) list(s *sight, set map[leaseKey]listing, l *lease) {
	if len(set) >= 2*maxClusterLeases {
		k.rejected.add("lease_too_many")
		return
	}
	if d := k.believe(s, l); d != nil {
		set[l.leaseKey] = listing{d, l.suspect}
	}
}

// believe checks a lease, or remembers that it did. Three anchors tell the
// same leases, and one node's proof covers all its members.
func (k *lookout) believe(s *sight, l *lease) *described {
	d := s.known[l.leaseKey]
	if d != nil && d.incarnation == l.incarnation && bytes.Equal(d.sealed, l.record) && bytes.Equal(d.proof, l.proof) {
		return d
	}
	if !bytes.Equal(s.proofs[l.peer], l.proof) {
		if k.verify(s.cid, s.key, l.proof, l.peer) != nil {
			k.rejected.add("lease_bad_proof")
			return nil
		}
		s.proofs[l.peer] = l.proof
	}
	plain, err := s.epoch.OpenRecord(l.record)
	if err != nil {
		k.rejected.add("lease_bad_seal")
		return nil
	}
	r, err := decodeRecord(plain, l)
	if err != nil {
		k.rejected.add("lease_bad_record")
		return nil
	}
	d = &described{record: r, sealed: l.record, proof: l.proof}
	s.known[l.leaseKey] = d
	return d
}
