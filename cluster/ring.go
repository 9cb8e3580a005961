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
	anchors []peer.ID // the closest peers, at most anchorCount
	barred  []peer.ID // peers that would be anchors, but can't be reached, are silent, or only hearsay so far
	unsure  bool      // some of barred may yet turn out to be there
	since   time.Time // when anchors last changed

	local []peer.ID             // from our own routing table
	found []peer.ID             // from the last lookup
	told  map[peer.ID][]peer.ID // by whom: what others take for the anchors

	users    int           // anchor books, enrolments and watches of this id
	links    int           // of these, those that need links to the anchors
	seekers  int           // of these, those for whom the network is asked as well
	looking  bool          // a lookup is under way
	recheck  time.Duration // from the last lookup to the next, without what chance adds
	lookupAt time.Time     // when the next one begins; zero = none is planned
}

// decide recomputes who anchors the cluster, and says whether anything about
// that has changed. Anchors are chosen by what this node knows itself: its
// table, its lookups, its links. Whom others name is dialled, and counts once
// there is a link: if nodes passed on hearsay as their own knowledge, the name
// of a dead peer would go round for ever. A silent peer is none while it is
// silent: nobody need wait until its link is given up.
func (g *ring) decide(now time.Time, r *reach) bool {
	all := slices.Concat(g.local, g.found, r.linked())
	for _, peers := range g.told {
		all = append(all, peers...)
	}
	var anchors, barred []peer.ID
	unsure := false
	for _, p := range byDistance(g.cid, all) {
		known := slices.Contains(g.local, p) || slices.Contains(g.found, p)
		switch {
		case len(anchors) == anchorCount:
		case !r.suspect(p) && (r.session(p) != 0 || (known && !r.failing(p))):
			anchors = append(anchors, p)
		case len(barred) < nearestCount:
			barred = append(barred, p)
			unsure = unsure || !r.failing(p)
		}
	}
	if len(anchors) == 0 {
		// Cut off: members and callers on this node still find each other.
		anchors, unsure = []peer.ID{r.self}, true
	}
	moved := !slices.Equal(anchors, g.anchors)
	if moved {
		g.since = now
	}
	changed := moved || unsure != g.unsure || !slices.Equal(barred, g.barred)
	g.anchors, g.barred, g.unsure = anchors, barred, unsure
	return changed
}

// near lists the anchors and those who may become anchors.
func (g *ring) near() []peer.ID { return slices.Concat(g.anchors, g.barred) }

func (g *ring) isAnchor(p peer.ID) bool { return slices.Contains(g.anchors, p) }

// concerns says whether it matters to the ring that p came or went.
func (g *ring) concerns(p peer.ID) bool {
	if len(g.anchors) < anchorCount || g.told[p] != nil || slices.Contains(g.anchors, p) || slices.Contains(g.barred, p) {
		return true
	}
	last := g.anchors[len(g.anchors)-1]
	return byDistance(g.cid, []peer.ID{p, last})[0] == p
}
