// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// anchor is the core that holds leases for the members of clusters whose id is
// near this node's, and tells watchers. It needs none of their keys. Whoever
// comes to the wrong anchor is told the right ones and served all the same.
type anchor struct {
	self   peer.ID
	out    *outbox
	reach  *reach
	finder *finder
	verify func(id security.ClusterID, key, proof []byte, p peer.ID) error

	books   map[security.ClusterID]*book
	guests  map[peer.ID]*guest
	leases  int
	watches int
	bytes   int      // of records
	touched []*book  // changed since the last flush
	alarm   alarm    // for books whose authority is in question
	refused counters // by reason
}

// book is everything about one cluster id.
type book struct {
	cid      security.ClusterID
	ring     *ring
	leases   []*held    // by key
	watchers []*watcher // by peer

	// Since the last flush.
	touched   bool
	upserted  []leaseKey
	removed   []leaseRef
	resend    bool      // some watcher lost a message
	announced []peer.ID // the anchors as all were told last
	settled   bool      // as watchers were told last
	orphaned  time.Time // when a lease last ended with its link; its member may be back at once
	consults  bool      // somebody watches and there is no lease: co-anchors are asked
	opinions  []opinion // theirs, by distance
	nextCheck time.Time // when authority may change without a message; zero = never
}

// held is one lease.
type held struct {
	lease
	seq uint64 // of the Register that was acknowledged last
}

// watcher is one node that watches.
type watcher struct {
	peer   peer.ID
	proof  []byte
	seq    uint64    // of its Watch
	number uint64    // of the last Delta
	gap    time.Time // a message was lost: when to make it watch again; zero = none was
}

// guest is what one peer has here.
type guest struct {
	cids        []security.ClusterID // books it is in, sorted
	leases      int
	watches     int
	incarnation uint64 // the newest seen in its leases
}

// gapDelay is how long a watcher whose link was full is left alone.
const gapDelay = 250 * time.Millisecond

func newAnchor(self peer.ID, out *outbox, r *reach, f *finder) *anchor {
	return &anchor{
		self: self, out: out, reach: r, finder: f, verify: security.VerifyProof,
		books: make(map[security.ClusterID]*book), guests: make(map[peer.ID]*guest),
		refused: make(counters),
	}
}

// receive takes in a message from a member's or a watcher's node, or from a
// co-anchor.
func (a *anchor) receive(now time.Time, from peer.ID, m message) {
	switch m := m.(type) {
	case *registerMsg:
		a.register(now, from, m)
	case *unregisterMsg:
		a.unregister(now, from, m)
	case *watchMsg:
		a.watch(now, from, m)
	case *unwatchMsg:
		a.unwatch(now, from, m.cid)
	case *hintMsg:
		a.hint(now, from, m)
	}
}

// open returns the book of cid, and makes one if need be.
func (a *anchor) open(now time.Time, cid security.ClusterID) *book {
	b := a.books[cid]
	if b == nil {
		b = &book{cid: cid, ring: a.finder.use(now, cid)}
		b.announced = b.ring.anchors
		a.books[cid] = b
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

// enter notes that p has something in b.
func (a *anchor) enter(p peer.ID, b *book) *guest {
	g := a.guests[p]
	if g == nil {
		g = &guest{}
		a.guests[p] = g
		a.reach.hold(p)
	}
	if i, ok := slices.BinarySearchFunc(g.cids, b.cid, compareIDs); !ok {
		g.cids = slices.Insert(g.cids, i, b.cid)
	}
	return g
}

// exit notes that p may have nothing in b any more.
func (a *anchor) exit(p peer.ID, b *book) {
	g := a.guests[p]
	if g == nil || b.watcher(p) != nil || b.anyLease(p) {
		return
	}
	if i, ok := slices.BinarySearchFunc(g.cids, b.cid, compareIDs); ok {
		g.cids = slices.Delete(g.cids, i, i+1)
	}
	if len(g.cids) == 0 {
		delete(a.guests, p)
		a.reach.unhold(p)
	}
}

// down forgets all that p had: leases and watches live as long as the link.
func (a *anchor) down(now time.Time, p peer.ID) {
	g := a.guests[p]
	if g == nil {
		return
	}
	for _, cid := range slices.Clone(g.cids) {
		b := a.books[cid]
		for _, l := range slices.Clone(b.leases) {
			if l.peer == p {
				a.remove(b, l)
				b.orphaned = now
			}
		}
		a.unwatch(now, p, cid)
		a.exit(p, b)
	}
}

// suspected takes in that p misses heartbeats, or no longer does.
func (a *anchor) suspected(p peer.ID, on bool) {
	g := a.guests[p]
	if g == nil {
		return
	}
	for _, cid := range g.cids {
		b := a.books[cid]
		for _, l := range b.leases {
			if l.peer == p && l.suspect != on {
				l.suspect = on
				b.upsert(l.leaseKey)
				a.touch(b)
			}
		}
	}
}

// ringChanged takes in that the neighbourhood of cid is another one now.
func (a *anchor) ringChanged(cid security.ClusterID) {
	if b := a.books[cid]; b != nil {
		a.touch(b)
	}
}

func (a *anchor) refuse(reason wire.Refusal) wire.Refusal {
	if reason != wire.Refusal_NONE {
		a.refused.add(refusalName(reason))
	}
	return reason
}

func compareIDs(a, b security.ClusterID) int { return bytes.Compare(a[:], b[:]) }
