// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"fmt"
	"slices"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// crowd is n receivers that are in no tree.
func crowd(n int) []*receiver {
	rs := make([]*receiver, n)
	for i := range rs {
		rs[i] = &receiver{peer: peer.ID(fmt.Sprintf("n%03d", i)), hash: uint64(i + 1)}
	}
	return rs
}

func alike(*receiver) int { return 0 }

func TestATreeIsMadeAnewWhereThatIsWorthIt(t *testing.T) {
	// This test proves when a tree is made: at first, when many are in none, and
	// when anything has changed, but not twice within half a second.
	var x tree
	require.True(t, x.due(1))
	x.grow(1, crowd(40), alike, 1)
	later := int64(rebuildTime) + 1
	require.False(t, x.due(later), "nothing has changed")
	x.loose = fanOut
	require.False(t, x.due(later-1))
	require.True(t, x.due(later))
	x.loose = fanOut + 1
	require.True(t, x.due(2))
	x.loose, x.stale = 0, true
	require.False(t, x.due(2))
	require.True(t, x.due(later))
}

func TestABranchIsReplantedAlone(t *testing.T) {
	// This test loses the head of a branch: another one, the best there is, leads
	// those of the branch who are still there, under a new epoch, and nobody else
	// notices.
	var x tree
	rs := crowd(fanOut * 5)
	x.grow(1, rs, alike, 1)
	b := x.branches[3]
	lost, gone, best := b.head, b.stops[0], b.stops[3]
	left := b.stops[1]
	left.leave()
	before := slices.Clone(x.branches)
	fresh := x.replant(b, func(r *receiver) int {
		switch r {
		case lost, gone:
			return outOfTree
		case best:
			return 0
		}
		return 1
	}, 1)
	require.Same(t, best, fresh.head)
	require.Len(t, fresh.stops, 1)
	require.EqualValues(t, fanOut+1, fresh.epoch)
	require.Len(t, x.branches, fanOut)
	for _, o := range before {
		require.Equal(t, o != b, slices.Contains(x.branches, o))
	}
	for _, r := range []*receiver{lost, gone, left} {
		require.Nil(t, r.branch)
	}
	require.Nil(t, x.replant(fresh, func(*receiver) int { return outOfTree }, 1))
	require.Len(t, x.branches, fanOut-1)
}

func TestWhoIsPassedByIsToldOf(t *testing.T) {
	// This test proves what a head is told of those behind it that were reached on
	// other ways: how much, once, and that somebody has left for good.
	b := cut(crowd(4), 1)[0]
	b.stops[0].passBy(2)
	b.stops[0].passBy(3)
	b.stops[2].leave()
	b.stops[2].passBy(1)
	require.Equal(t, []wire.Skip{{Index: 0, Add: 5}, {Index: 2, Add: wire.SkipLeft}}, b.skipList(nil))
	require.Len(t, b.members(), 3)
	b.clearSkips()
	require.Empty(t, b.skipList(nil))
	require.Nil(t, b.stops[2])
	b.compact()
	require.Len(t, b.stops, 2)
	require.Equal(t, 1, b.stops[1].index)
}

// TestTreesAreBalanced proves the shape: every receiver is in one place, no
// node has more than fanOut ways out, and paths are as short as can be.
func TestTreesAreBalanced(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 100, 272, 273, 1000, 5000} {
		rs := make([]*receiver, n)
		for i := range rs {
			rs[i] = &receiver{number: uint64(i)}
		}
		seen := make(map[*receiver]bool)
		deepest := 0
		var walk func(rs []*receiver, depth int)
		walk = func(rs []*receiver, depth int) {
			branches := cut(slices.Clone(rs), fanOut)
			require.LessOrEqual(t, len(branches), fanOut)
			for _, b := range branches {
				require.False(t, seen[b.head])
				seen[b.head] = true
				deepest = max(deepest, depth)
				walk(b.stops, depth+1)
			}
		}
		walk(rs, 1)
		require.Len(t, seen, n)
		least := 0
		for reach, level := 0, 1; reach < n; least++ {
			level *= fanOut
			reach += level
		}
		require.Equal(t, least, deepest, "%d receivers", n)
	}
}
