// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

func placeOfPeer(p peer.ID) overlay.Place { return overlay.PlaceOf([]byte(p)) }

func placeOfID(cid security.ClusterID) overlay.Place { return overlay.PlaceOf(cid[:]) }

// placed is a peer with its place.
type placed struct {
	peer peer.ID
	at   overlay.Place
}

// neighbours are peers in the order of their places, so that those closest to
// any id are found without looking at the others.
type neighbours []placed

func (n neighbours) find(at overlay.Place) (int, bool) {
	return slices.BinarySearchFunc(n, at, func(p placed, at overlay.Place) int { return bytes.Compare(p.at[:], at[:]) })
}

// add takes p in; one that is there already is no error.
func (n *neighbours) add(p placed) {
	if i, ok := n.find(p.at); !ok {
		*n = slices.Insert(*n, i, p)
	}
}

// remove takes p out; one that is not there is no error.
func (n *neighbours) remove(at overlay.Place) {
	if i, ok := n.find(at); ok {
		*n = slices.Delete(*n, i, i+1)
	}
}

// near yields the peers by their distance to target, the closest first.
func (n neighbours) near(target overlay.Place) func(yield func(peer.ID) bool) {
	return func(yield func(peer.ID) bool) { n.descend(target, 0, yield) }
}

// descend visits the half that shares the next bit with target before the other.
func (n neighbours) descend(target overlay.Place, bit int, yield func(peer.ID) bool) bool {
	if len(n) == 0 {
		return true
	}
	if len(n) == 1 {
		return yield(n[0].peer)
	}
	ones := sort.Search(len(n), func(i int) bool { return n[i].at.Bit(bit) })
	first, second := n[:ones], n[ones:]
	if target.Bit(bit) {
		first, second = second, first
	}
	return first.descend(target, bit+1, yield) && second.descend(target, bit+1, yield)
}

// byDistance sorts peers by their distance to a cluster id and drops repetitions.
// It sorts in place.
func byDistance(cid security.ClusterID, peers []peer.ID) []peer.ID {
	target := placeOfID(cid)
	all := make([]placed, len(peers))
	for i, p := range peers {
		all[i] = placed{p, placeOfPeer(p).To(target)}
	}
	slices.SortFunc(all, func(a, b placed) int { return bytes.Compare(a.at[:], b.at[:]) })
	for i := range all {
		peers[i] = all[i].peer
	}
	return slices.Compact(peers) // equal peers have equal distances
}

// byPlace are things that belong to cluster ids, in the order of the ids' places. A
// node may have many thousands of them: a map would take ten times the memory, and an
// order of its own.
type byPlace[T interface{ set() *anchorSet }] []T

// find is the index of the first thing of cid, or where it would be.
func (all byPlace[T]) find(cid security.ClusterID) (int, bool) {
	at := placeOfID(cid).Head()
	return slices.BinarySearchFunc(all, cid, func(t T, cid security.ClusterID) int {
		g := t.set()
		return cmp.Or(cmp.Compare(g.place, at), compareIDs(g.cid, cid))
	})
}

// get returns the first thing of cid, or the zero value.
func (all byPlace[T]) get(cid security.ClusterID) (t T) {
	if i, ok := all.find(cid); ok {
		return all[i]
	}
	return t
}

// of lists the things of cid.
func (all byPlace[T]) of(cid security.ClusterID) []T {
	from, _ := all.find(cid)
	to := from
	for to < len(all) && all[to].set().cid == cid {
		to++
	}
	return all[from:to]
}

// add takes in the only thing of its id.
func (all *byPlace[T]) add(t T) {
	i, _ := all.find(t.set().cid)
	*all = slices.Insert(*all, i, t)
}

// remove takes out the only thing of its id.
func (all *byPlace[T]) remove(t T) {
	if i, ok := all.find(t.set().cid); ok {
		*all = slices.Delete(*all, i, i+1)
	}
}
