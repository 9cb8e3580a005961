// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

// movers are members that an old anchor took off its set, so that none lists them any
// more, before a majority of the current anchors could say whether they do. They may
// have gone over to anchors that this node has just found: over a long way a member can
// be faster than we are to follow. So they stay in the view until the anchors have told,
// or for a while.
type movers map[leaseKey]mover

type mover struct {
	*verified
	until time.Time
}

// letGo notes that c took l off its set. Whom it doubted before is lost rather than
// moving: its connection broke, and then its session ended.
func letGo(now time.Time, k *watcher, s *epochView, c *anchorView, l listed) {
	if !c.old || l.verified == nil || l.suspect || decided(s, l.verified) {
		return
	}
	if s.movers == nil {
		s.movers = make(movers)
	}
	s.movers[l.leaseKey] = mover{l.verified, now.Add(followTime(s))}
	awaitMovers(now, k, s)
}

// awaitMovers has the view made anew when the first of them has been waited for.
func awaitMovers(now time.Time, k *watcher, s *epochView) {
	for _, m := range s.movers {
		if due(m.until, now) {
			k.touch(s.of...)
		} else {
			k.plans.plan(s, m.until)
		}
	}
}

// followTime is how long a watcher has to follow members to other anchors: as long as
// they stay at the old ones for watchers to follow them (breakWait).
func followTime(s *epochView) time.Duration {
	wait := breakAfter
	for _, c := range s.anchorViews {
		wait = max(wait, breakTrips*c.trip)
	}
	return wait
}

// decided says whether the anchors have said all there is to say of a member that was let
// go: one lists it, or a majority of the current ones lost it, or told without it.
func decided(s *epochView, d *verified) bool {
	against, other := 0, false
	for _, c := range s.anchorViews {
		if l, ok := c.set[d.leaseKey]; ok && l.incarnation >= d.incarnation {
			return true
		}
		if at, lost := c.lost[d.leaseKey]; !c.old && (c.fresh || lost && at >= d.incarnation) {
			against++
			other = other || s.anchorSet.isOther(c.peer)
		}
	}
	return s.anchorSet.decides(against, other)
}

// settle forgets those that need not be waited for any more.
func (all movers) settle(now time.Time, s *epochView) {
	for key, m := range all {
		if due(m.until, now) || decided(s, m.verified) {
			delete(all, key)
		}
	}
}

// has says whether that life of a member may be moving.
func (all movers) has(d *verified) bool {
	m, ok := all[d.leaseKey]
	return ok && m.incarnation == d.incarnation
}
