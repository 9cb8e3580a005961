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

// register holds a lease for a member of from's, or says why not.
func (a *anchor) register(now time.Time, from peer.ID, m *registerMsg) {
	reason := a.refuse(a.admitLease(from, m))
	if reason != wire.Refusal_NONE {
		a.out.send(from, &registeredMsg{cid: m.cid, member: m.member, seq: m.seq, refusal: reason})
		return
	}
	a.dropOlder(from, m.incarnation)
	b := a.open(now, m.cid)
	a.put(b, from, m)
	a.out.send(from, &registeredMsg{cid: m.cid, member: m.member, seq: m.seq, anchors: b.ring.anchors})
}

// admitLease says whether the lease may be held. Bounds are looked at before
// the proof is checked, which costs more.
func (a *anchor) admitLease(from peer.ID, m *registerMsg) wire.Refusal {
	g := a.guests[from]
	if g != nil && m.incarnation < g.incarnation {
		return wire.Refusal_STALE
	}
	b := a.books[m.cid]
	var old *held
	if b != nil {
		old = b.lease(leaseKey{from, m.member})
	}
	size := a.bytes + len(m.record)
	if old != nil {
		size -= len(old.record)
	} else if a.leases >= maxLeases || (b != nil && len(b.leases) >= maxClusterLeases) ||
		(g != nil && g.leases >= maxPeerLeases) {
		return wire.Refusal_FULL
	}
	if size > maxRecordBytes {
		return wire.Refusal_FULL
	}
	return a.checkProof(b, from, m.proof, func() error { return a.verify(m.cid, m.key, m.proof, from) })
}

// checkProof calls verify unless the same proof of the same peer is known to
// be good: a node with many members shows it again and again.
func (a *anchor) checkProof(b *book, from peer.ID, proof []byte, verify func() error) wire.Refusal {
	if b != nil && b.proven(from, proof) {
		return wire.Refusal_NONE
	}
	if verify() != nil {
		return wire.Refusal_BAD_PROOF
	}
	return wire.Refusal_NONE
}

// put makes or replaces the lease.
func (a *anchor) put(b *book, from peer.ID, m *registerMsg) {
	key := leaseKey{from, m.member}
	g := a.enter(from, b)
	g.incarnation = max(g.incarnation, m.incarnation)
	l := b.lease(key)
	fresh := l == nil
	if fresh {
		l = &held{}
		b.insert(l, key)
		g.leases++
		a.leases++
	}
	same := !fresh && l.incarnation == m.incarnation && bytes.Equal(l.record, m.record)
	a.bytes += len(m.record) - len(l.record)
	l.lease = lease{
		leaseKey: key, incarnation: m.incarnation, record: m.record, proof: m.proof,
		suspect: a.reach.suspect(from),
	}
	l.seq = m.seq
	if !same {
		b.upsert(key)
		a.touch(b)
	}
}

// unregister ends one lease.
func (a *anchor) unregister(_ time.Time, from peer.ID, m *unregisterMsg) {
	b := a.books[m.cid]
	if b == nil {
		return
	}
	if l := b.lease(leaseKey{from, m.member}); l != nil {
		a.remove(b, l)
		a.exit(from, b)
	}
}

// dropOlder ends the leases of p's earlier lives: who registers with a newer
// incarnation has restarted, whether or not the old link's end was noticed.
func (a *anchor) dropOlder(p peer.ID, incarnation uint64) {
	g := a.guests[p]
	if g == nil || g.leases == 0 || incarnation <= g.incarnation {
		return
	}
	for _, cid := range slices.Clone(g.cids) {
		b := a.books[cid]
		for _, l := range slices.Clone(b.leases) {
			if l.peer == p {
				a.remove(b, l)
			}
		}
		a.exit(p, b)
	}
}

func (a *anchor) remove(b *book, l *held) {
	b.remove(l)
	a.guests[l.peer].leases--
	a.leases--
	a.bytes -= len(l.record)
	a.touch(b)
}
