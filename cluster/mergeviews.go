// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"
)

// census is who the members of a watched cluster are, by their nodes. Of which node anchors
// have said something new is noted, and only its members are merged anew: so a change costs
// what changed, however many members there are. What concerns whole anchors (another
// session, another set of anchors) has everybody merged who is known under that id.
type census struct {
	nodes map[peer.ID][]*Member // in the order of their ids, but for those in joined

	// Members whose own records gateways pass on are joined from what several nodes
	// register. They are few, so all of them are joined each time.
	lent   map[peer.ID][]*merged // by gateway
	joined []*Member             // in the order of their ids

	doubted map[peer.ID]bool // nodes that are to be merged anew
	all     bool             // all are: there are other ids
}

func newCensus() census {
	return census{
		nodes: make(map[peer.ID][]*Member), lent: make(map[peer.ID][]*merged), doubted: make(map[peer.ID]bool),
	}
}

// take returns the nodes that are to be merged anew, which are in no doubt from now on.
func (c *census) take(epochViews []*epochView) map[peer.ID]bool {
	nodes := c.doubted
	if c.all {
		for _, s := range epochViews {
			for p := range s.known.nodes {
				nodes[p] = true
			}
		}
		for p := range c.nodes {
			nodes[p] = true
		}
		for p := range c.lent {
			nodes[p] = true
		}
	}
	c.doubted, c.all = make(map[peer.ID]bool), false
	return nodes
}

// change is what became of one member; nil = there is none.
type change struct{ old, now *Member }

func (c change) member() *Member { return cmp.Or(c.now, c.old) }

// merge takes in what anchors say of the nodes that are in doubt, and returns what is
// different now, in the order of members.
func (c *census) merge(k *watcher, w *watchedCluster) (changes []change) {
	for p := range c.take(w.epochViews) {
		own, lent := mergeNode(w.epochViews, p)
		if c.nodes[p] = describe(k, w, c.nodes[p], own, &changes); len(own) == 0 {
			delete(c.nodes, p)
		}
		if c.lent[p] = lent; len(lent) == 0 {
			delete(c.lent, p)
		}
	}
	if len(c.lent)+len(c.joined) > 0 {
		joined := slices.DeleteFunc(joinWays(k, c.lent), func(f *merged) bool { // it is here itself
			return slices.ContainsFunc(c.nodes[f.peer], func(m *Member) bool { return m.ID == f.member })
		})
		c.joined = describe(k, w, c.joined, joined, &changes)
	}
	slices.SortFunc(changes, func(a, b change) int { return compareMembers(a.member(), b.member()) })
	return changes
}

// describe returns the members that were found, and adds to changes how they differ from
// the old ones. Both are in the order of their ids.
func describe(k *watcher, w *watchedCluster, old []*Member, found []*merged, changes *[]change) []*Member {
	now := make([]*Member, 0, len(found))
	for _, f := range found {
		for len(old) > 0 && compareLeaseKeys(keyOf(old[0]), f.leaseKey) < 0 {
			*changes, old = append(*changes, change{old: old[0]}), old[1:]
		}
		var before *Member
		if len(old) > 0 && keyOf(old[0]) == f.leaseKey {
			before, old = old[0], old[1:]
		}
		m := k.member(w, before, f)
		if now = append(now, m); m != before {
			*changes = append(*changes, change{before, m})
		}
	}
	for _, m := range old {
		*changes = append(*changes, change{old: m})
	}
	return now
}

func keyOf(m *Member) leaseKey { return leaseKey{m.Peer, m.ID} }

// revised returns the members after these changes; all are in the order of members, and
// nobody changes the result.
func revised(members []*Member, changes []change) []*Member {
	if len(changes) == 0 {
		return members
	}
	out := make([]*Member, 0, len(members)+len(changes))
	for _, c := range changes {
		i, _ := slices.BinarySearchFunc(members, c.member(), compareMembers)
		out, members = append(out, members[:i]...), members[i:]
		if c.old != nil {
			members = members[1:]
		}
		if c.now != nil {
			out = append(out, c.now)
		}
	}
	return append(out, members...)
}

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

// hear takes in what anchors say of a member under the id of s, once they have been heard
// under earlier ones.
func (b *listing) hear(s *epochView, key leaseKey) {
	listed := false
	add := func(d *verified) {
		if listed = true; b.verified == nil || b.before(d) {
			b.verified = d
		}
	}
	for _, c := range s.anchorViews {
		if l, ok := c.set[key]; ok {
			add(l.verified)
		}
	}
	if m, ok := s.movers[key]; ok {
		add(m.verified)
	}
	if listed {
		b.under = append(b.under, s)
	}
}

// mergeNode merges what all anchors say of one node's members, under all ids. Under one
// id a member lives if any anchor lists it and no majority of the current ones has lost
// it; it lives if it does under any id. So does one that may be on its way to other anchors,
// though nobody lists it. The newest incarnation of a node wins, since
// what it was before is gone with its process, and in it the newest record: an
// anchor that tells an older one changes nothing. Lent are those of whom there may be
// others at other nodes, see joinWays. Both are in the order of their ids.
func mergeNode(epochViews []*epochView, p peer.ID) (own, lent []*merged) {
	newest := uint64(0)
	listings := listingsOf(epochViews, p)
	for i := range listings {
		newest = max(newest, listings[i].incarnation)
	}
	for _, b := range listings {
		if b.incarnation != newest {
			continue
		}
		f := &merged{verified: b.verified}
		lives := false
		for _, s := range b.under {
			alive, suspect, surely := s.vote(b.verified)
			lives = lives || alive
			f.suspect, f.surely = f.suspect || suspect, f.surely || surely
		}
		switch {
		case !lives:
		case f.own != nil:
			lent = append(lent, f)
		default:
			own = append(own, f)
		}
	}
	return own, lent
}

// listingsOf has what is said of each of a node's members.
func listingsOf(epochViews []*epochView, p peer.ID) []listing {
	var ids []MemberID
	for _, s := range epochViews {
		for _, d := range s.known.nodes[p] {
			ids = append(ids, d.member)
		}
	}
	slices.Sort(ids)
	var out []listing
	for _, m := range slices.Compact(ids) {
		var b listing
		for _, s := range epochViews {
			if key := (leaseKey{p, m}); len(epochViews) == 1 || s.known.get(key) != nil {
				b.hear(s, key)
			}
		}
		if b.verified != nil {
			out = append(out, b)
		}
	}
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
