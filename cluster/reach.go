// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// A caller watches the ids of a cluster, and the shards of those that are sharded. Where
// anchors differ it rather watches more than it has to: a majority must say that an id is
// whole before its shards don't count for what the caller knows.

// ids lists the epochs to watch: each with its shards, if it has some.
func (w *watchedCluster) ids(c *base, epochs []*epoch) (all []*epoch) {
	for _, x := range epochs {
		all = append(all, x)
		if !w.sharded(x) {
			continue
		}
		for number := range shardCount {
			if s := x.shard(c, number); s != nil {
				all = append(all, w.ids(c, []*epoch{s})...)
			}
		}
	}
	return all
}

// sharded says whether there may be members under the shards of x. Once they are watched
// they stay so until a majority of x's anchors says that x is whole, and nobody is listed
// under them: members go back first.
func (w *watchedCluster) sharded(x *epoch) bool {
	s := w.under(x)
	if s == nil {
		return false
	}
	some, votes, other := false, 0, false
	for _, c := range s.anchorViews {
		switch {
		case !c.fresh || c.witness:
		case c.sharded:
			some = true
		case !c.old:
			votes++
			other = other || s.anchorSet.isOther(c.peer)
		}
	}
	if s.anchorSet.decides(votes, other) {
		return w.listsBelow(x)
	}
	return some || w.watchesBelow(x)
}

// under returns what is known of x, or nil.
func (w *watchedCluster) under(x *epoch) *epochView {
	for _, s := range w.epochViews {
		if s.cid == x.cid {
			return s
		}
	}
	return nil
}

// mayServe says whether members may be on p, or be reached by it.
func (w *watchedCluster) mayServe(p peer.ID) bool {
	return slices.ContainsFunc(w.epochViews, func(s *epochView) bool { return len(s.known.nodes[p]) > 0 })
}

// watchesBelow says whether the shards of x are watched.
func (w *watchedCluster) watchesBelow(x *epoch) bool {
	first := x.derived(0)
	return first != nil && w.under(first) != nil
}

// listsBelow says whether any anchor of the shards of x lists anybody.
func (w *watchedCluster) listsBelow(x *epoch) bool {
	if x.shards == nil {
		return false
	}
	for _, below := range x.shards.below {
		if below == nil {
			continue
		}
		s := w.under(below)
		if s != nil && slices.ContainsFunc(s.anchorViews, func(c *anchorView) bool { return len(c.set) > 0 }) || w.listsBelow(below) {
			return true
		}
	}
	return false
}

// reach has w's epoch views be those of the ids that there are now.
func (w *watchedCluster) reach(now time.Time, k *watcher) {
	epochs := k.epochs.of(w.name)
	if !slices.EqualFunc(w.epochViews, w.ids(k.base, epochs), func(s *epochView, x *epoch) bool { return s.cid == x.cid }) {
		k.follow(now, w, epochs)
	}
}
