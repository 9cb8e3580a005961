// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// Bounds of a cross-check. Where ways are short it is over before a caller who does not
// know whether there is a member is told so (unknownTime).
const (
	checkTime    = time.Second      // so long the nodes of former members have to answer …
	checkTrips   = 2                // … or for so many round trips
	checkNodes   = 4                // so many of them are asked
	recentlyTime = 30 * time.Second // members of longer ago are no reason to ask
)

// crossCheck is what a caller knows of the members that it had. Before it
// believes anchors that the cluster is empty, it asks the nodes of those members:
// whoever has come to be all anchors of an id can't make members vanish for those
// who know them. A node answers as an anchor would, for its own members only, and
// what it says of them is first-hand.
type crossCheck struct {
	former []*Member // of the last view that had any
	ended  time.Time // when that view did; zero = it stands, or there was none
	until  time.Time // when those who were asked need not be waited for any more; zero = nobody was asked
}

// doubts says whether "empty" is not believed yet, and asks whom it takes.
func (k *watcher) doubts(now time.Time, w *watchedCluster) bool {
	c := &w.check
	if len(c.former) == 0 {
		return false
	}
	if c.until.IsZero() && now.Before(c.ended.Add(recentlyTime)) {
		c.until = now.Add(k.finder.settling.atLeast(now, overlay.Patience{Time: checkTime, Trips: checkTrips}))
		w.consult(now, k)
	}
	if now.Before(c.until) && w.awaits(k.peers) {
		k.plans.plan(w.epochViews[0], c.until)
		return true
	}
	w.check = crossCheck{}
	return false
}

// remember notes what the view that is published next shows.
func (c *crossCheck) remember(now time.Time, members []*Member) {
	switch {
	case len(members) > 0:
		*c = crossCheck{former: members}
	case c.ended.IsZero():
		c.ended = now
	}
}

// consult asks nodes of former members whose links are up, or being established.
func (w *watchedCluster) consult(now time.Time, k *watcher) {
	var asked []peer.ID
	for _, m := range w.check.former {
		if len(asked) == checkNodes {
			break
		}
		if p := m.Hop(); !slices.Contains(asked, p) && k.peers.mayAnswer(p) {
			asked = append(asked, p)
		}
	}
	for _, s := range w.epochViews {
		for _, p := range asked {
			s.consult(k, p)
		}
		k.advance(now, s)
	}
}

// consult has p's word of its own members heard, beside the anchors'.
func (s *epochView) consult(k *watcher, p peer.ID) {
	told := s.at(p)
	if told == nil {
		told = newAnchorView(p)
		told.old = true
		s.anchorViews = append(s.anchorViews, told)
		k.peers.hold(p)
	}
	told.witness = told.old
}

// awaits says whether somebody who was asked may still answer.
func (w *watchedCluster) awaits(r *peerTable) bool {
	for _, s := range w.epochViews {
		for _, c := range s.anchorViews {
			if c.witness && !c.fresh && r.mayAnswer(c.peer) {
				return true
			}
		}
	}
	return false
}

// checked says whether witnesses are heard for anybody.
func (s *epochView) checked() bool {
	return slices.ContainsFunc(s.of, func(w *watchedCluster) bool { return !w.check.until.IsZero() })
}

// dismiss lets go of witnesses who have nothing to say, once nothing is checked.
func (w *watchedCluster) dismiss(k *watcher) {
	for _, s := range w.epochViews {
		if s.checked() {
			continue
		}
		for _, c := range slices.Clone(s.anchorViews) {
			if c.witness && (!c.fresh || len(c.set) == 0) {
				k.release(s, c)
			}
		}
	}
}

// bringHome has this node hold the leases of its own members under cid as an
// anchor would: somebody asks it who doubts what the anchors say.
func (c *control) bringHome(now time.Time, cid security.ClusterID) {
	for _, e := range c.registrar.byID.of(cid) {
		if e.at(c.self) == nil {
			c.anchor.register(now, c.self, e.ask(c.registrar, 0))
		}
	}
}

// stirs reports whether something is under way by which members may become known: an anchor,
// or a peer that may become one, is dialled for the first time since it was heard, has not
// answered, or has not settled.
func (w *watchedCluster) stirs(k *watcher) bool {
	for _, s := range w.epochViews {
		for _, p := range s.anchorSet.near() {
			if k.peers.dialling(p) {
				return true
			}
		}
		for _, c := range s.anchorViews {
			waits := !c.old && c.session != 0 && !(c.fresh && c.settled) && !k.peers.silent(c.peer)
			if waits && (c.peer != k.self || !s.anchorSet.unsure) { // cut off, it never settles
				return true
			}
		}
	}
	return false
}

// showAnchors shows callers whose word the view is.
func (w *watchedCluster) showAnchors() {
	var anchors []peer.ID
	for _, s := range w.epochViews {
		anchors = append(anchors, s.anchorSet.anchors...)
	}
	if p := w.view.pool; p.anchors.Load() == nil || !slices.Equal(anchors, *p.anchors.Load()) {
		p.anchors.Store(&anchors)
	}
}
