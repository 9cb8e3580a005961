// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
)

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

func (s *sight) source(p peer.ID) *source {
	for _, c := range s.sources {
		if c.peer == p {
			return c
		}
	}
	return nil
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
	if !k.attached(m.cid, from) {
		k.out.send(from, &unwatchMsg{m.cid}) // the first one may have been lost
		return
	}
	s := k.sights[m.cid]
	c := s.source(from)
	if c.asked || !c.fresh || m.seq != c.seq {
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
