// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/security"
)

// book is what an anchor holds of one cluster id: leases, watches, and what the
// watchers have not been told yet.
type book struct {
	authority authority
	leases    []*heldLease // by key
	audience  *audience    // nil = nobody watches, and nothing is to be told
	told      *nearby      // whose anchors all were told last

	slot
	touched bool
	reaches bool // links to the anchors are kept
	settled bool // as watchers were told last
	sharded bool // there may be leases under the shards of its id
}

// audience are who watches, and what they have not been told yet.
type audience struct {
	watchers []*remoteWatch // by peer
	upserted []leaseKey     // since the last flush
	removed  []leaseRef     // likewise
	resend   bool           // some watcher lost a message
	// resharded says that the id is sharded, or no longer is; members have to be told as well.
	resharded bool

	announced     []leaseKey // of those upserted: their nodes wait until the watchers know
	announcements []announcement
	number        uint64 // of the last one
}

// cid is the id that the book is about.
func (b *book) cid() security.ClusterID { return b.authority.anchorSet.cid }

// set has books kept byPlace.
func (b *book) set() *anchorSet { return b.authority.anchorSet }

// public is the audience, to be changed.
func (b *book) public() *audience {
	if b.audience == nil {
		b.audience = &audience{}
	}
	return b.audience
}

// watchers are by peer; who calls it does not change the list.
func (b *book) watchers() []*remoteWatch {
	if b.audience == nil {
		return nil
	}
	return b.audience.watchers
}

// admit takes in the only watch of its peer.
func (b *book) admit(w *remoteWatch) {
	i, _ := b.findWatch(w.peer)
	u := b.public()
	w.seen = u.number
	u.watchers = slices.Insert(u.watchers, i, w)
}

// dismiss takes p's watch out; nil = there is none.
func (b *book) dismiss(p peer.ID) *remoteWatch {
	i, ok := b.findWatch(p)
	if !ok {
		return nil
	}
	u := b.audience
	w := u.watchers[i]
	u.watchers = slices.Delete(u.watchers, i, i+1)
	return w
}

// heldLease is one lease.
type heldLease struct {
	lease
	seq uint64 // of the Register that was acknowledged last
}

// remoteWatch is one node that watches.
type remoteWatch struct {
	peer   peer.ID
	seq    uint64    // of its Watch
	number uint64    // of the last Delta
	seen   uint64    // number of the last announcement that it has seen, or is not waited for to see
	gap    time.Time // a message was lost: when to make it watch again; zero = none was
}

func (b *book) findLease(k leaseKey) (int, bool) {
	return slices.BinarySearchFunc(b.leases, k, func(l *heldLease, k leaseKey) int {
		return compareLeaseKeys(l.leaseKey, k)
	})
}

// lease returns the lease of k, or nil.
func (b *book) lease(k leaseKey) *heldLease {
	if i, ok := b.findLease(k); ok {
		return b.leases[i]
	}
	return nil
}

func (b *book) insert(l *heldLease, k leaseKey) {
	i, _ := b.findLease(k)
	b.leases = slices.Insert(b.leases, i, l)
}

// upsert has watchers told about k by the next flush. That it was taken out
// since the last one is no news any more: they would take it out for good.
func (b *book) upsert(k leaseKey) {
	n := b.public()
	n.removed = slices.DeleteFunc(n.removed, func(r leaseRef) bool { return r.leaseKey == k })
	if !slices.Contains(n.upserted, k) {
		n.upserted = append(n.upserted, k)
	}
}

// remove takes l out and has watchers told.
func (b *book) remove(l *heldLease) {
	i, ok := b.findLease(l.leaseKey)
	if !ok {
		return
	}
	b.leases = slices.Delete(b.leases, i, i+1)
	n := b.public()
	n.upserted = slices.DeleteFunc(n.upserted, func(k leaseKey) bool { return k == l.leaseKey })
	n.removed = append(n.removed, leaseRef{l.leaseKey, l.incarnation})
}

// of lists the leases of p.
func (b *book) of(p peer.ID) (leases []*heldLease) {
	for _, l := range b.leases {
		if l.peer == p {
			leases = append(leases, l)
		}
	}
	return leases
}

func (b *book) findWatch(p peer.ID) (int, bool) {
	return slices.BinarySearchFunc(b.watchers(), p, func(w *remoteWatch, p peer.ID) int {
		return cmp.Compare(w.peer, p)
	})
}

// watchOf returns p's watch, or nil.
func (b *book) watchOf(p peer.ID) *remoteWatch {
	if i, ok := b.findWatch(p); ok {
		return b.audience.watchers[i]
	}
	return nil
}

