// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"
)

// before says that o is a later word of the same member's node.
func (d *verified) before(o *verified) bool {
	return cmp.Or(cmp.Compare(d.incarnation, o.incarnation), cmp.Compare(d.revision, o.revision)) < 0
}

// merged is one member as all anchors together see it.
type merged struct {
	*verified
	suspect bool  // some anchor doubts it
	surely  bool  // a majority of them does, or its own node
	ways    []Way // of a member whose own record is passed on: the preferred one first
}

// listing is the latest word of a member's node, and the ids under which there is any.
type listing struct {
	*verified
	under []*epochView
}

// add takes in what some anchor says under the id of s, once it has those of earlier ones.
func (b *listing) add(s *epochView, d *verified) {
	if b.before(d) {
		b.verified = d
	}
	if n := len(b.under); n == 0 || b.under[n-1] != s {
		b.under = append(b.under, s)
	}
}

// mergeViews merges what all anchors say, under all ids. Under one id a member lives
// if any anchor lists it and no majority of the current ones has lost it; it
// lives if it does under any id. So does one that may be on its way to other anchors,
// though nobody lists it. The newest incarnation of a node wins, since
// what it was before is gone with its process, and in it the newest record: an
// anchor that tells an older one changes nothing. The order is arbitrary.
func mergeViews(epochViews []*epochView) []*merged {
	newest := make(map[peer.ID]uint64)
	best := make(map[leaseKey]*listing)
	add := func(s *epochView, d *verified) {
		newest[d.peer] = max(newest[d.peer], d.incarnation)
		b := best[d.leaseKey]
		if b == nil {
			b = &listing{verified: d}
			best[d.leaseKey] = b
		}
		b.add(s, d)
	}
	for _, s := range epochViews {
		for _, c := range s.anchorViews {
			for _, l := range c.set {
				add(s, l.verified)
			}
		}
		for _, m := range s.movers {
			add(s, m.verified)
		}
	}
	out := make([]*merged, 0, len(best))
	for key, b := range best {
		d := b.verified
		if d.incarnation != newest[key.peer] {
			continue
		}
		f := &merged{verified: d}
		lives := false
		for _, s := range b.under {
			alive, suspect, surely := s.vote(d)
			lives = lives || alive
			f.suspect, f.surely = f.suspect || suspect, f.surely || surely
		}
		if lives {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *merged) int { return compareLeaseKeys(a.leaseKey, b.leaseKey) })
	return out
}

// vote says whether the member lives under this id, and if so whether any
// anchor doubts it, and whether that is certain: what a minority of them says of a
// member can be a lie. Only current anchors can lose a member: old ones are left.
// Whom its own node lists now is not lost, whoever says so; nor is anybody by the word
// of anchors that are all at home in one network, if one elsewhere lists it.
func (s *epochView) vote(d *verified) (alive, suspect, surely bool) {
	listed, lost, doubts, firstHand := 0, 0, 0, false
	otherLost, otherDoubts := false, false // the anchor at home elsewhere
	for _, c := range s.anchorViews {
		if l, ok := c.set[d.leaseKey]; ok && l.incarnation == d.incarnation {
			listed++
			firstHand = firstHand || (c.peer == d.peer && c.fresh)
			suspect = suspect || ((l.suspect || d.suspect) && c.fresh)
			surely = surely || d.suspect && c.fresh
			if l.suspect && c.fresh && !c.old {
				doubts++
				otherDoubts = otherDoubts || s.anchorSet.isOther(c.peer)
			}
		}
		if at, ok := c.lost[d.leaseKey]; ok && at >= d.incarnation && !c.old {
			lost++
			otherLost = otherLost || s.anchorSet.isOther(c.peer)
		}
	}
	if s.movers.has(d) { // where it went it may be listed
		listed++
	}
	if listed == 0 || (!firstHand && s.anchorSet.decides(lost, otherLost)) {
		return false, false, false
	}
	return true, suspect || lost > 0, surely || s.anchorSet.decides(lost+doubts, otherLost || otherDoubts)
}

// hears says whether c is a current anchor that has told what it holds, and would tell
// what changes: the news of one that is not heard may be on the way.
func (s *epochView) hears(c *anchorView) bool {
	return !c.old && c.fresh && !s.base.peers.suspect(c.peer)
}

// believedEmpty says whether, under every id, a majority of the anchors can
// know that there is nobody.
func believedEmpty(epochViews []*epochView) bool {
	for _, s := range epochViews {
		votes, other := 0, false
		for _, c := range s.anchorViews {
			if s.hears(c) && c.settled && len(c.set) == 0 {
				votes++
				other = other || s.anchorSet.isOther(c.peer)
			}
		}
		if !s.anchorSet.decides(votes, other) {
			return false
		}
	}
	return len(epochViews) > 0
}

// complete says whether, under every id, a majority of the anchors have told
// all there is. Those who have only just become anchors, or are none in their
// own eyes, can't know; but whoever was told by such that can goes on from
// there, as long as there is a majority at all: who leaves it is replaced first.
func complete(epochViews []*epochView, before bool) bool {
	return mostHave(epochViews, func(s *epochView, c *anchorView) bool { return s.hears(c) && (c.settled || before) })
}

// told says whether, under every id, a majority of the anchors have told what they hold.
func told(epochViews []*epochView) bool {
	return mostHave(epochViews, func(_ *epochView, c *anchorView) bool { return !c.old && c.fresh })
}

// mostHave says whether, under every id, that is so of a majority of the anchors.
func mostHave(epochViews []*epochView, it func(*epochView, *anchorView) bool) bool {
	for _, s := range epochViews {
		have := 0
		for _, c := range s.anchorViews {
			if it(s, c) {
				have++
			}
		}
		if have < majority(len(s.anchorSet.anchors)) {
			return false
		}
	}
	return len(epochViews) > 0
}
