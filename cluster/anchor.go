// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// anchor is the core that holds leases for the members of clusters whose id is
// near this node's, and tells watchers. It needs none of their keys. Whoever
// comes to the wrong anchor is told the right ones and served all the same, unless
// this node is far from the id.
type anchor struct {
	*base
	examiner  examiner
	announcer announcer

	holders
	sharding
	books   byPlace[*book]
	touched []*book       // changed since the last flush
	plans   agenda[*book] // those whose authority is in question, or where a message was lost
}

// receive handles a message from a member's or a watcher's node, or from a
// co-anchor.
func (a *anchor) receive(now time.Time, from peer.ID, m message) {
	switch m := m.(type) {
	case *registerMsg:
		a.register(now, from, m)
	case *unregisterMsg:
		a.unregister(from, m)
	case *watchMsg:
		a.watch(now, from, m)
	case *unwatchMsg:
		a.unwatch(now, from, m.cid)
	case *seenMsg:
		a.seen(now, from, m)
	case *hintMsg:
		a.hint(now, from, m)
	}
}

// open returns the book of cid, and makes one if need be.
func (a *anchor) open(now time.Time, cid security.ClusterID) *book {
	b := a.books.get(cid)
	if b == nil {
		set := a.finder.use(now, cid)
		b = &book{authority: authority{anchorSet: set}, told: set.nearby}
		a.books.add(b)
	}
	return b
}

// touch has b looked at by the next flush.
func (a *anchor) touch(b *book) {
	if !b.touched {
		b.touched = true
		a.touched = append(a.touched, b)
	}
}

// register holds a lease for a member of from's, or says why not.
func (a *anchor) register(now time.Time, from peer.ID, m *registerMsg) {
	defer a.finder.leave(a.finder.use(now, m.cid)) // found once for all that follows
	if refusal := a.admitLease(now, from, m); refusal != wire.Refusal_NONE {
		a.drops.Inc(dropRefused.because(refusal))
		a.out.send(from, &registeredMsg{
			cid: m.cid, member: m.member, seq: m.seq, refusal: refusal, anchors: a.finder.instead(m.cid, refusal),
			sharded: refusal == wire.Refusal_SHARDED,
		})
		return
	}
	a.dropOlder(from, m.incarnation)
	b := a.open(now, m.cid)
	if m.below && !b.sharded {
		b.reshard(true)
	}
	l := a.put(b, from, m)
	a.out.send(from, b.answer(l, a.deputies))
	if b.sharded {
		for _, l := range a.surplus(b, l.leaseKey) {
			a.out.send(l.peer, l.superfluous(b.cid()))
			a.remove(b, l)
			a.exit(l.peer, b)
		}
	}
}

// admitLease says whether the lease may be held. Bounds are looked at before
// proof and signature are checked, which cost more.
func (a *anchor) admitLease(now time.Time, from peer.ID, m *registerMsg) wire.Refusal {
	b := a.books.get(m.cid)
	if g := a.guests[from]; g != nil && m.incarnation < g.incarnation {
		return wire.Refusal_STALE
	}
	var old *heldLease
	key := leaseKey{from, m.member}
	if b != nil {
		old = b.lease(key)
	}
	grow := len(m.record)
	if old != nil {
		grow -= len(old.record)
	} else if from != a.self && a.finder.far(now, m.cid) {
		return wire.Refusal_FAR
	}
	if old == nil && a.refuses(b, key, m.below) {
		return wire.Refusal_SHARDED
	}
	if n, lacks := a.roomForLease(from, old == nil, grow); lacks && n.of == "" {
		return wire.Refusal_FULL
	}
	// The one that is held was verified when it came.
	if l := m.lease(from); old == nil || !old.says(&l) {
		if refusal := a.examiner.examine(now, from, func() wire.Refusal {
			if refusal := a.examiner.checkProof(b, from, m.cid, m.key, m.proof); refusal != wire.Refusal_NONE {
				return refusal
			}
			if a.check(m.cid, &l) != nil {
				return wire.Refusal_BAD_SIGNATURE
			}
			return wire.Refusal_NONE
		}); refusal != wire.Refusal_NONE {
			return refusal
		}
	}
	if old == nil && !m.below && a.crowds(b) {
		b.reshard(true)
		a.touch(b)
		return wire.Refusal_SHARDED
	}
	for {
		n, lacks := a.roomForLease(from, old == nil, grow)
		switch {
		case !lacks:
			return wire.Refusal_NONE
		case n.of == "":
			return wire.Refusal_FULL
		}
		a.yieldLease(n)
	}
}

