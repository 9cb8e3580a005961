// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// newAnchorRig is a rig whose node has been settled for long, with links to A,
// B and C.
func newAnchorRig(t *testing.T, table ...string) *rig {
	g := newRigNear(t, []string{"me"}, table...)
	g.up("A", "B", "C")
	g.after(time.Minute)
	return g
}

// A member's node registers: it is acknowledged, and watchers are told.
func TestRegistrationIsAcknowledgedAndTold(t *testing.T) {
	g := newAnchorRig(t, "me")
	g.up("D", "E", "F") // nearer than A, B and C
	g.after(settleTime)
	g.from("A", g.watch("geo", "A", 1))
	near := "[" + g.anchors("geo") + "]"
	require.Equal(t, []string{
		"B: registered 5 NONE " + near,
		"A: delta 1 {+5@B} settled=true []",
	}, without(g.from("B", g.register("geo", "B", 5, 1, 9)), "hold"))
	require.Equal(t, uint64(9), g.msgs["B"][0].(*registeredMsg).seq)
	require.Equal(t, g.lease("geo", "B", 5, 1), g.msgs["A"][0].(*deltaMsg).upserted[0])

	require.Equal(t, []string{"B: registered 5 NONE " + near},
		g.from("B", g.register("geo", "B", 5, 1, 10)), "the same again is news to nobody")
	require.Equal(t, []string{"A: delta 2 {+5@B?} settled=true []"}, g.link(PeerSuspect, "B"))
	require.Equal(t, []string{"A: delta 3 {+5@B} settled=true []"}, g.link(PeerRecovered, "B"))
	got := g.from("B", &unregisterMsg{g.epochOf("geo", "B").cid, 5})
	require.Len(t, only("A: delta 4 {}-5", got), 1)
}

// A lease ends with the link; so does a watch.
func TestLeasesAndWatchesEndWithTheLink(t *testing.T) {
	g := newAnchorRig(t, "me")
	g.from("A", g.watch("geo", "A", 1))
	g.from("B", g.register("geo", "B", 5, 1, 1))
	g.from("B", g.register("geo", "B", 6, 1, 2))
	require.Equal(t, 2, g.c.anchor.leases)
	require.Len(t, only("A: delta 3 {}-5 -6", g.link(PeerDown, "B")), 1)
	g.link(PeerDown, "A")
	require.Zero(t, g.c.anchor.leases+g.c.anchor.watches+g.c.anchor.bytes)
	require.Len(t, g.c.anchor.books, 1, "not empty with authority yet")
	g.after(settleTime)
	require.Empty(t, g.c.anchor.books)
	require.Empty(t, g.c.anchor.guests)
	require.Empty(t, g.c.finder.sets)
}

// A node that registers with a newer incarnation has restarted: what it had is
// gone, and what comes late from before is refused.
func TestNewestIncarnationWinsAtTheAnchor(t *testing.T) {
	g := newAnchorRig(t, "me")
	g.from("A", g.watch("geo", "A", 1))
	g.from("B", g.register("geo", "B", 5, 1, 1))
	g.from("B", g.register("zones", "B", 6, 1, 2))
	got := g.from("B", g.register("geo", "B", 7, 2, 3))
	require.Len(t, only("A: delta 2 {+7@B}-5", got), 1)
	require.Equal(t, 1, g.c.anchor.leases)
	require.Equal(t, []string{"B: registered 5 STALE []"}, g.from("B", g.register("geo", "B", 5, 1, 4)))
	require.Equal(t, map[string]uint64{"refused_stale": 1}, g.c.drops.ByName())
}

// Who can't prove to hold the cluster key neither registers nor watches, and
// nobody registers somebody else.
func TestProofsAreChecked(t *testing.T) {
	g := newAnchorRig(t, "me")
	foreign := g.register("geo", "C", 5, 1, 1)
	require.Equal(t, []string{"B: registered 5 BAD_PROOF []"}, g.from("B", foreign), "C's proof, shown by B")
	other := g.register("geo", "B", 5, 1, 1)
	other.cid = g.epochOf("zones", "B").cid
	require.Equal(t, []string{"B: registered 5 BAD_PROOF []"}, g.from("B", other), "the key of another cluster")
	require.Equal(t, []string{"B: snapshot {} settled=false more=false BAD_PROOF []"},
		g.from("B", g.watch("geo", "C", 1)))
	g.from("B", g.register("geo", "B", 5, 1, 1))
	checks := 0
	g.c.anchor.examiner.prove = func(security.ClusterID, []byte, []byte, peer.ID) error { checks++; return security.ErrBadProof }
	g.from("B", g.register("geo", "B", 6, 1, 2))
	require.Zero(t, checks, "one node's proof is checked once")
	require.Equal(t, 2, g.c.anchor.leases)
}

