// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// follow is how long a watcher has to follow members to other anchors: as long as they
// stay at the old ones for it (breakWait).
var follow = overlay.Patience{Time: breakAfter, Trips: breakTrips}

// movers are members that an old anchor took off its set, so that none lists them any
// more, before a majority of the current anchors could say whether they do. They may
// have gone over to anchors that this node has just found: over a long way a member can
// be faster than we are to follow. So they stay in the view until the anchors have told,
// or for a while. Pure core.
type movers map[leaseKey]mover

type mover struct {
	*verified
	since time.Time // nobody lists it
}

// add notes that nobody lists the member any more.
func (all *movers) add(now time.Time, d *verified) {
	if *all == nil {
		*all = make(movers)
	}
	(*all)[d.leaseKey] = mover{d, now}
}

// settle forgets those of whom all is known, and those that were waited for for long
// enough, and returns whose nodes they are. It says when to look again; zero = when
// something happens.
func (all movers) settle(now time.Time, s *settling, known func(*verified) bool) (over []peer.ID, next time.Time) {
	var first alarm
	for key, m := range all {
		past, next := s.past(now, m.since, follow)
		if past || known(m.verified) {
			delete(all, key)
			over = append(over, key.peer)
		} else {
			first.plan(next)
		}
	}
	return over, first.at
}

// has says whether that life of a member may be moving.
func (all movers) has(d *verified) bool {
	m, ok := all[d.leaseKey]
	return ok && m.incarnation == d.incarnation
}