// yieldLease ends one lease of who has to give way, and tells it.
func (a *anchor) yieldLease(n need) {
	if n.in == nil {
		g := a.guests[n.of]
		n.in = g.bookWith(a.rng.roll(len(g.books)), func(b *book) bool { return len(b.of(n.of)) > 0 })
	}
	held := n.in.of(n.of)
	l := held[a.rng.roll(len(held))]
	a.remove(n.in, l)
	a.drops.Inc(dropRefused.because(wire.Refusal_YIELDED))
	a.out.send(n.of, &registeredMsg{cid: n.in.cid(), member: l.member, seq: l.seq, refusal: wire.Refusal_YIELDED})
	a.exit(n.of, n.in)
}

// yieldWatch does the same with a watch.
func (a *anchor) yieldWatch(now time.Time, n need) {
	if n.in == nil {
		g := a.guests[n.of]
		n.in = g.bookWith(a.rng.roll(len(g.books)), func(b *book) bool { return b.watchOf(n.of) != nil })
	}
	a.drops.Inc(dropRefused.because(wire.Refusal_YIELDED))
	a.out.send(n.of, &snapshotMsg{cid: n.in.cid(), seq: n.in.watchOf(n.of).seq, refusal: wire.Refusal_YIELDED})
	a.unwatch(now, n.of, n.in.cid())
}

// put makes or replaces the lease.
func (a *anchor) put(b *book, from peer.ID, m *registerMsg) *heldLease {
	told := m.lease(from)
	told.suspect = a.peers.suspect(from)
	g := a.enter(from, b)
	g.incarnation = max(g.incarnation, m.incarnation)
	l := b.lease(told.leaseKey)
	fresh := l == nil
	if fresh {
		l = &heldLease{}
		b.insert(l, told.leaseKey)
		a.leases++
	} else {
		g.count(-1, false, l.sumOf(b.cid()))
	}
	g.count(1, false, told.sumOf(b.cid()))
	same := !fresh && l.says(&told)
	g.bytes += len(told.record) - len(l.record)
	a.bytes += len(told.record) - len(l.record)
	l.lease, l.seq = told, m.seq
	if fresh {
		a.displace(a.out, b, l)
	}
	if !same {
		b.upsert(told.leaseKey)
		a.touch(b)
		if m.announce {
			b.audience.announce(told.leaseKey)
		}
	}
	return l
}

// unregister ends one lease.
func (a *anchor) unregister(from peer.ID, m *unregisterMsg) {
	b := a.books.get(m.cid)
	if b == nil {
		return
	}
	if l := b.lease(leaseKey{from, m.member}); l != nil {
		a.remove(b, l)
		a.exit(from, b)
	}
}

func (a *anchor) remove(b *book, leases ...*heldLease) {
	deputies := 0
	for _, l := range leases {
		if b.isDeputy(l.leaseKey, a.deputies) {
			deputies++
		}
		b.remove(l)
		g := a.guests[l.peer]
		g.count(-1, false, l.sumOf(b.cid()))
		g.bytes -= len(l.record)
		a.leases--
		a.bytes -= len(l.record)
		a.touch(b)
	}
	a.appoint(a.out, b, deputies)
}

// dropOlder ends the leases of p's earlier lives: who registers with a newer
// incarnation has restarted, whether or not the old link's end was noticed.
func (a *anchor) dropOlder(p peer.ID, incarnation uint64) {
	g := a.guests[p]
	if g == nil || g.leases == 0 || incarnation <= g.incarnation {
		return
	}
	for _, b := range slices.Clone(g.books) {
		a.remove(b, b.of(p)...)
		a.exit(p, b)
	}
}