// Every bound refuses by name, and what is held stays.
func TestBoundsRefuseByName(t *testing.T) {
	g := newAnchorRig(t, "me")
	g.c.anchor.examiner.prove = func(security.ClusterID, []byte, []byte, peer.ID) error { return nil }
	g.c.verify = func(security.Lease, []byte) error { return nil }
	for m := range MemberID(100) {
		from := []string{"B", "C"}[m%2]
		g.from(from, g.register("geo", from, m, 1, uint64(m)))
	}
	g.c.anchor.leases = maxLeases
	require.Equal(t, []string{"B: registered 9999 FULL []"}, g.from("B", g.register("geo", "B", 9999, 1, 1)))
	require.Len(t, only("B: registered 8 NONE", g.from("B", g.register("geo", "B", 8, 1, 1))), 1, "who is in may renew")
	require.Equal(t, maxLeases, g.c.anchor.leases)
	require.Equal(t, map[string]uint64{"refused_full": 1}, g.c.drops.ByName())

	g.c.anchor.watches = maxWatches
	require.Len(t, only("A: snapshot {} settled=false more=false FULL", g.from("A", g.watch("geo", "A", 1))), 1)
}

// A large set is told in parts that fit a frame; the last one says so.
func TestLargeSnapshotComesInParts(t *testing.T) {
	g := newAnchorRig(t, "me")
	for m := range MemberID(400) {
		g.from("B", g.register("geo", "B", m, 1, uint64(m)))
	}
	g.from("A", g.watch("geo", "A", 1))
	var told []lease
	for i, m := range g.msgs["A"] {
		s := m.(*snapshotMsg)
		require.Equal(t, i < len(g.msgs["A"])-1, s.more)
		body, err := encode(s)
		require.NoError(t, err)
		require.Less(t, len(body), 40<<10)
		told = append(told, s.leases...)
	}
	require.Greater(t, len(g.msgs["A"]), 1)
	require.Len(t, told, 400)
}

// Changes that come together are told together.
func TestChangesTravelTogether(t *testing.T) {
	g := newAnchorRig(t, "me")
	g.from("A", g.watch("geo", "A", 1))
	var events []event
	for m := range MemberID(5) {
		events = append(events, frameEvent{from: testPeer("B"), msg: g.register("geo", "B", m, 1, uint64(m))})
	}
	events = append(events, frameEvent{from: testPeer("B"), msg: &unregisterMsg{g.epochOf("geo", "B").cid, 3}})
	got := g.do(events...)
	require.Equal(t, []string{"A: delta 1 {+0@B +1@B +2@B +4@B}-3 settled=true []"}, only("A: delta", got))
}

// A member whose link broke and that is back before anybody was told is told as
// here, not as gone.
func TestWhoIsBackAtOnceIsNotGone(t *testing.T) {
	g := newAnchorRig(t, "me")
	g.from("A", g.watch("geo", "A", 1))
	g.from("B", g.register("geo", "B", 5, 1, 1))
	g.last++
	got := g.do(
		linkEvent{PeerEvent{Type: PeerUp, Peer: testPeer("B"), Session: g.last}}, // in place of the old one
		frameEvent{from: testPeer("B"), msg: g.register("geo", "B", 5, 1, 2)},
	)
	require.Equal(t, []string{"A: delta 2 {+5@B} settled=false []"}, only("A: delta", got))
}

// A message that found the lane full leaves a gap, which a later Delta shows
// the watcher, even if nothing else changes.
func TestLostDeltaIsMadeNoticeable(t *testing.T) {
	g := newAnchorRig(t, "me")
	g.from("A", g.watch("geo", "A", 1))
	g.from("B", g.register("geo", "B", 5, 1, 1))
	g.do(unsentEvent{testPeer("A"), g.msgs["A"][0]})
	require.Empty(t, only("A:", g.after(gapDelay-1)))
	g.after(1)
	require.Len(t, g.msgs["A"], 1)
	require.Equal(t, uint64(3), g.msgs["A"][0].(*deltaMsg).number, "1 was lost, 2 is the gap")
	require.Empty(t, only("A:", g.after(time.Second)))
}

