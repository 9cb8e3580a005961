// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// callerOf is a caller of two members that are known to all anchors, with a link to
// the node of the first.
func callerOf(t *testing.T) *rig {
	c := newCaller(t)
	c.allTell(c.lease("geo", "D", 1, 1), c.lease("geo", "E", 2, 1))
	c.up("D")
	c.link(PeerDialFailed, "E")
	require.Equal(t, "1@D=live 2@E=unreachable", c.shows())
	return c
}

// emptied has all anchors take both members out.
func emptied(c *rig) (got []string) {
	for _, p := range []string{"A", "B", "C"} {
		got = append(got, c.from(p, &deltaMsg{
			cid: c.epochOf("geo", "me").cid, seq: c.seq(p), number: 1, settled: true,
			removed: []leaseRef{c.gone("D", 1), c.gone("E", 2)},
		})...)
	}
	return got
}

// Three lying anchors of three can't have a member vanish for a caller that has a
// link to its node: the node says itself whom it serves.
func TestLyingAnchorsDoNotEmptyTheViewOfWhoKnowsAMember(t *testing.T) {
	c := callerOf(t)
	got := emptied(c)
	require.Equal(t, []string{"D: watch"}, only("D", got))
	require.Equal(t, "unknown", c.shows())
	require.False(t, c.view.Known)
	require.False(t, c.view.Complete)
	c.tells("D", false, c.lease("geo", "D", 1, 1))
	require.Equal(t, "1@D=suspect", c.shows())
	require.True(t, c.view.Known)

	c.after(time.Minute)
	require.Equal(t, "1@D=suspect", c.shows(), "for as long as it says so")
	got = c.delta("D", 1, nil, c.gone("D", 1))
	require.Equal(t, "empty", c.shows())
	require.Equal(t, []string{"D: unwatch"}, only("D: unwatch", got))
}

// A node speaks for its own members only: one that was asked can't bring back
// another one's.
func TestAWitnessSpeaksForItsOwnMembers(t *testing.T) {
	c := callerOf(t)
	emptied(c)
	c.tells("D", false, c.lease("geo", "E", 2, 1))
	require.Equal(t, "empty", c.shows())
}

// The anchors' word is believed at once where nobody can be asked, as soon as
// those who were asked have nobody or can't answer any more, and in any case after
// a second: before a caller that does not know would be told so.
func TestEmptyIsBelievedInTime(t *testing.T) {
	require.Less(t, checkTime, unknownTime)
	for what, answer := range map[string]func(c *rig){
		"it has nobody":    func(c *rig) { c.tells("D", false) },
		"its link ends":    func(c *rig) { c.link(PeerDown, "D"); c.link(PeerDialFailed, "D") },
		"it falls silent":  func(c *rig) { c.link(PeerSuspect, "D") },
		"it never answers": func(c *rig) { c.after(checkTime - 1); require.Equal(t, "unknown", c.shows()); c.after(1) },
	} {
		t.Run(what, func(t *testing.T) {
			c := callerOf(t)
			emptied(c)
			require.Equal(t, "unknown", c.shows())
			answer(c)
			require.Equal(t, "empty", c.shows())
			require.Nil(t, c.c.watcher.byID[c.epochOf("geo", "me").cid].at(testPeer("D")), "nothing is left")
		})
	}
	t.Run("nobody is linked", func(t *testing.T) {
		c := callerOf(t)
		c.link(PeerDown, "D")
		c.link(PeerDialFailed, "D")
		emptied(c)
		require.Equal(t, "empty", c.shows())
	})
	t.Run("nobody was known", func(t *testing.T) {
		c := newCaller(t)
		c.allTell()
		require.Equal(t, "empty", c.shows())
	})
	t.Run("that was long ago", func(t *testing.T) {
		c := callerOf(t)
		for i, p := range []string{"A", "B", "C"} {
			c.delta(p, 1, nil, c.gone("D", 1), c.gone("E", 2)) // not settled: nobody says "empty"
			require.Equal(t, i == 0, c.shows() != "unknown")
		}
		c.after(recentlyTime)
		for _, p := range []string{"A", "B"} {
			c.from(p, &deltaMsg{cid: c.epochOf("geo", "me").cid, seq: c.seq(p), number: 2, settled: true})
		}
		require.Equal(t, "empty", c.shows())
	})
}

