// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/security"
)

// byDistance sorts peers by their distance to a cluster id, as overlay.Key
// defines it, and drops repetitions. It sorts in place.
func byDistance(cid security.ClusterID, peers []peer.ID) []peer.ID {
	type placed struct {
		peer peer.ID
		at   [sha256.Size]byte
	}
	target := sha256.Sum256(cid[:])
	all := make([]placed, len(peers))
	for i, p := range peers {
		all[i] = placed{p, sha256.Sum256([]byte(p))}
		for j := range target {
			all[i].at[j] ^= target[j]
		}
	}
	slices.SortFunc(all, func(a, b placed) int { return bytes.Compare(a.at[:], b.at[:]) })
	for i := range all {
		peers[i] = all[i].peer
	}
	return slices.Compact(peers) // equal peers have equal distances
}