// Whoever comes to a wrong anchor is told the right ones and served all the
// same; and again when they change.
func TestWrongAnchorServesAndRedirects(t *testing.T) {
	g := newRig(t, "me", "A", "B", "C", "D", "E")
	near := g.nearest("geo", "A", "B", "C", "D", "E")
	g.table = near[:4] // this node itself is far away
	guest := near[4]
	g.up(guest)
	g.after(time.Minute)
	want := "[" + near[0] + " " + near[1] + " " + near[2] + "]"
	require.Len(t, only(guest+": registered 5 NONE "+want, g.from(guest, g.register("geo", guest, 5, 1, 1))), 1)
	require.Len(t, only(guest+": snapshot {+5@"+guest+"} settled=false more=false NONE "+want,
		g.from(guest, g.watch("geo", guest, 1))), 1)
	g.table = near[1:4]
	want = "[" + near[1] + " " + near[2] + " " + near[3] + "]"
	got := g.do(tableEvent{})
	require.Equal(t, []string{
		guest + ": delta 1 {} settled=false " + want,
		guest + ": registered 5 NONE " + want,
	}, only(guest, got))
	require.Equal(t, uint64(1), g.msgs[guest][1].(*registeredMsg).seq, "of the Register it acknowledged")
}

// Alone, a node can know after 1.5 s.
func TestLoneAnchorIsSettledAfterAWhile(t *testing.T) {
	g := newRig(t, "me")
	g.do(watchEvent{"geo", newPool()})
	require.Equal(t, "unknown", g.members(g.c.watcher.names["geo"].view))
	require.Empty(t, only("view", g.after(settleTime-1)))
	require.Equal(t, []string{"view empty"}, only("view", g.after(1)))
}

// An anchor may call a cluster empty only if the neighbourhood has been the
// same for a while and its co-anchors agree.
func TestAnchorIsSettledOnlyWithItsCoAnchors(t *testing.T) {
	cid := func(g *rig) security.ClusterID { return g.epochOf("geo", "me").cid }
	anchors := func(g *rig) []peer.ID { return g.c.finder.sets.get(cid(g)).anchors }
	for name, c := range map[string]struct {
		table   []string
		answers func(g *rig)
		settled bool
	}{
		"two of two agree":            {[]string{"me", "A"}, func(g *rig) { g.from("A", &hintMsg{cid: cid(g), anchors: anchors(g)}) }, true},
		"the only other one is mute":  {[]string{"me", "A"}, func(*rig) {}, false},
		"the other one has a lease":   {[]string{"me", "A"}, func(g *rig) { g.from("A", &hintMsg{cid: cid(g), leases: 1, anchors: anchors(g)}) }, false},
		"one of two others is enough": {[]string{"me", "A", "B"}, func(g *rig) { g.from("A", &hintMsg{cid: cid(g), anchors: anchors(g)}) }, true},
		"but not against the third": {[]string{"me", "A", "B"}, func(g *rig) {
			g.from("A", &hintMsg{cid: cid(g), anchors: anchors(g)})
			g.from("B", &hintMsg{cid: cid(g), leases: 2, anchors: anchors(g)})
		}, false},
		"the other one knows a third": {[]string{"me", "A"}, func(g *rig) {
			g.from("A", &hintMsg{cid: cid(g), anchors: append(anchors(g), testPeer("C"))})
		}, false},
		"the third can't be reached": {[]string{"me", "A"}, func(g *rig) {
			g.from("A", &hintMsg{cid: cid(g), anchors: append(anchors(g), testPeer("C"))})
			g.link(PeerDialFailed, "C")
		}, true},
		"a stranger's word is nothing": {[]string{"me", "A"}, func(g *rig) { g.from("F", &hintMsg{cid: cid(g)}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, c.table...)
			g.up(c.table[1:]...)
			g.after(time.Minute)
			g.do(watchEvent{"geo", newPool()})
			require.False(t, g.c.watcher.names["geo"].view.Known)
			c.answers(g)
			b := g.c.anchor.books.get(cid(g))
			require.NotNil(t, b)
			require.Equal(t, c.settled, b.settled, "%+v", b.authority.opinions())
		})
	}
}

// A changed neighbourhood has to prove itself for as long again.
func TestChangeOfTheNeighbourhoodUnsettles(t *testing.T) {
	g := newRig(t, "me")
	g.do(watchEvent{"geo", newPool()})
	g.after(settleTime)
	require.Equal(t, "empty", g.members(g.view))
	g.table = []string{"me", "A"}
	g.do(tableEvent{})
	require.Equal(t, "unknown", g.members(g.view))
	g.up("A")
	cid := g.epochOf("geo", "me").cid
	g.from("A", &hintMsg{cid: cid, anchors: g.c.finder.sets.get(cid).anchors})
	g.from("A", &snapshotMsg{cid: cid, seq: g.c.watcher.seq, settled: true})
	require.Equal(t, "unknown", g.members(g.view))
	g.after(settleTime - 1)
	require.Equal(t, "unknown", g.members(g.view))
	g.after(1)
	require.Equal(t, "empty", g.members(g.view))
}

