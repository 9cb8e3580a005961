// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// Times of watching.
const (
	watchFirst   = time.Second // without a snapshot, ask again after this, doubled each time
	watchLongest = 15 * time.Second
	askTrips     = 2                // whoever is asked is asked again no sooner than after so many round trips
	keepOld      = 30 * time.Second // the set of an old anchor that lists somebody nobody else does …
	keepDead     = 3 * time.Second  // … and of one that can't be reached: time for its members to go elsewhere
)

// maxListed is how many leases of one id a caller takes from an anchor: three times as many
// as one holds who keeps to the usual limits.
const maxListed = 1 << 11

// epochView is what the anchors of one id say: a watched cluster under one key and
// epoch. Clusters of one name whose sets of keys have a key in common share it.
type epochView struct {
	slot
	verifier
	of          []*watchedCluster
	anchorSet   *anchorSet
	anchorViews []*anchorView // current anchors by distance, then old ones
	told        time.Time     // since when the current anchors have all told; zero = they have not
	alike       bool          // what anchorSet said of that
	movers      movers        // that may have gone over to other anchors; nil = nobody
}

// advance does for s whatever can be done now: watch the anchors that have not
// told, and let go of those that are none any more.
func (k *watcher) advance(now time.Time, s *epochView) {
	k.matchAnchors(s)
	told := len(s.anchorSet.anchors) > 0
	for _, c := range s.anchorViews {
		if session := k.peers.session(c.peer); session != c.session {
			// What it said stays until it, or another one, says more.
			s.doubtAll()
			c.session, c.asked, c.fresh, c.settled = session, false, false, false
			c.coming, c.tries, c.next = nil, 0, now
			k.claims.drop(c.peer, &c.stake)
		}
		if c.old && !c.witness {
			continue
		}
		if c.session != 0 {
			if due(c.next, now) {
				k.ask(now, s, c)
			}
			k.plans.plan(s, c.next)
		}
		told = told && (c.fresh || c.witness)
	}
	if len(s.movers) > 0 {
		k.touch(s.of...) // they may have been waited for for long enough
	}
	k.dropOld(now, s, told)
}

// matchAnchors adds a view for each new anchor, and puts the current ones
// first, in the order of the ring.
func (k *watcher) matchAnchors(s *epochView) {
	moved := s.alike != s.anchorSet.alike
	s.alike = s.anchorSet.alike
	for _, c := range s.anchorViews {
		old := !s.anchorSet.isAnchor(c.peer)
		moved = moved || old != c.old
		c.old, c.witness = old, c.witness && old
	}
	var current []*anchorView
	for _, p := range s.anchorSet.anchors {
		c := s.at(p)
		if c == nil {
			c = newAnchorView(p)
			k.peers.hold(p)
		}
		current = append(current, c)
	}
	for _, c := range s.anchorViews {
		if c.old {
			current = append(current, c)
		}
	}
	if moved || !slices.Equal(current, s.anchorViews) {
		s.doubtAll() // other anchors are the majority
	}
	s.anchorViews = current
}

func (k *watcher) ask(now time.Time, s *epochView, c *anchorView) {
	k.seq++
	c.seq, c.asked, c.coming = k.seq, true, nil
	k.claims.set(now, c.peer, &c.stake, stake{waits: true, stands: c.stake.stands, watch: true, sum: c.stake.sum})
	c.next = now.Add(backoff(k.rng, c.tries, k.finder.settling.atLeast(now, overlay.Patience{Time: watchFirst, Trips: askTrips}), watchLongest))
	c.tries++
	k.out.send(c.peer, &watchMsg{cid: s.cid, key: s.keys.PublicKey(), proof: s.proof, seq: c.seq})
}