// At most a few nodes are asked, however many members a cluster had.
func TestFewNodesAreAskedWhetherTheyStillServe(t *testing.T) {
	c := newCaller(t)
	nodes := []string{"D", "E", "F", "G", "H", "I"}
	c.up(nodes...)
	var all []lease
	var gone []leaseRef
	for i, p := range nodes {
		c.names[testPeer(p)] = p
		all = append(all, c.lease("geo", p, MemberID(i), 1))
		gone = append(gone, c.gone(p, MemberID(i)))
	}
	asked := 0
	for _, p := range []string{"A", "B"} {
		c.tells(p, true, all...)
	}
	for _, p := range []string{"A", "B"} {
		got := c.from(p, &deltaMsg{
			cid: c.epochOf("geo", "me").cid, seq: c.seq(p), number: 1, settled: true, removed: gone,
		})
		for _, n := range nodes {
			asked += len(only(n+": watch", got))
		}
	}
	require.Equal(t, checkNodes, asked)
}

// A node that is asked tells its own members although it is no anchor, and when
// they end.
func TestANodeTellsItsOwnMembersToWhoAsks(t *testing.T) {
	g := newRigNear(t, []string{"A", "B", "C"}, "A", "B", "C")
	g.up("A", "B", "C", "D")
	g.joins("geo", 1)
	require.Contains(t, only("D", g.from("D", g.watch("geo", "D", 1)))[0], "snapshot {+1@me} settled=false more=false NONE")
	require.Len(t, only("D: delta 2 {}-1", g.do(unregisterEvent{"geo", 1})), 1)
	g.from("D", &unwatchMsg{g.epochOf("geo", "D").cid})
	require.Empty(t, g.c.anchor.books)

	require.Contains(t, only("D:", g.from("D", g.watch("geo", "D", 2)))[0], "snapshot {} settled=false", "who serves nobody says so")
}

// In a network whose anchors all say that a cluster is empty, the caller that knows
// its member keeps it, without ever hearing "empty", and learns when it leaves.
func TestACallerKeepsItsMemberWhenAllAnchorsLie(t *testing.T) {
	w := newWorld(t, 3, 12)
	w.now = testKeys("geo").NextChange(w.now).Add(time.Hour)
	for _, n := range w.nodes {
		w.start(n)
	}
	w.run(time.Minute)
	cid := testKeys("geo").Epochs(w.now)[0].ID()
	var others []*worldNode
	for _, n := range w.nodes {
		if n.c.anchor.books.get(cid) == nil && !n.isAnchorOf(cid) {
			others = append(others, n)
		}
	}
	member, caller := others[0], others[1]
	member.register("geo", 5)
	caller.watch("geo")
	w.run(time.Minute)
	require.Equal(t, caller.truth("geo"), caller.seen("geo"))
	for _, n := range w.nodes {
		if b := n.c.anchor.books.get(cid); b != nil && n != member {
			n.c.anchor.remove(b, b.of(member.id)...)
			n.do()
		}
	}
	for range 60 {
		w.run(time.Second)
		require.False(t, caller.views["geo"].Empty)
	}
	require.Equal(t, caller.truth("geo"), caller.seen("geo"))
	member.unregister(5)
	w.run(5 * time.Second)
	require.True(t, caller.views["geo"].Empty)
}

// isAnchorOf says whether n is one of those closest to the id.
func (n *worldNode) isAnchorOf(cid [32]byte) bool {
	for _, p := range n.w.closest(n, cid)[:anchorCount] {
		if p == n.id {
			return true
		}
	}
	return false
}
