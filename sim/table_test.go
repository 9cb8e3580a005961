// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
)

// places makes so many peers.
func places(count int) []*place {
	list := make([]*place, count)
	for i := range list {
		id := peer.ID(fmt.Sprintf("peer %d", i))
		list[i] = placeAt(id, sha256.Sum256([]byte(id)), nil)
	}
	return list
}

// byDistance sorts by the definition of distance.
func byDistance(list []*place, target overlay.Place) []*place {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b *place) int {
		da, db := a.at.To(target), b.at.To(target)
		return bytes.Compare(da[:], db[:])
	})
	return list
}

// This test checks that a table gives the same peers in the same order as
// sorting all it knows, wherever the target is.
func TestNearestAgreesWithSorting(t *testing.T) {
	rng := newPCG(1, "nearest")
	all := places(2000)
	for owner := range 40 {
		mine := &table{self: all[owner]}
		known := []*place{mine.self}
		for range 50 * owner {
			if p := all[rng.below(2000)]; mine.add(p) {
				known = append(known, p)
			}
		}
		require.Equal(t, len(known)-1, mine.size)
		for range 30 {
			target := all[rng.below(2000)].at
			if rng.below(3) == 0 {
				target = beside(mine.self.at, int(rng.below(12)), rng.read)
			}
			for _, k := range []int{0, 1, 3, bucketSize, 500} {
				want := byDistance(known, target)
				want = want[:min(k, len(want))]
				got := mine.nearest(all[:1:1], target, k)
				require.Equal(t, all[0], got[0], "it appends")
				require.Equal(t, want, got[1:])
			}
		}
		require.Equal(t, byDistance(known, mine.self.at), mine.nearest(nil, mine.self.at, 500))
	}
}

// This test checks that a lookup that starts from one known peer finds the
// same peers as a scan over all of them.
func TestWalkFindsTheClosestPeers(t *testing.T) {
	const peers = 300
	tables := map[*place]*table{}
	all := places(peers + 1)
	newcomer, all := all[peers], all[:peers]
	for _, p := range all {
		tables[p] = &table{self: p}
	}
	rng := newPCG(3, "walk")
	for _, p := range all {
		for range peers {
			tables[p].add(all[rng.below(peers)])
		}
	}
	for i := range 50 {
		mine := &table{self: newcomer}
		mine.add(all[rng.below(peers)])
		target := overlay.PlaceOf([]byte{byte(i)})
		got := walk(mine, target, bucketSize, func(list []*place, p *place) ([]*place, answer) {
			return tables[p].nearest(list, target, bucketSize), answered
		})
		want := byDistance(append([]*place{newcomer}, all...), target)
		require.Equal(t, want[:bucketSize], got.found)
		require.Less(t, len(got.asked), peers/2, "a lookup asks few")
	}
}

// This test checks that dead peers are not found, that they are reported, and
// that only silence makes the lookup hang.
func TestWalkReportsTheDead(t *testing.T) {
	for _, how := range []answer{refused, silent} {
		all := places(10)
		mine := &table{self: all[0]}
		for _, p := range all {
			mine.add(p)
		}
		dead := all[5]
		got := walk(mine, dead.at, bucketSize, func(list []*place, p *place) ([]*place, answer) {
			if p == dead {
				return list, how
			}
			return append(list, p, dead), answered
		})
		require.NotContains(t, got.found, dead)
		require.Equal(t, []*place{dead}, got.dead)
		require.Equal(t, how == silent, got.hung)
		require.Len(t, got.asked, 8)
	}
}

// This test checks that a bucket is bounded, that nobody is known twice, and
// that the owner is never in its own table.
func TestTableIsBounded(t *testing.T) {
	all := places(2000)
	mine := &table{self: all[0]}
	require.False(t, mine.add(all[0]))
	buckets := map[int]int{}
	for _, p := range all[1:] {
		if mine.add(p) {
			buckets[mine.self.at.Shared(p.at)]++
			require.True(t, mine.has(p))
		}
		require.False(t, mine.add(p))
	}
	for prefix, n := range buckets {
		require.LessOrEqual(t, n, bucketSize, "prefix %d", prefix)
	}
	require.Equal(t, bucketSize, buckets[0])
	first := mine.buckets[0][0]
	require.True(t, mine.remove(first))
	require.False(t, mine.remove(first))
	require.False(t, mine.has(first))
}

// This test checks that gaps names a point in each bucket that has room, up to
// the deepest one, and none in a full one.
func TestGapsAreBucketsWithRoom(t *testing.T) {
	all := places(200)
	mine := &table{self: all[0]}
	rng := newPCG(1, "gaps")
	require.Len(t, mine.gaps(rng.read), 1)
	for _, p := range all {
		mine.add(p)
	}
	count := map[int]int{}
	deepest := 0
	for prefix, bucket := range mine.buckets {
		if len(bucket) > 0 {
			count[prefix], deepest = len(bucket), prefix
		}
	}
	seen := map[int]bool{}
	for _, p := range mine.gaps(rng.read) {
		prefix := mine.self.at.Shared(p)
		require.False(t, seen[prefix])
		require.Less(t, count[prefix], bucketSize)
		require.LessOrEqual(t, prefix, deepest)
		seen[prefix] = true
	}
	full := 0
	for _, c := range count {
		if c == bucketSize {
			full++
		}
	}
	require.Len(t, seen, deepest+1-full)
}
