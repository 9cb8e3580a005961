// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"
)

// subsetSize is how many members a caller works with for patterns that need
// one member. Broadcasts and the like reach all.
const subsetSize = 64

// hashString is 64-bit FNV-1a with a finalizer. The result is part of what
// callers of all releases agree on (a sticky key finds the same member from
// everywhere), so it never changes.
func hashString(s string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return mix(h)
}

// affinity is the rendezvous score of a member for a key's hash; the highest
// one wins. When a member comes or goes, only the keys it wins or won move.
func affinity(key uint64, m MemberID) uint64 {
	return mix(key ^ mix(uint64(m)+0x9e3779b97f4a7c15))
}

// subset returns at most n of the members: those with the highest affinity to
// this caller, in the order of members. Callers spread evenly, and each keeps
// its connections when members come and go.
func subset(self peer.ID, members []*Member, n int) []*Member {
	if len(members) <= n {
		return members
	}
	key := hashString(string(self))
	best := slices.Clone(members)
	slices.SortFunc(best, func(a, b *Member) int {
		return cmp.Or(
			cmp.Compare(affinity(key, b.ID), affinity(key, a.ID)),
			compareMembers(a, b))
	})
	best = best[:n:n]
	slices.SortFunc(best, compareMembers)
	return best
}

func compareMembers(a, b *Member) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Peer, b.Peer))
}
