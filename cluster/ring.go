// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/security"
)

// anchorCount is K: how many nodes anchor a cluster.
const anchorCount = 3

// nearestCount is how many peers are asked of the router: some of them may
// turn out to be unreachable.
const nearestCount = 8

// majority is how many of n are more than half; of none, one.
func majority(n int) int { return n/2 + 1 }

// ring is what is known of the neighbourhood of one cluster id.
type ring struct {
	cid     security.ClusterID
	anchors []peer.ID // the closest peers that can be reached, at most anchorCount
	barred  []peer.ID // peers that would be anchors if they could be reached
	since   time.Time // when anchors last changed

	local []peer.ID             // from our own routing table
	found []peer.ID             // from the last lookup
	told  map[peer.ID][]peer.ID // by whom: what others take for the anchors

	users    int       // anchor books, enrolments and watches of this id
	links    int       // of these, those that need links to the anchors
	seekers  int       // of these, those for whom the network is asked as well
	looking  bool      // a lookup is under way
	lookupAt time.Time // when the next one begins; zero = none is planned
}

// decide recomputes anchors and barred, and says whether either has changed.
func (g *ring) decide(now time.Time, failing func(peer.ID) bool) bool {
	all := slices.Concat(g.local, g.found)
	for _, peers := range g.told {
		all = append(all, peers...)
	}
	var anchors, barred []peer.ID
	for _, p := range byDistance(g.cid, all) {
		switch {
		case len(anchors) == anchorCount:
		case failing(p):
			barred = append(barred, p)
		default:
			anchors = append(anchors, p)
		}
	}
	barred = barred[:min(len(barred), nearestCount)]
	moved := !slices.Equal(anchors, g.anchors)
	if moved {
		g.since = now
	}
	changed := moved || !slices.Equal(barred, g.barred)
	g.anchors, g.barred = anchors, barred
	return changed
}

func (g *ring) isAnchor(p peer.ID) bool { return slices.Contains(g.anchors, p) }

// mentions says whether p may be near, or told who is.
func (g *ring) mentions(p peer.ID) bool {
	if slices.Contains(g.local, p) || slices.Contains(g.found, p) || g.told[p] != nil {
		return true
	}
	for _, peers := range g.told {
		if slices.Contains(peers, p) {
			return true
		}
	}
	return false
}
