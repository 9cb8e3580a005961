// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/pace"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// Bounds of what one anchor holds for others. A cluster id with many leases is sharded
// (sharding.go). At a bound whoever holds most gives
// way to who would still hold less with one more, so that what is scarce is shared
// evenly; who holds as much as anybody is refused. Both hear why, never nothing.
const (
	maxClusterWatches = 1 << 12  // watchers of one cluster id; all publishers watch the root group's forwarders
	maxLeases         = 1 << 14  // leases in all
	maxWatches        = 1 << 14  // watches in all
	maxRecordBytes    = 32 << 20 // sealed records in all
)

// checking is how much one peer may have an anchor check: proofs and signatures that are
// good cost one unit, those that are not falsePrice, so that what a peer says falsely takes
// no time of others'. All leases that an anchor can hold may come at once.
var checking = pace.Limit{Units: 2000, Per: time.Second, Burst: maxLeases * time.Second / 2000}

const (
	falsePrice  = 80
	maxCheckers = 1 << 12 // peers whose checks are counted one by one
)

// holders is what each peer has at an anchor, and all together.
type holders struct {
	links   *peerTable // told whose life matters
	guests  map[peer.ID]*guest
	leases  int
	watches int
	bytes   int // of records
}

// guest is what one peer has.
type guest struct {
	holdings
	books       byPlace[*book] // that it is in
	bytes       int            // of records
	incarnation uint64         // the newest seen in its leases
}

// enter notes that p has something in b.
func (s *holders) enter(p peer.ID, b *book) *guest {
	g := s.guests[p]
	if g == nil {
		g = &guest{}
		s.guests[p] = g
		s.links.hold(p)
	}
	if _, ok := g.books.find(b.cid()); !ok {
		g.books.add(b)
	}
	return g
}

// exit notes that p may have nothing in b any more.
func (s *holders) exit(p peer.ID, b *book) {
	g := s.guests[p]
	if g == nil || b.watchOf(p) != nil || len(b.of(p)) > 0 {
		return
	}
	g.books.remove(b)
	if len(g.books) == 0 {
		delete(s.guests, p)
		s.links.unhold(p)
	}
}

// compare answers who says what it has here, if that is not what is here.
func (s *holders) compare(out *outbox, from peer.ID, m *claimsMsg) {
	var here holdings
	if g := s.guests[from]; g != nil {
		here = g.holdings
	}
	if here != m.holdings {
		out.send(from, &claimsMsg{holdings: here, differs: true})
	}
}

// need is what has to go before somebody gets more: one lease or watch of a peer,
// in one book or, if that is nil, in any.
type need struct {
	of peer.ID // "" = nothing would help
	in *book
}

// roomForLease says what has to go before from may have a lease that makes its
// records grow so much, if anything.
func (s *holders) roomForLease(from peer.ID, fresh bool, grow int) (n need, lacks bool) {
	var mine guest
	if g := s.guests[from]; g != nil {
		mine = *g
	}
	switch {
	case fresh && s.leases >= maxLeases:
		return need{of: most(s.guests, func(g *guest) int { return g.leases }, mine.leases+1)}, true
	case s.bytes+grow > maxRecordBytes:
		return need{of: most(s.guests, func(g *guest) int { return g.bytes }, mine.bytes+grow)}, true
	}
	return need{}, false
}

// roomForWatch does the same for a new watch. A peer watches a cluster id once: of
// those who do, the one with most watches elsewhere gives way.
func (s *holders) roomForWatch(b *book, from peer.ID) (n need, lacks bool) {
	mine := 0
	if g := s.guests[from]; g != nil {
		mine = g.watches
	}
	watches := func(g *guest) int { return g.watches }
	switch {
	case b != nil && len(b.watchers()) >= maxClusterWatches:
		here := make(map[peer.ID]*guest, len(b.watchers()))
		for _, w := range b.watchers() {
			here[w.peer] = s.guests[w.peer]
		}
		return need{most(here, watches, mine+1), b}, true
	case s.watches >= maxWatches:
		return need{of: most(s.guests, watches, mine+1)}, true
	}
	return need{}, false
}

// most is who has most, if that is more than so much; of several, always the same.
func most[V any](all map[peer.ID]V, has func(V) int, more int) (who peer.ID) {
	for p, v := range all {
		if n := has(v); n > more || n == more && who != "" && p < who {
			who, more = p, n
		}
	}
	return who
}

// bookWith is the first of g's books from a place on that it has something in.
func (g *guest) bookWith(place int, has func(*book) bool) *book {
	i := slices.IndexFunc(g.books[place:], has)
	if i >= 0 {
		return g.books[place+i]
	}
	return g.books[slices.IndexFunc(g.books[:place], has)]
}

// examiner makes the checks of signatures and proofs that peers cause at an anchor, and
// bounds how many each can cause.
type examiner struct {
	self   peer.ID
	prove  func(id security.ClusterID, key, proof []byte, p peer.ID) error
	began  time.Time // what checks are counted from
	checks *pace.Meters[peer.ID]
}

// examine makes a check for a peer, unless it has had more than its share made: then it
// is refused as if there were no room.
func (e *examiner) examine(now time.Time, from peer.ID, check func() wire.Refusal) wire.Refusal {
	at := int64(now.Sub(e.began))
	if from != e.self && !e.checks.Open(from, at) {
		return wire.Refusal_FULL
	}
	refusal := check()
	price := int64(1)
	if refusal != wire.Refusal_NONE {
		price = falsePrice
	}
	e.checks.Take(from, at, price)
	return refusal
}

// checkProof verifies a proof unless the peer has shown a good one: a holder of the key
// remains one, and a node with many members proves it again and again.
func (e *examiner) checkProof(b *book, from peer.ID, cid security.ClusterID, key, proof []byte) wire.Refusal {
	if (b == nil || !b.proven(from)) && e.prove(cid, key, proof, from) != nil {
		return wire.Refusal_BAD_PROOF
	}
	return wire.Refusal_NONE
}
