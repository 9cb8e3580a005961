// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/security"
)

// Times of comparing what stands.
const (
	claimFirst  = 4 * time.Minute  // what this node has at an anchor is compared after this …
	claimSpread = 2 * time.Minute  // … and at most this more: heals what nobody thought of
	claimAgain  = 5 * time.Second  // so much later if an answer is awaited just then
	mendSpread  = 30 * time.Second // where it differs, all is asked for anew within this
)

// claims is the core that compares what this node has at each anchor with what
// the anchor holds for it: one message for all that stands, whatever there is of it.
type claims struct {
	*base
	at    map[peer.ID]*claim
	plans agenda[*claim]
}

// claim is what this node has at one anchor.
type claim struct {
	slot
	holdings
	peer   peer.ID
	waits  int  // answers to what was asked for one by one
	asked  bool // what stands was compared, and nothing was heard of it
	stakes int  // leases and watches that stand or wait
}

// stake is one lease or watch as its claim counts it.
type stake struct {
	waits  bool // for an answer
	stands bool
	watch  bool
	sum    uint64
}

// holdings sum up leases and watches; control.proto says how.
type holdings struct {
	leases, watches    int
	leaseSum, watchSum uint64
}

// count takes one lease or watch in or, with -1, out.
func (h *holdings) count(n int, watch bool, sum uint64) {
	if watch {
		h.watches += n
		h.watchSum ^= sum
	} else {
		h.leases += n
		h.leaseSum ^= sum
	}
}

// sumOf is what a lease adds to the sum.
func (l *lease) sumOf(cid security.ClusterID) uint64 {
	b := make([]byte, 0, 512)
	b = append(b, cid[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(l.member))
	b = binary.BigEndian.AppendUint64(b, l.incarnation)
	sum := sha256.Sum256(append(b, l.record...))
	return binary.BigEndian.Uint64(sum[:])
}

// watchSum is what a watch adds to the sum.
func watchSum(cid security.ClusterID, seq uint64) uint64 {
	b := make([]byte, 0, 64)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(append(b, cid[:]...), seq))
	return binary.BigEndian.Uint64(sum[:])
}

// set notes what became of a stake at p.
func (s *claims) set(now time.Time, p peer.ID, k *stake, next stake) {
	if p == s.self || *k == next {
		return
	}
	a := s.at[p]
	if a == nil {
		a = &claim{peer: p}
		s.at[p] = a
		s.later(now, a)
	}
	a.move(*k, -1)
	a.move(next, 1)
	*k = next
	if a.stakes == 0 {
		s.plans.cancel(a)
		delete(s.at, p)
	}
}

// drop notes that a stake at p is none any more.
func (s *claims) drop(p peer.ID, k *stake) { s.set(time.Time{}, p, k, stake{}) }

func (a *claim) move(k stake, n int) {
	if k.waits {
		a.waits += n
	}
	if k.stands {
		a.count(n, k.watch, k.sum)
	}
	if k.waits || k.stands {
		a.stakes += n
	}
}

// later plans the next comparison.
func (s *claims) later(now time.Time, a *claim) {
	s.plans.plan(a, now.Add(claimFirst+spread(s.rng, claimSpread)))
}

// tick compares what is due.
func (s *claims) tick(now time.Time) {
	for _, a := range s.plans.due(now) {
		switch {
		case a.waits > 0: // the anchor may have it already, or not yet
			s.plans.plan(a, now.Add(claimAgain))
		default:
			a.asked = true
			s.out.send(a.peer, &claimsMsg{holdings: a.holdings})
			s.later(now, a)
		}
	}
}

// differs says whether all at p is to be asked for anew: p was asked, and holds
// something else.
func (s *claims) differs(p peer.ID) bool {
	a := s.at[p]
	if a == nil || !a.asked {
		return false
	}
	a.asked = false
	return true
}