// dropOld lets go of old anchors once the new ones have told, and the old ones
// list nobody else: members may be slower than we are to follow the anchors.
func (k *watcher) dropOld(now time.Time, s *epochView, told bool) {
	if !told || !slices.ContainsFunc(s.anchorViews, func(c *anchorView) bool { return c.old }) {
		s.told = time.Time{}
		return
	}
	if s.told.IsZero() {
		s.told = now
	}
	for _, c := range slices.Clone(s.anchorViews) {
		if !c.old || c.witness {
			continue
		}
		until := s.told.Add(keepOld)
		if c.session == 0 {
			until = s.told.Add(keepDead)
		}
		if due(until, now) || !s.listsMore(c) {
			k.release(s, c)
			k.touch(s.of...)
		} else {
			k.plans.plan(s, until)
		}
	}
}

// listsMore says whether c lists anybody whom no current anchor lists.
func (s *epochView) listsMore(c *anchorView) bool {
	for key := range c.set {
		if !slices.ContainsFunc(s.anchorViews, func(o *anchorView) bool {
			_, ok := o.set[key]
			return ok && !o.old
		}) {
			return true
		}
	}
	return false
}

// release ends the watch at one anchor.
func (k *watcher) release(s *epochView, c *anchorView) {
	if c.session != 0 && c.seq != 0 {
		k.out.send(c.peer, &unwatchMsg{s.cid})
	}
	s.anchorViews = slices.DeleteFunc(s.anchorViews, func(o *anchorView) bool { return o == c })
	k.peers.unhold(c.peer)
	k.claims.drop(c.peer, &c.stake)
	s.doubtAll()
}

// anchorView is what one anchor says.
type anchorView struct {
	peer    peer.ID
	session uint64
	old     bool // no longer an anchor, or not yet replaced
	witness bool // none, but the node of former members, for a cross-check
	asked   bool // a snapshot is awaited
	fresh   bool // set was told in this session
	settled bool // the anchor can know that set is all there is
	sharded bool // there is more under the shards of the id
	seq     uint64
	number  uint64 // of the last Delta
	tries   int
	next    time.Time // when to watch again; zero = the watch stands
	stake   stake

	set    map[leaseKey]listed
	coming map[leaseKey]listed // of the snapshot that is arriving
	lost   map[leaseKey]uint64 // members it took off the set, with their incarnations
}

func newAnchorView(p peer.ID) *anchorView {
	return &anchorView{peer: p, set: make(map[leaseKey]listed), lost: make(map[leaseKey]uint64)}
}

// listed is one member as one anchor lists it.
type listed struct {
	*verified
	suspect bool
}

// doubt has what is known of p's members merged anew, with the next refresh.
func (s *epochView) doubt(p peer.ID) {
	for _, w := range s.of {
		w.census.doubted[p] = true
	}
}

// doubtAll has everybody merged anew who is known under this id, with the next refresh.
func (s *epochView) doubtAll() {
	for p := range s.known.nodes {
		s.doubt(p)
	}
}

func (s *epochView) at(p peer.ID) *anchorView {
	for _, c := range s.anchorViews {
		if c.peer == p {
			return c
		}
	}
	return nil
}

// snapshot handles one part of what an anchor holds.
func (k *watcher) snapshot(now time.Time, from peer.ID, m *snapshotMsg) {
	s := k.byID[m.cid]
	if s == nil {
		return
	}
	c := s.at(from)
	yielded := m.refusal == wire.Refusal_YIELDED // a watch that stood
	if c == nil || !c.asked && !yielded || m.seq != c.seq {
		return
	}
	k.touch(s.of...)
	if m.refusal != wire.Refusal_NONE {
		k.drops.Inc(dropWatch.because(m.refusal))
		c.asked, c.fresh, c.settled = false, false, false
		s.doubtAll()
		k.claims.drop(from, &c.stake)
		c.next = now.Add(refusedFor(k.rng, max(c.tries-1, 0), m.refusal)) // ask counted this try
		k.plans.plan(s, c.next)
		return
	}
	if c.coming == nil {
		c.coming = make(map[leaseKey]listed)
	}
	for i := range m.leases {
		s.list(c.coming, &m.leases[i])
	}
	if m.more {
		return
	}
	old := c.set
	c.replace()
	s.doubtAll()
	for key := range c.lost {
		s.letGo(now, c, old[key])
	}
	k.news(now, c.set, old)
	k.see(s, c, m.announcement)
	c.settled, c.sharded = m.settled, m.sharded
	c.tries, c.next = 0, time.Time{}
	k.claims.set(now, from, &c.stake, stake{stands: true, watch: true, sum: watchSum(s.cid, c.seq)})
	k.advance(now, s)
}