// down forgets all that p had: leases and watches live as long as the link.
func (a *anchor) down(now time.Time, p peer.ID) {
	g := a.guests[p]
	if g == nil {
		return
	}
	for _, b := range slices.Clone(g.books) {
		if leases := b.of(p); len(leases) > 0 {
			a.remove(b, leases...)
			b.authority.wait().orphaned = now
		}
		a.unwatch(now, p, b.cid())
		a.exit(p, b)
	}
}

// suspected notes that p misses heartbeats, or no longer does.
func (a *anchor) suspected(now time.Time, p peer.ID, on bool) {
	g := a.guests[p]
	if g == nil {
		return
	}
	for _, b := range g.books {
		if on {
			a.announcer.excuse(now, b, b.watchOf(p))
		}
		for _, l := range b.of(p) {
			if l.suspect != on {
				l.suspect = on
				b.upsert(l.leaseKey)
				a.touch(b)
			}
		}
	}
}

// watch answers with a snapshot and tells every change from then on. A peer
// that watches again begins anew.
func (a *anchor) watch(now time.Time, from peer.ID, m *watchMsg) {
	if refusal := a.admitWatch(now, from, m); refusal != wire.Refusal_NONE {
		a.drops.Inc(dropRefused.because(refusal))
		a.out.send(from, &snapshotMsg{cid: m.cid, seq: m.seq, refusal: refusal, anchors: a.finder.instead(m.cid, refusal)})
		return
	}
	b := a.open(now, m.cid)
	w := b.watchOf(from)
	if w == nil {
		w = &remoteWatch{peer: from}
		b.admit(w)
		a.enter(from, b)
		a.watches++
	} else {
		a.guests[from].count(-1, true, watchSum(b.cid(), w.seq))
	}
	a.guests[from].count(1, true, watchSum(b.cid(), m.seq))
	w.seq, w.number, w.gap = m.seq, 0, time.Time{}
	// What others have not been told yet is in the snapshot; telling it again
	// as a Delta does no harm.
	b.authority.doubt(now)
	settled := a.judge(now, b)
	if len(b.watchers()) == 1 {
		b.settled = settled
	} else if settled != b.settled {
		a.touch(b) // the others have to be told
	}
	b.snapshot(a.out, w, settled)
}

func (a *anchor) admitWatch(now time.Time, from peer.ID, m *watchMsg) wire.Refusal {
	b := a.books.get(m.cid)
	if b != nil && b.watchOf(from) != nil {
		return wire.Refusal_NONE // it has proven that it holds the key
	}
	if from != a.self && a.finder.far(now, m.cid) {
		return wire.Refusal_FAR
	}
	n, lacks := a.roomForWatch(b, from)
	if lacks && n.of == "" {
		return wire.Refusal_FULL
	}
	if refusal := a.examiner.examine(now, from, func() wire.Refusal {
		return a.examiner.checkProof(b, from, m.cid, m.key, m.proof)
	}); refusal != wire.Refusal_NONE {
		return refusal
	}
	for ; lacks && n.of != ""; n, lacks = a.roomForWatch(b, from) {
		a.yieldWatch(now, n)
	}
	return wire.Refusal_NONE
}

func (a *anchor) unwatch(now time.Time, from peer.ID, cid security.ClusterID) {
	b := a.books.get(cid)
	if b == nil {
		return
	}
	w := b.dismiss(from)
	if w == nil {
		return
	}
	a.announcer.excuse(now, b, w)
	a.guests[from].count(-1, true, watchSum(cid, w.seq))
	a.watches--
	a.exit(from, b)
	a.touch(b)
}

// sendFailed notes that a message never left. Whoever waits for another one than
// a Delta or Snapshot asks again.
func (a *anchor) sendFailed(now time.Time, to peer.ID, m message) {
	var cid security.ClusterID
	switch m := m.(type) {
	case *snapshotMsg:
		cid = m.cid
	case *deltaMsg:
		cid = m.cid
	default:
		return
	}
	if b := a.books.get(cid); b != nil {
		a.plans.plan(b, b.lost(now, to))
	}
}

