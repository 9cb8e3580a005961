// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	kb "github.com/libp2p/go-libp2p-kbucket"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
)

// world is a network in which every node knows up to bucketSize others at each
// distance, as routing tables do.
type world struct {
	nodes []peer.ID
	knows map[peer.ID][]peer.ID
}

func newWorld(rng *rand.Rand, size int) *world {
	w := &world{knows: make(map[peer.ID][]peer.ID)}
	for i := range size {
		w.nodes = append(w.nodes, peer.ID(fmt.Sprintf("peer %d of %d, %x", i, size, rng.Uint64())))
	}
	for _, p := range w.nodes {
		at := overlay.PlaceOf([]byte(p))
		var buckets [257]int
		for _, i := range rng.Perm(size) {
			other := overlay.PlaceOf([]byte(w.nodes[i]))
			prefix := kb.CommonPrefixLen(at[:], other[:])
			if w.nodes[i] != p && buckets[prefix] < bucketSize {
				buckets[prefix]++
				w.knows[p] = append(w.knows[p], w.nodes[i])
			}
		}
	}
	return w
}

// closest is the plain definition.
func (w *world) closest(target overlay.Place, k int) []peer.ID {
	all := slices.Clone(w.nodes)
	sortByDistance(target, all)
	return all[:min(k, len(all))]
}

// named is what p answers.
func (w *world) named(p peer.ID, target overlay.Place) []peer.ID {
	known := slices.Clone(w.knows[p])
	sortByDistance(target, known)
	return known[:min(bucketSize, len(known))]
}

// This test checks the lookup against the plain definition, in networks of
// many sizes, with answers in any order.
func TestLookupFindsTheClosest(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(rng, 1+rng.IntN(150))
		target := overlay.PlaceOf([]byte{byte(seed)})
		self := w.nodes[0]
		k := 1 + rng.IntN(5)
		l := newLookup(target, k, self, w.knows[self], nil)
		var asked []peer.ID
		questions := 0
		for !l.done() {
			next := l.next()
			require.NotContains(t, next, self)
			questions += len(next)
			asked = append(asked, next...)
			require.NotEmpty(t, asked, "not done, and nobody to ask")
			require.LessOrEqual(t, len(asked), lookupParallel)
			i := rng.IntN(len(asked))
			l.answered(asked[i], w.named(asked[i], target))
			asked = slices.Delete(asked, i, i+1)
		}
		require.Equal(t, w.closest(target, k), l.result(), "seed %d", seed)
		require.Less(t, questions, 40, "seed %d", seed)
	}
}

// This test checks that peers that can't be reached are left out, that slow
// ones are not waited for, and that of those only connected ones count.
func TestLookupCopesWithTheDeadAndTheSlow(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(rng, 60)
		target := overlay.PlaceOf([]byte{byte(seed)})
		self := w.nodes[0]
		dead, hung := make(map[peer.ID]bool), make(map[peer.ID]bool)
		for _, p := range w.nodes[1:] {
			dead[p], hung[p] = rng.IntN(6) == 0, rng.IntN(6) == 0
		}
		l := newLookup(target, 3, self, w.knows[self], nil)
		for !l.done() {
			for _, p := range l.next() {
				switch {
				case dead[p]:
					l.failed(p)
				case hung[p]:
					l.slow(p)
				default:
					l.answered(p, w.named(p, target))
				}
			}
		}
		var want []peer.ID
		for _, p := range w.closest(target, len(w.nodes)) {
			connected := slices.Contains(w.knows[self], p)
			if len(want) < 3 && !dead[p] && (!hung[p] || connected) {
				want = append(want, p)
			}
		}
		require.Equal(t, want, l.result(), "seed %d", seed)
	}
}

// This test checks the ends of a lookup: nobody known, late answers, and those
// that are asked in any case.
func TestLookupAtItsEnds(t *testing.T) {
	l := newLookup(overlay.Place{}, 3, "self", nil, nil)
	require.True(t, l.done())
	require.Empty(t, l.next())
	require.Equal(t, []peer.ID{"self"}, l.result())

	l = newLookup(overlay.Place{}, 1, "self", []peer.ID{"a"}, nil)
	require.Equal(t, []peer.ID{"a"}, l.next())
	require.False(t, l.done())
	l.slow("a")
	require.True(t, l.done())
	l.answered("a", []peer.ID{"b"}) // late, and still of use
	require.Equal(t, []peer.ID{"b"}, l.next())
	l.failed("b")
	l.failed("never heard of")
	require.True(t, l.done())

	// More peers than are kept: the farthest are forgotten, not the extra one.
	var many []peer.ID
	for i := range 2 * lookupKeep {
		many = append(many, peer.ID(fmt.Sprint("peer ", i)))
	}
	sortByDistance(overlay.Place{}, many)
	far := many[len(many)-1]
	l = newLookup(overlay.Place{}, 3, "self", many[:lookupKeep], []peer.ID{far})
	require.Less(t, l.find(far), 0)
	next := l.next()
	require.Contains(t, next, far)
	for _, p := range next {
		require.False(t, l.done())
		l.answered(p, nil)
	}
	require.True(t, l.done())
	require.NotContains(t, l.next(), far)
}

// This test checks that a lookup of our own id asks all who have a place in the table:
// this node is the closest to itself, and one of those who are looked for. Two nodes that
// are each other's farthest would not meet else.
func TestTheFarthestNeighbourIsAskedToo(t *testing.T) {
	self := peer.ID("self")
	var others []peer.ID
	for i := range bucketSize {
		others = append(others, peer.ID(fmt.Sprint("other", i)))
	}
	l := newLookup(overlay.PlaceOf([]byte(self)), neighbourhood, self, others[:1], nil)
	asked := map[peer.ID]bool{}
	for ask := l.next(); len(ask) > 0; ask = l.next() {
		for _, p := range ask {
			asked[p] = true
			l.answered(p, others)
		}
	}
	require.True(t, l.done())
	require.Len(t, asked, bucketSize)
}
