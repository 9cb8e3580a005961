// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// watch answers with a snapshot and tells every change from then on. A peer
// that watches again begins anew.
func (a *anchor) watch(now time.Time, from peer.ID, m *watchMsg) {
	if reason := a.refuse(a.admitWatch(from, m)); reason != wire.Refusal_NONE {
		a.out.send(from, &snapshotMsg{cid: m.cid, seq: m.seq, refusal: reason})
		return
	}
	b := a.open(now, m.cid)
	w := b.watcher(from)
	if w == nil {
		w = &watcher{peer: from}
		i, _ := b.findWatcher(from)
		b.watchers = slices.Insert(b.watchers, i, w)
		a.enter(from, b).watches++
		a.watches++
	}
	w.proof, w.seq, w.number, w.gap = m.proof, m.seq, 0, time.Time{}
	// What others have not been told yet is in the snapshot; telling it again
	// as a Delta does no harm.
	b.doubt(now)
	settled := a.judge(now, b)
	if len(b.watchers) == 1 {
		b.settled = settled
	} else if settled != b.settled {
		a.touch(b) // the others have to be told
	}
	a.snapshot(b, w, settled)
}

func (a *anchor) admitWatch(from peer.ID, m *watchMsg) wire.Refusal {
	b, g := a.books[m.cid], a.guests[from]
	if b == nil || b.watcher(from) == nil {
		if a.watches >= maxWatches || (b != nil && len(b.watchers) >= maxClusterWatches) ||
			(g != nil && g.watches >= maxPeerWatches) {
			return wire.Refusal_FULL
		}
	}
	return a.checkProof(b, from, m.proof, func() error { return a.verify(m.cid, m.key, m.proof, from) })
}

// snapshot tells w all there is.
func (a *anchor) snapshot(b *book, w *watcher, settled bool) {
	all := parts(b.list())
	for i, part := range all {
		a.out.send(w.peer, &snapshotMsg{
			cid: b.cid, seq: w.seq, leases: part, more: i < len(all)-1,
			settled: settled, anchors: b.ring.anchors,
		})
	}
}

func (a *anchor) unwatch(now time.Time, from peer.ID, cid security.ClusterID) {
	b := a.books[cid]
	if b == nil {
		return
	}
	i, ok := b.findWatcher(from)
	if !ok {
		return
	}
	b.watchers = slices.Delete(b.watchers, i, i+1)
	a.guests[from].watches--
	a.watches--
	a.exit(from, b)
	a.touch(b)
}

// sendFailed takes in that a message never left. A lost Delta or Snapshot is a
// gap, which the next Delta makes the watcher notice; all others are asked for
// again by whoever waits for them.
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
	b := a.books[cid]
	if b == nil {
		return
	}
	if w := b.watcher(to); w != nil && w.gap.IsZero() {
		w.gap = now.Add(gapDelay)
		w.number++ // so that a lost Snapshot leaves a gap as well
		a.alarm.plan(w.gap)
	}
}

// flush tells watchers what changed since the last one. It is called once all
// events at hand are taken in, so that changes that come together travel
// together, and none waits for others.
func (a *anchor) flush(now time.Time) {
	a.tick(now)
	for len(a.touched) > 0 {
		b := a.touched[0]
		a.touched = a.touched[1:]
		a.flushBook(now, b)
	}
	a.touched = nil
}

// tick looks at the books where something is planned.
func (a *anchor) tick(now time.Time) {
	if !a.alarm.rings(now) {
		return
	}
	for _, b := range a.sorted() {
		for _, w := range b.watchers {
			switch {
			case due(w.gap, now):
				b.resend = true
				a.touch(b)
			case !w.gap.IsZero():
				a.alarm.plan(w.gap)
			}
		}
		switch {
		case due(b.nextCheck, now):
			a.touch(b)
		case !b.nextCheck.IsZero():
			a.alarm.plan(b.nextCheck)
		}
	}
}

func (a *anchor) flushBook(now time.Time, b *book) {
	was := b.settled
	b.settled = a.judge(now, b)
	// To lose authority matters where there is nobody; elsewhere only to gain it
	// need be told, to those who want to know whether a list is whole.
	reanchor := !slices.Equal(b.announced, b.ring.anchors)
	b.announced = b.ring.anchors
	news := reanchor || b.settled != was && (b.settled || len(b.leases) == 0)
	if len(b.upserted) > 0 || len(b.removed) > 0 || news {
		a.deltas(b, reanchor)
	}
	if reanchor {
		a.redirect(b)
	}
	if b.resend {
		a.provoke(now, b)
	}
	b.touched, b.upserted, b.removed, b.resend = false, nil, nil, false
	if len(b.leases) > 0 || len(b.watchers) > 0 {
		return
	}
	if at := b.orphaned.Add(settleTime); now.Before(at) {
		a.check(b, at) // whoever asks meanwhile must not hear "empty" yet
		return
	}
	a.finder.leave(b.ring)
	delete(a.books, b.cid)
}

// deltas sends what changed to every watcher, in as many messages as needed.
func (a *anchor) deltas(b *book, reanchor bool) {
	var upserted []lease
	for _, k := range b.upserted {
		upserted = append(upserted, b.lease(k).lease)
	}
	removed := slices.Collect(slices.Chunk(b.removed, maxPart))
	groups := parts(upserted)
	for i := range max(len(groups), len(removed)) {
		d := deltaMsg{cid: b.cid, settled: b.settled}
		if i < len(groups) {
			d.upserted = groups[i]
		}
		if i < len(removed) {
			d.removed = removed[i]
		}
		if i == 0 && reanchor {
			d.anchors = b.ring.anchors
		}
		for _, w := range b.watchers {
			w.number++
			each := d
			each.seq, each.number = w.seq, w.number
			a.out.send(w.peer, &each)
		}
	}
}

// redirect tells each node that has leases here who the anchors are now.
func (a *anchor) redirect(b *book) {
	var told []peer.ID
	for _, l := range b.leases {
		if !slices.Contains(told, l.peer) {
			told = append(told, l.peer)
			a.out.send(l.peer, &registeredMsg{cid: b.cid, member: l.member, seq: l.seq, anchors: b.ring.anchors})
		}
	}
}

// provoke sends a Delta whose number leaves a gap to those who lost a message,
// so that they watch again.
func (a *anchor) provoke(now time.Time, b *book) {
	for _, w := range b.watchers {
		if due(w.gap, now) {
			w.gap = time.Time{}
			w.number++
			a.out.send(w.peer, &deltaMsg{cid: b.cid, seq: w.seq, number: w.number, settled: b.settled})
		}
	}
}

// sorted lists the books in an order that does not depend on the map.
func (a *anchor) sorted() []*book {
	out := make([]*book, 0, len(a.books))
	for _, b := range a.books {
		out = append(out, b)
	}
	slices.SortFunc(out, func(x, y *book) int { return compareIDs(x.cid, y.cid) })
	return out
}
