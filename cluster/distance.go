// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/security"
)

// place is where a peer or a cluster id lies: overlay.Key defines the distance of
// two places as their exclusive or.
type place [sha256.Size]byte

func placeOfPeer(p peer.ID) place { return sha256.Sum256([]byte(p)) }

func placeOfID(cid security.ClusterID) place { return sha256.Sum256(cid[:]) }

// to is the distance from one place to the other.
func (a place) to(b place) (d place) {
	for i := range a {
		d[i] = a[i] ^ b[i]
	}
	return d
}

// head is the first part of a place, which tells nearly all apart, or of a distance.
func (a place) head() uint64 { return binary.BigEndian.Uint64(a[:]) }

func (a place) bit(i int) byte { return a[i/8] >> (7 - i%8) & 1 }

// placed is a peer with its place.
type placed struct {
	peer peer.ID
	at   place
}

// neighbours are peers in the order of their places, so that those closest to
// any id are found without looking at the others.
type neighbours []placed

func (n neighbours) find(at place) (int, bool) {
	return slices.BinarySearchFunc(n, at, func(p placed, at place) int { return bytes.Compare(p.at[:], at[:]) })
}

// add takes p in; one that is there already is no error.
func (n *neighbours) add(p placed) {
	if i, ok := n.find(p.at); !ok {
		*n = slices.Insert(*n, i, p)
	}
}

// remove takes p out; one that is not there is no error.
func (n *neighbours) remove(at place) {
	if i, ok := n.find(at); ok {
		*n = slices.Delete(*n, i, i+1)
	}
}

// near yields the peers by their distance to target, the closest first.
func (n neighbours) near(target place) func(yield func(peer.ID) bool) {
	return func(yield func(peer.ID) bool) { n.descend(target, 0, yield) }
}

// descend visits the half that shares the next bit with target before the other.
func (n neighbours) descend(target place, bit int, yield func(peer.ID) bool) bool {
	if len(n) == 0 {
		return true
	}
	if len(n) == 1 {
		return yield(n[0].peer)
	}
	ones := sort.Search(len(n), func(i int) bool { return n[i].at.bit(bit) == 1 })
	first, second := n[:ones], n[ones:]
	if target.bit(bit) == 1 {
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
		all[i] = placed{p, placeOfPeer(p).to(target)}
	}
	slices.SortFunc(all, func(a, b placed) int { return bytes.Compare(a.at[:], b.at[:]) })
	for i := range all {
		peers[i] = all[i].peer
	}
	return slices.Compact(peers) // equal peers have equal distances
}
