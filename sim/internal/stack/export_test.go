// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim/play"
)

// Table is the routing table of a node, without the node itself.
func Table(p play.Participant) []peer.ID {
	var others []peer.ID
	x := p.(*participant)
	for _, id := range x.host.Router().Nearest(overlay.Key{}, 1000) {
		if id != x.host.Self() {
			others = append(others, id)
		}
	}
	return others
}

// Closest asks the network of a node.
func Closest(p play.Participant, key overlay.Key, k int) []peer.ID {
	found, _ := p.(*participant).host.Router().Closest(context.Background(), key, k)
	return found
}