// news dials the nodes of those who are in set and were not in old: they live,
// as far as the anchor can see.
func (k *watcher) news(now time.Time, set, old map[leaseKey]listed) {
	var fresh []peer.ID
	for key := range set {
		if _, ok := old[key]; !ok && k.peers.failing(key.peer) {
			fresh = append(fresh, key.peer)
		}
	}
	slices.Sort(fresh)
	for _, p := range slices.Compact(fresh) {
		k.peers.retry(now, p)
	}
}

// replace makes the snapshot that has arrived the set. Whom the anchor had
// listed in the same session, and no longer does, it has lost; after a new
// session it may only have lost its memory.
func (c *anchorView) replace() {
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

// delta handles a change. After a gap the anchor is asked for everything.
func (k *watcher) delta(now time.Time, from peer.ID, m *deltaMsg) {
	if !k.attached(m.cid, from) {
		k.out.send(from, &unwatchMsg{m.cid}) // the first one may have been lost
		return
	}
	s := k.byID[m.cid]
	c := s.at(from)
	if c.asked || !c.fresh || m.seq != c.seq {
		return
	}
	k.touch(s.of...)
	if m.number != c.number+1 {
		k.drops.Inc(dropDeltaGap)
		c.settled = false
		k.ask(now, s, c)
		k.plans.plan(s, c.next)
		return
	}
	c.number, c.settled = m.number, m.settled
	c.sharded = m.sharded
	k.see(s, c, m.announcement)
	for i := range m.upserted {
		l := &m.upserted[i]
		if old, ok := c.set[l.leaseKey]; !ok || old.incarnation < l.incarnation {
			k.peers.retry(now, l.peer) // it has just registered there: it lives
		}
		s.list(c.set, l)
		delete(c.lost, l.leaseKey)
		s.doubt(l.peer)
	}
	for _, r := range m.removed {
		if l, ok := c.set[r.leaseKey]; ok && l.incarnation <= r.incarnation {
			delete(c.set, r.leaseKey)
			c.lost[r.leaseKey] = r.incarnation
			s.letGo(now, c, l)
			s.doubt(r.peer)
		}
	}
	if c.old || len(s.anchorViews) > len(s.anchorSet.anchors) {
		k.advance(now, s) // an old anchor may be free to go now
	}
}

// letGo notes that c took l off its set. Whom it doubted before is lost rather than
// moving: its connection broke, and then its session ended.
func (s *epochView) letGo(now time.Time, c *anchorView, l listed) {
	if c.old && l.verified != nil && !l.suspect && !s.knows(l.verified) {
		s.movers.add(now, l.verified)
	}
}

// knows says whether there is nothing more to hear of a member that was let go: an anchor
// lists it, or a majority of the current ones lost it, or told without it; or our own
// link to its node says that it left, died or can't be reached.
func (s *epochView) knows(d *verified) bool {
	if s.base.peers.lost(d.peer) {
		return true
	}
	against, other := 0, false
	for _, c := range s.anchorViews {
		if l, ok := c.set[d.leaseKey]; ok && l.incarnation >= d.incarnation {
			return true
		}
		if at, lost := c.lost[d.leaseKey]; !c.old && (c.fresh || lost && at >= d.incarnation) {
			against++
			other = other || s.anchorSet.isOther(c.peer)
		}
	}
	return s.anchorSet.decides(against, other)
}

// tidy forgets checks of leases that nobody lists any more.
func (s *epochView) tidy(members int) {
	if s.known.count <= 2*members+64 {
		return
	}
	listed := make(map[leaseKey]bool)
	for _, c := range s.anchorViews {
		for key := range c.set {
			listed[key] = true
		}
		for key := range c.coming {
			listed[key] = true
		}
	}
	for key := range s.movers {
		listed[key] = true
	}
	s.known.keep(func(d *verified) bool { return listed[d.leaseKey] })
	for _, c := range s.anchorViews {
		for key := range c.lost {
			if !listed[key] {
				delete(c.lost, key)
			}
		}
	}
}

// verifier decides which leases of one cluster id can be believed, and remembers
// it: all anchors tell the same leases.
type verifier struct {
	base *base
	*epoch
	name    string // of the cluster
	known   believed
	refused bool // somebody was, who must not serve the cluster
}

// verified is a lease that was believed: its record was sealed by a holder of
// the cluster's key for this very member, and all of it is signed by the
// member's node.
type verified struct {
	record
	key   security.KeyID // under which it was found
	lease lease          // as it was told
	own   *record        // of a member whose own lease is passed on: what that says; nil = none, or it can't be opened
}

// list adds l to set if it can be believed.
func (v *verifier) list(set map[leaseKey]listed, l *lease) {
	if len(set) >= maxListed {
		v.base.drops.Inc(dropTooManyLeases)
		return
	}
	if d := v.believe(l); d != nil {
		set[l.leaseKey] = listed{d, l.suspect}
	}
}

// believe checks a lease, or remembers that it did. What costs least comes
// first: who lacks the cluster's key can't make this node verify a signature.
func (v *verifier) believe(l *lease) *verified {
	if d := v.known.get(l.leaseKey); d != nil && d.lease.says(l) {
		return d
	}
	d, reason := v.open(l)
	if d == nil {
		v.base.drops.Inc(reason)
		return nil
	}
	if slices.Contains(d.networks, v.base.network) { // one of our own, lent back
		v.base.drops.Inc(dropBadRecord)
		return nil
	}
	if v.base.check(v.cid, l) != nil {
		v.base.drops.Inc(dropBadSignature)
		return nil
	}
	d.key, d.lease = v.keys.KeyID(), *l
	if !v.may(d) {
		return nil
	}
	v.known.put(d)
	return d
}

// believed are the leases of one cluster id that were checked, by the members' nodes: all
// that any anchor lists, and some that none does any more. So it also tells which members
// a node may have.
type believed struct {
	nodes map[peer.ID][]*verified // in the order of the members' ids
	count int
}

func (b *believed) find(key leaseKey) (i int, ok bool) {
	return slices.BinarySearchFunc(b.nodes[key.peer], key, func(d *verified, key leaseKey) int {
		return cmp.Compare(d.member, key.member)
	})
}

// get returns what is believed of a member, or nil.
func (b *believed) get(key leaseKey) *verified {
	if i, ok := b.find(key); ok {
		return b.nodes[key.peer][i]
	}
	return nil
}

// put has d believed in place of what was.
func (b *believed) put(d *verified) {
	i, ok := b.find(d.leaseKey)
	if ok {
		b.nodes[d.peer][i] = d
		return
	}
	if b.nodes == nil {
		b.nodes = make(map[peer.ID][]*verified)
	}
	b.nodes[d.peer] = slices.Insert(b.nodes[d.peer], i, d)
	b.count++
}

// keep forgets all but those.
func (b *believed) keep(those func(*verified) bool) {
	maps.DeleteFunc(b.nodes, func(p peer.ID, all []*verified) bool {
		left := slices.DeleteFunc(all, func(d *verified) bool { return !those(d) })
		b.count -= len(all) - len(left)
		b.nodes[p] = left
		return len(left) == 0
	})
}