// proven says whether p has proven that it holds the key: it would not be in here else.
func (b *book) proven(p peer.ID) bool {
	return b.watchOf(p) != nil || slices.ContainsFunc(b.leases, func(l *heldLease) bool { return l.peer == p })
}

// idle says that nothing is held here.
func (b *book) idle() bool { return len(b.leases) == 0 && len(b.watchers()) == 0 }

// snapshot tells w all there is.
func (b *book) snapshot(out *outbox, w *remoteWatch, settled bool) {
	leases := make([]lease, len(b.leases))
	for i, l := range b.leases {
		leases[i] = l.lease
	}
	all := parts(leases)
	for i, part := range all {
		m := &snapshotMsg{
			cid: b.cid(), seq: w.seq, leases: part, more: i < len(all)-1,
			settled: settled, sharded: b.sharded, anchors: b.authority.anchorSet.anchors,
		}
		if !m.more && w.seen < b.audience.number { // it watches again, and is waited for
			m.announcement = b.audience.number
		}
		out.send(w.peer, m)
	}
}

// tell sends what changed to whom it concerns. settled is what the authority
// says now, deputies how many members stand for an id.
func (b *book) tell(now time.Time, out *outbox, settled bool, deputies int) {
	was, near := b.settled, b.authority.anchorSet.nearby
	b.settled = settled
	// To lose authority matters where there is nobody; elsewhere only to gain it
	// need be told, to those who want to know whether a list is whole.
	reanchor := !slices.Equal(b.told.anchors, near.anchors)
	b.told = near
	stands := !reanchor && (settled == was || !settled && len(b.leases) > 0)
	n := b.public()
	if len(n.upserted) > 0 || len(n.removed) > 0 || n.resharded || !stands {
		b.deltas(out, n, reanchor)
	}
	switch {
	case n.resharded:
		for _, l := range b.leases {
			out.send(l.peer, b.answer(l, deputies))
		}
	case reanchor:
		b.redirect(out, deputies)
	}
	if b.audience.resend {
		b.provoke(now, out)
	}
	b.touched = false
	if u := b.audience; len(u.watchers)+len(u.announced) > 0 {
		u.upserted, u.removed, u.resend, u.resharded = nil, nil, false, false
	} else {
		b.audience = nil
	}
}

// deltas sends what changed to every watcher, in as many messages as needed.
func (b *book) deltas(out *outbox, n *audience, reanchor bool) {
	var upserted []lease
	for _, k := range n.upserted {
		upserted = append(upserted, b.lease(k).lease)
	}
	removed := slices.Collect(slices.Chunk(n.removed, maxPart))
	groups := parts(upserted)
	last := max(len(groups), len(removed)) - 1
	for i := range last + 1 {
		d := deltaMsg{cid: b.cid(), settled: b.settled, sharded: b.sharded}
		if i == last {
			d.announcement = n.announcing()
		}
		if i < len(groups) {
			d.upserted = groups[i]
		}
		if i < len(removed) {
			d.removed = removed[i]
		}
		if i == 0 && reanchor {
			d.anchors = b.told.anchors
		}
		for _, w := range b.watchers() {
			w.number++
			each := d
			each.seq, each.number = w.seq, w.number
			out.send(w.peer, &each)
		}
	}
}

// redirect tells each node that has leases here who the anchors are now.
func (b *book) redirect(out *outbox, deputies int) {
	var told []peer.ID
	for _, l := range b.leases {
		if !slices.Contains(told, l.peer) {
			told = append(told, l.peer)
			out.send(l.peer, b.answer(l, deputies))
		}
	}
}

// provoke sends a Delta whose number leaves a gap to those who lost a message,
// so that they watch again.
func (b *book) provoke(now time.Time, out *outbox) {
	for _, w := range b.watchers() {
		if due(w.gap, now) {
			w.gap = time.Time{}
			w.number++
			out.send(w.peer, &deltaMsg{cid: b.cid(), seq: w.seq, number: w.number, settled: b.settled, sharded: b.sharded})
		}
	}
}

// lost notes that a message to a watcher never left. That is a gap, which the
// next Delta makes it notice, at the latest at the time returned; zero = the gap
// is known already.
func (b *book) lost(now time.Time, to peer.ID) (retry time.Time) {
	w := b.watchOf(to)
	if w == nil || !w.gap.IsZero() {
		return time.Time{}
	}
	w.gap = now.Add(gapDelay)
	w.number++ // so that a lost Snapshot leaves a gap as well
	return w.gap
}

// gapDelay is how long a watcher whose link was full is left alone.
const gapDelay = 250 * time.Millisecond