// judge says whether this node may call b's cluster empty, and asks whom it
// needs for that.
func (a *anchor) judge(now time.Time, b *book) bool {
	u := &b.authority
	consults := len(b.watchers()) > 0 && len(b.leases) == 0
	// Who may be an anchor by hearsay is one, or is none, once it has been dialled.
	reaches := consults || !b.idle() && (len(u.anchorSet.heard().barred) > 0 || a.finder.outside(u.anchorSet))
	if reaches != b.reaches {
		b.reaches = reaches
		a.finder.connect(now, u.anchorSet, reaches)
	}
	settled, ask := u.step(now, a.self, a.finder.settling, consults, a.peers.linkUp)
	for _, p := range ask {
		a.out.send(p, &hintMsg{cid: b.cid(), wantReply: true, anchors: u.anchorSet.anchors})
	}
	a.plans.plan(b, u.next())
	return settled
}

// hint handles what a co-anchor says, and answers. Its anchors may be news
// here: then the set changes, and with it the ground this node stands on.
func (a *anchor) hint(now time.Time, from peer.ID, m *hintMsg) {
	b := a.books.get(m.cid)
	a.finder.tell(now, m.cid, from, m.anchors)
	if m.wantReply {
		reply := &hintMsg{cid: m.cid}
		if b != nil {
			reply.leases, reply.settled, reply.anchors = len(b.leases), b.settled, b.authority.anchorSet.anchors
		} else {
			reply.anchors = a.finder.nearest(overlay.Key(m.cid), anchorCount)
		}
		a.out.send(from, reply)
	}
	if b != nil && b.authority.heard(now, from, m.leases) {
		a.touch(b)
	}
}

// peerChanged notes that the link to p came up or went down: p may be asked
// now, or what it said is old.
func (a *anchor) peerChanged(p peer.ID) {
	for _, b := range a.books {
		if b.authority.forget(p) {
			a.touch(b)
		}
	}
}

// anchorsChanged notes that the neighbourhood of cid is another one now.
func (a *anchor) anchorsChanged(cid security.ClusterID) {
	if b := a.books.get(cid); b != nil {
		a.touch(b)
	}
}

// flush tells watchers what changed since the last one. It is called once all
// events at hand are in, so that changes that come together travel together,
// and none waits for others.
func (a *anchor) flush(now time.Time) {
	a.tick(now)
	for len(a.touched) > 0 {
		b := a.touched[0]
		a.touched = a.touched[1:]
		settled := a.judge(now, b)
		a.review(now, b)
		a.plans.plan(b, b.authority.next())
		b.tell(now, a.out, settled, a.deputies)
		a.announcer.await(now, b)
		if b.idle() {
			a.close(now, b)
		}
	}
	a.touched = nil
}

// close forgets b. Whoever asks soon after a member was lost must not hear
// "empty" yet: so long it is kept; and while there may be leases under its shards.
func (a *anchor) close(now time.Time, b *book) {
	if b.sharded {
		return
	}
	if at := b.authority.orphaned().Add(a.finder.settling.time(now)); now.Before(at) {
		b.authority.plan(at)
		a.plans.plan(b, b.authority.next())
		return
	}
	a.plans.cancel(b)
	a.finder.leave(b.authority.anchorSet)
	a.books.remove(b)
}

// tick looks at the books where something is planned.
func (a *anchor) tick(now time.Time) {
	for _, b := range a.plans.due(now) {
		for _, w := range b.watchers() {
			if due(w.gap, now) {
				b.audience.resend = true
				a.touch(b)
			} else {
				a.plans.plan(b, w.gap)
			}
		}
		a.announcer.confirm(now, b)
		if b.sharded || due(b.authority.next(), now) {
			a.touch(b)
		} else {
			a.plans.plan(b, b.authority.next())
		}
	}
}
