// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"
)

// fused is one member as all anchors together see it.
type fused struct {
	*described
	suspect bool
}

// fuse merges what all anchors say, under all ids. Under one id a member lives
// if any anchor lists it and no majority of the current ones has lost it; it
// lives if it does under any id. The newest incarnation of a node wins: what
// it was before is gone with its process. The order is arbitrary.
func fuse(sights []*sight) []*fused {
	newest := make(map[peer.ID]uint64)
	best := make(map[leaseKey]*described)
	for _, s := range sights {
		for _, c := range s.sources {
			for key, l := range c.set {
				newest[key.peer] = max(newest[key.peer], l.incarnation)
				if b := best[key]; b == nil || b.incarnation < l.incarnation {
					best[key] = l.described
				}
			}
		}
	}
	out := make([]*fused, 0, len(best))
	for key, d := range best {
		if d.incarnation != newest[key.peer] {
			continue
		}
		f := &fused{described: d}
		lives := false
		for _, s := range sights {
			alive, suspect := s.vote(key, d.incarnation)
			lives = lives || alive
			f.suspect = f.suspect || suspect
		}
		if lives {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *fused) int { return compareLeaseKeys(a.leaseKey, b.leaseKey) })
	return out
}

// vote says whether the member lives under this id, and if so whether any
// anchor doubts it. Only current anchors can lose a member: old ones are left.
func (s *sight) vote(key leaseKey, incarnation uint64) (alive, suspect bool) {
	listed, lost := 0, 0
	for _, c := range s.sources {
		if l, ok := c.set[key]; ok && l.incarnation == incarnation {
			listed++
			suspect = suspect || ((l.suspect || l.described.suspect) && c.fresh)
		}
		if at, ok := c.lost[key]; ok && at >= incarnation && !c.old {
			lost++
		}
	}
	if listed == 0 || lost >= majority(len(s.ring.anchors)) {
		return false, false
	}
	return true, suspect || lost > 0
}

// believedEmpty says whether, under every id, a majority of the anchors can
// know that there is nobody.
func believedEmpty(sights []*sight) bool {
	for _, s := range sights {
		votes := 0
		for _, c := range s.sources {
			if !c.old && c.fresh && c.settled && len(c.set) == 0 {
				votes++
			}
		}
		if votes < majority(len(s.ring.anchors)) {
			return false
		}
	}
	return len(sights) > 0
}

// complete says whether, under every id, a majority of the anchors have told
// all there is. Those who have only just become anchors, or are none in their
// own eyes, can't know; but whoever was told by such that can goes on from
// there, as long as there is a majority at all: who leaves it is replaced first.
func complete(sights []*sight, before bool) bool {
	for _, s := range sights {
		told := 0
		for _, c := range s.sources {
			if !c.old && c.fresh && (c.settled || before) {
				told++
			}
		}
		if told < majority(len(s.ring.anchors)) {
			return false
		}
	}
	return len(sights) > 0
}
