// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"
)

// point is a place in the key space: a SHA-256 hash.
type point [32]byte

// distance is the XOR of two points.
func (a point) distance(b point) (d point) {
	for i := range a {
		d[i] = a[i] ^ b[i]
	}
	return d
}

// prefix is the number of leading bits that two points share.
func (a point) prefix(b point) int {
	for i := range a {
		if x := a[i] ^ b[i]; x != 0 {
			return 8*i + bits.LeadingZeros8(x)
		}
	}
	return 8 * len(a)
}

// place is a peer in the key space.
type place struct {
	id   peer.ID
	at   point
	head uint64 // the first bits of at: they decide nearly every comparison
}

func placeAt(id peer.ID, at point) place {
	return place{id: id, at: at, head: binary.BigEndian.Uint64(at[:])}
}

// bucketSize bounds the peers of a table that share the same prefix length
// with its owner.
const bucketSize = 20

// table is a Kademlia routing table reduced to what decides: who is known. It
// has no clock, lock or goroutine.
type table struct {
	self  place
	known []place // in no particular but a repeatable order
}

func (t *table) has(id peer.ID) bool {
	return slices.ContainsFunc(t.known, func(p place) bool { return p.id == id })
}

// add learns of a peer and reports whether the table changed. A full bucket
// keeps whom it has.
func (t *table) add(p place) bool {
	if p.id == t.self.id || t.has(p.id) {
		return false
	}
	prefix, same := t.self.at.prefix(p.at), 0
	for _, k := range t.known {
		if t.self.at.prefix(k.at) == prefix {
			same++
		}
	}
	if same >= bucketSize {
		return false
	}
	t.known = append(t.known, p)
	return true
}

// remove forgets a peer and reports whether it was known.
func (t *table) remove(id peer.ID) bool {
	before := len(t.known)
	t.known = slices.DeleteFunc(t.known, func(p place) bool { return p.id == id })
	return len(t.known) < before
}

// nearest returns the k peers closest to target, the owner included.
func (t *table) nearest(target point, k int) []place {
	all := append([]place{t.self}, t.known...)
	sortByDistance(all, target)
	return all[:min(k, len(all))]
}

// gaps returns a point in each part of the key space of which the owner knows
// less than it could: for each prefix length up to the longest in the table.
func (t *table) gaps(random func([]byte)) (points []point) {
	var count [8*len(point{}) + 1]int
	deepest := 0
	for _, k := range t.known {
		prefix := t.self.at.prefix(k.at)
		count[prefix]++
		deepest = max(deepest, prefix)
	}
	for prefix := range deepest + 1 {
		if count[prefix] < bucketSize {
			points = append(points, t.self.at.beside(prefix, random))
		}
	}
	return points
}

// beside returns a random point that shares exactly so many bits with a.
func (a point) beside(prefix int, random func([]byte)) (b point) {
	random(b[:])
	for i := range prefix {
		b.setBit(i, a.bit(i))
	}
	b.setBit(prefix, !a.bit(prefix))
	return b
}

func (a point) bit(i int) bool { return a[i/8]>>(7-i%8)&1 == 1 }

func (a *point) setBit(i int, on bool) {
	a[i/8] &^= 1 << (7 - i%8)
	if on {
		a[i/8] |= 1 << (7 - i%8)
	}
}

func sortByDistance(list []place, target point) {
	head := binary.BigEndian.Uint64(target[:])
	slices.SortFunc(list, func(a, b place) int {
		if c := cmp.Compare(a.head^head, b.head^head); c != 0 {
			return c
		}
		da, db := a.at.distance(target), b.at.distance(target)
		return bytes.Compare(da[:], db[:])
	})
}

// answer is what a peer says to a lookup.
type answer uint8

const (
	answered answer = iota
	refused         // nobody listens there
	silent          // no answer at all
)

// lookup is the result of walking through the tables towards a target.
type lookup struct {
	found  []place // closest first, at most width; only such as answered, and the owner
	asked  []place // everybody who answered
	dead   []place // everybody who did not
	hung   bool    // at least one of them was silent, not gone
	rounds int     // of questions asked at the same time
}

// parallel is how many peers a lookup asks at the same time.
const parallel = 3

// walk looks for the peers closest to target, from t on, until the closest
// width it has heard of were asked. ask returns what a peer knows.
func walk(t *table, target point, width int, ask func(place) ([]place, answer)) lookup {
	var l lookup
	list := t.nearest(target, width)
	seen := map[peer.ID]bool{t.self.id: true}
	gone := map[peer.ID]bool{}
	for {
		var round []place
		for _, p := range list {
			if !seen[p.id] && len(round) < parallel {
				seen[p.id] = true
				round = append(round, p)
			}
		}
		if len(round) == 0 {
			break
		}
		l.rounds++
		for _, p := range round {
			more, how := ask(p)
			if how != answered {
				gone[p.id] = true
				l.dead = append(l.dead, p)
				l.hung = l.hung || how == silent
				continue
			}
			l.asked = append(l.asked, p)
			list = append(list, more...)
		}
		sortByDistance(list, target)
		list = slices.CompactFunc(list, func(a, b place) bool { return a.id == b.id })
		list = slices.DeleteFunc(list, func(p place) bool { return gone[p.id] })
		list = list[:min(width, len(list))]
	}
	l.found = list
	return l
}