// A member whose link broke gets a moment to come back before its cluster is
// called empty; one that left on purpose does not.
func TestBrokenLinkDelaysEmptyButLeavingDoesNot(t *testing.T) {
	for _, broke := range []bool{true, false} {
		g := newRig(t, "me")
		g.after(time.Minute)
		g.up("B")
		g.table = []string{"me"}
		g.do(watchEvent{"geo", newPool()})
		g.from("B", g.register("geo", "B", 5, 1, 1))
		g.c.finder.sets.get(g.epochOf("geo", "me").cid).since = nil
		if broke {
			g.link(PeerDown, "B")
			require.Equal(t, "unknown", g.members(g.view))
			g.after(settleTime)
		} else {
			b := g.epochOf("geo", "B")
			g.from("B", &unregisterMsg{b.cid, 5})
			require.NotEqual(t, "5@B=live", g.members(g.view))
			g.link(PeerDown, "B")
			g.after(settleTime)
		}
		require.Equal(t, "empty", g.members(g.view))
	}
}

// That holds for callers who come after the link broke, too.
func TestBrokenLinkDelaysEmptyForNewcomers(t *testing.T) {
	g := newRig(t, "me")
	g.after(time.Minute)
	g.up("B")
	g.from("B", g.register("geo", "B", 5, 1, 1))
	g.link(PeerDown, "B")
	g.after(time.Second)
	g.c.finder.sets.get(g.epochOf("geo", "me").cid).since = nil
	g.looksFor("geo")
	require.Equal(t, "unknown", g.shows())
	g.after(settleTime - time.Second)
	require.Equal(t, "empty", g.shows())
}

// A hint is answered with what is known here, also of clusters nobody asked
// about, and costs no state.
func TestHintIsAnsweredWithoutState(t *testing.T) {
	g := newAnchorRig(t, "me", "A", "B", "C")
	cid := g.epochOf("geo", "me").cid
	got := g.from("A", &hintMsg{cid: cid, wantReply: true})
	require.Len(t, only("A: hint leases=0 want=false [", got), 1)
	require.Len(t, g.msgs["A"][0].(*hintMsg).anchors, anchorCount)
	require.Empty(t, g.c.anchor.books)
	g.from("B", g.register("geo", "B", 5, 1, 1))
	require.Len(t, only("A: hint leases=1 want=false [", g.from("A", &hintMsg{cid: cid, wantReply: true})), 1)
}

// Co-anchors that agree are asked ever more rarely.
func TestAgreementIsAskedForMoreAndMoreRarely(t *testing.T) {
	g := newRig(t, "me", "A")
	g.after(time.Minute)
	g.up("A")
	cid := g.epochOf("geo", "me").cid
	g.do(watchEvent{"geo", newPool()})
	asked := 0
	for i := range 600 { // ten minutes
		for _, m := range g.msgs["A"] {
			if h, ok := m.(*hintMsg); ok && h.wantReply {
				asked++
				g.from("A", &hintMsg{cid: cid, anchors: h.anchors})
			}
			if w, ok := m.(*watchMsg); ok {
				g.from("A", &snapshotMsg{cid: cid, seq: w.seq, settled: true})
			}
		}
		g.after(time.Second)
		require.True(t, g.c.anchor.books.get(cid).settled, "%d %+v %v", i, g.c.anchor.books.get(cid).authority.opinions(), g.now)
	}
	require.Less(t, asked, 40)
	require.Greater(t, asked, 8)
}

// A message from a link that is down would leave something behind for ever.
func TestMessagesWithoutALinkAreDropped(t *testing.T) {
	g := newRig(t, "me")
	require.Empty(t, g.from("B", g.register("geo", "B", 5, 1, 1)))
	require.Equal(t, map[string]uint64{"frame_without_link": 1}, g.c.drops.ByName())
}

// What is refused has a name for status, by what and for which cause.
func TestDropsHaveNames(t *testing.T) {
	seen := make(map[string]bool)
	for r := range dropReasons {
		require.False(t, seen[r.String()], r)
		seen[r.String()] = true
	}
	require.Len(t, seen, int(dropReasons))
	require.Equal(t, "watch_refused_stale", dropWatch.because(wire.Refusal_STALE).String())
	require.Equal(t, "refused_other", dropRefused.because(wire.Refusal_MALFORMED).String())
}
