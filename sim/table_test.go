// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
)

func placeOf(i int) place {
	id := peer.ID(fmt.Sprintf("peer %d", i))
	return placeAt(id, sha256.Sum256([]byte(id)))
}

// This test checks that a lookup that starts from one known peer finds the
// same peers as a scan over all of them.
func TestWalkFindsTheClosestPeers(t *testing.T) {
	const peers = 300
	tables := map[peer.ID]*table{}
	var all []place
	for i := range peers {
		p := placeOf(i)
		all = append(all, p)
		tables[p.id] = &table{self: p}
	}
	rng := newPCG(3, "walk")
	for _, p := range all {
		for range peers {
			tables[p.id].add(all[rng.below(peers)])
		}
	}
	newcomer := placeOf(peers)
	for i := range 50 {
		mine := &table{self: newcomer}
		mine.add(all[rng.below(peers)])
		target := point(sha256.Sum256([]byte{byte(i)}))
		got := walk(mine, target, bucketSize, func(p place) ([]place, answer) {
			return tables[p.id].nearest(target, bucketSize), answered
		})
		want := append([]place{newcomer}, all...)
		sortByDistance(want, target)
		require.Equal(t, want[:bucketSize], got.found)
		require.Less(t, len(got.asked), peers/2, "a lookup asks few")
	}
}

// This test checks that dead peers are not found, that they are reported, and
// that only silence makes the lookup hang.
func TestWalkReportsTheDead(t *testing.T) {
	for _, how := range []answer{refused, silent} {
		mine := &table{self: placeOf(0)}
		for i := 1; i < 10; i++ {
			mine.add(placeOf(i))
		}
		dead := placeOf(5)
		got := walk(mine, dead.at, bucketSize, func(p place) ([]place, answer) {
			if p.id == dead.id {
				return nil, how
			}
			return []place{p, dead}, answered
		})
		require.NotContains(t, got.found, dead)
		require.Equal(t, []place{dead}, got.dead)
		require.Equal(t, how == silent, got.hung)
		require.Len(t, got.asked, 8)
	}
}

// This test checks that a bucket is bounded, that nobody is known twice, and
// that the owner is never in its own table.
func TestTableIsBounded(t *testing.T) {
	mine := &table{self: placeOf(0)}
	require.False(t, mine.add(placeOf(0)))
	buckets := map[int]int{}
	for i := 1; i < 2000; i++ {
		if mine.add(placeOf(i)) {
			buckets[mine.self.at.prefix(placeOf(i).at)]++
		}
		require.False(t, mine.add(placeOf(i)))
	}
	for prefix, n := range buckets {
		require.LessOrEqual(t, n, bucketSize, "prefix %d", prefix)
	}
	require.Equal(t, bucketSize, buckets[0])
	first := mine.known[0]
	require.True(t, mine.remove(first.id))
	require.False(t, mine.remove(first.id))
}

// This test checks that gaps names a point in each bucket that has room, up to
// the deepest one, and none in a full one.
func TestGapsAreBucketsWithRoom(t *testing.T) {
	mine := &table{self: placeOf(0)}
	rng := newPCG(1, "gaps")
	require.Len(t, mine.gaps(rng.read), 1)
	for i := 1; i < 200; i++ {
		mine.add(placeOf(i))
	}
	count := map[int]int{}
	deepest := 0
	for _, k := range mine.known {
		prefix := mine.self.at.prefix(k.at)
		count[prefix]++
		deepest = max(deepest, prefix)
	}
	seen := map[int]bool{}
	for _, p := range mine.gaps(rng.read) {
		prefix := mine.self.at.prefix(p)
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
