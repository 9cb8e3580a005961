// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/bits"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// place is a peer in the key space. Each peer has one: pointers are compared.
type place struct {
	id   peer.ID
	at   overlay.Place
	head uint64 // the first bits of at: they decide nearly every comparison
	host *host  // nil in tests of tables
}

func placeAt(id peer.ID, at overlay.Place, h *host) *place {
	return &place{id: id, at: at, head: at.Head(), host: h}
}

// prefix is the number of leading bits that two places share.
func (p *place) prefix(o *place) int {
	if x := p.head ^ o.head; x != 0 {
		return bits.LeadingZeros64(x)
	}
	return p.at.Shared(o.at)
}

// bucketSize bounds the peers of a table that share the same prefix length
// with its owner.
const bucketSize = 20

// table is a Kademlia routing table reduced to what decides: who is known. It
// has no clock, lock or goroutine.
type table struct {
	self    *place
	buckets [][]*place // by the length of the prefix shared with self, in a repeatable order
	size    int
}

// bucket is where p is if it is known.
func (t *table) bucket(p *place) (prefix int, bucket []*place) {
	prefix = t.self.prefix(p)
	if prefix < len(t.buckets) {
		bucket = t.buckets[prefix]
	}
	return prefix, bucket
}

func (t *table) has(p *place) bool {
	_, bucket := t.bucket(p)
	return slices.Contains(bucket, p)
}

// add learns of a peer and reports whether the table changed. A full bucket
// keeps whom it has.
func (t *table) add(p *place) bool {
	prefix, bucket := t.bucket(p)
	if p == t.self || len(bucket) >= bucketSize || slices.Contains(bucket, p) {
		return false
	}
	for len(t.buckets) <= prefix {
		t.buckets = append(t.buckets, nil)
	}
	t.buckets[prefix] = append(bucket, p)
	t.size++
	return true
}

// remove forgets a peer and reports whether it was known.
func (t *table) remove(p *place) bool {
	prefix, bucket := t.bucket(p)
	i := slices.Index(bucket, p)
	if i < 0 {
		return false
	}
	t.buckets[prefix] = slices.Delete(bucket, i, i+1)
	t.size--
	return true
}

// nearest appends the k peers closest to target, the owner included, to list.
//
// Whoever shares the target's first bit that the owner does not share is closer
// to it than all who share that bit with the owner: whole buckets are closer or
// farther than the rest, and only within one it takes a comparison.
func (t *table) nearest(list []*place, target overlay.Place, k int) []*place {
	k += len(list)
	for prefix := 0; prefix < len(t.buckets) && len(list) < k; prefix++ {
		if target.Bit(prefix) != t.self.at.Bit(prefix) {
			list = appendSorted(list, t.buckets[prefix], target)
		}
	}
	if len(list) < k {
		list = append(list, t.self)
	}
	for prefix := len(t.buckets) - 1; prefix >= 0 && len(list) < k; prefix-- {
		if target.Bit(prefix) == t.self.at.Bit(prefix) {
			list = appendSorted(list, t.buckets[prefix], target)
		}
	}
	return list[:min(k, len(list))]
}

func appendSorted(list, bucket []*place, target overlay.Place) []*place {
	before := len(list)
	list = append(list, bucket...)
	sortByDistance(list[before:], target)
	return list
}

// gaps returns a point in each part of the key space of which the owner knows
// less than it could: for each prefix length up to the longest in the table.
func (t *table) gaps(random func([]byte)) (points []overlay.Place) {
	deepest := 0
	for prefix, bucket := range t.buckets {
		if len(bucket) > 0 {
			deepest = prefix
		}
	}
	for prefix := range deepest + 1 {
		if prefix >= len(t.buckets) || len(t.buckets[prefix]) < bucketSize {
			points = append(points, beside(t.self.at, prefix, random))
		}
	}
	return points
}

// beside returns a random point that shares exactly so many bits with a.
func beside(a overlay.Place, prefix int, random func([]byte)) (b overlay.Place) {
	random(b[:])
	for i := range prefix {
		setBit(&b, i, a.Bit(i))
	}
	setBit(&b, prefix, !a.Bit(prefix))
	return b
}

func setBit(a *overlay.Place, i int, on bool) {
	a[i/8] &^= 1 << (7 - i%8)
	if on {
		a[i/8] |= 1 << (7 - i%8)
	}
}

// sortByDistance sorts a few peers, closest first.
func sortByDistance(list []*place, target overlay.Place) {
	head := target.Head()
	for i := 1; i < len(list); i++ {
		p := list[i]
		j := i
		for ; j > 0 && closer(p, list[j-1], &target, head); j-- {
			list[j] = list[j-1]
		}
		list[j] = p
	}
}

// closer reports whether a is closer to target, whose first bits are head, than
// b.
func closer(a, b *place, target *overlay.Place, head uint64) bool {
	if da, db := a.head^head, b.head^head; da != db {
		return da < db
	}
	return target.Closer(a.at, b.at) < 0
}
