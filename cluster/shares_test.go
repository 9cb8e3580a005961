// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// newSharesRig is an anchor's rig to which A to F have links, where every proof and
// signature is good.
func newSharesRig(t *testing.T) *rig {
	g := newAnchorRig(t, "me")
	g.up("D", "E", "F")
	g.after(settleTime)
	g.c.anchor.examiner.prove = func(security.ClusterID, []byte, []byte, peer.ID) error { return nil }
	g.c.verify = func(security.Lease, []byte) error { return nil }
	return g
}

// numbered is one of many cluster ids.
func numbered(n int) (cid security.ClusterID) {
	binary.BigEndian.PutUint64(cid[:], uint64(n))
	return cid
}

// hoards registers n members of p's in clusters of their own, from a number on, and
// returns how many were taken.
func (g *rig) hoards(p string, from, n, record int) (taken int) {
	who := testPeer(p)
	for i := from; i < from+n; i++ {
		g.sends(who, &registerMsg{cid: numbered(i), member: MemberID(i), incarnation: 1, record: make([]byte, record), seq: uint64(i)})
		for _, m := range g.msgs[p] {
			if m, ok := m.(*registeredMsg); ok && m.member == MemberID(i) && m.refusal == wire.Refusal_NONE {
				taken++
			}
		}
	}
	return taken
}

// sends is from for very many messages: it makes no text of what follows.
func (g *rig) sends(who peer.ID, m message) {
	g.c.step(g.now, frameEvent{from: who, msg: m})
	clear(g.msgs)
	for _, a := range g.c.finish(g.now) {
		if a, ok := a.(sendAction); ok {
			g.msgs[g.names[a.to]] = append(g.msgs[g.names[a.to]], a.msg)
		}
	}
}

// yielded counts the leases and watches that p was told are given up.
func (g *rig) yielded(p string) (n int) {
	for _, m := range g.msgs[p] {
		switch m := m.(type) {
		case *registeredMsg:
			if m.refusal == wire.Refusal_YIELDED {
				n++
			}
		case *snapshotMsg:
			if m.refusal == wire.Refusal_YIELDED {
				n++
			}
		}
	}
	return n
}

// This test checks that a few peers that have filled an anchor keep nobody from what
// is its share: each of its leases takes the place of one of theirs, of whoever has
// most, who is told. Who has as much as anybody gets no more.
func TestHoardersGiveWay(t *testing.T) {
	g := newSharesRig(t)
	hoarders := []string{"A", "B", "C", "D"}
	for i, p := range hoarders {
		n := maxLeases / 4
		require.Equal(t, n, g.hoards(p, i*n, n, 10), "nobody else wants it")
	}
	require.Equal(t, maxLeases, g.c.anchor.leases)
	require.Zero(t, g.hoards("A", maxLeases, 1, 10), "who has most gets no more")
	require.Equal(t, uint64(1), g.c.drops.ByName()["refused_full"])

	for i := range 100 {
		require.Equal(t, 1, g.hoards("E", 2*maxLeases+i, 1, 10), "an honest node is let in")
		gone := 0
		for _, p := range hoarders {
			gone += g.yielded(p)
		}
		require.Equal(t, 1, gone, "one lease of a hoarder is given up, and it is told")
	}
	require.Equal(t, maxLeases, g.c.anchor.leases)
	require.Equal(t, uint64(100), g.c.drops.ByName()["refused_yielded"])

	taken := 100 + g.hoards("E", 3*maxLeases, maxLeases/2, 10)
	require.InDelta(t, maxLeases/5, taken, 2, "no more than the others")
	for _, p := range hoarders {
		require.InDelta(t, maxLeases/5, g.c.anchor.guests[testPeer(p)].leases, 2)
	}
}

// This test checks the same for watches.
func TestWatchHoardersGiveWay(t *testing.T) {
	g := newSharesRig(t)
	ids := map[string]peer.ID{"A": testPeer("A"), "B": testPeer("B"), "E": testPeer("E")}
	watch := func(p string, n int) bool {
		g.sends(ids[p], &watchMsg{cid: numbered(n), seq: uint64(n + 1)})
		s := g.msgs[p][len(g.msgs[p])-1].(*snapshotMsg)
		return s.refusal == wire.Refusal_NONE
	}
	for n := range maxWatches {
		require.True(t, watch([]string{"A", "B"}[n%2], n))
	}
	require.False(t, watch("A", maxWatches))
	for n := range 100 {
		require.True(t, watch("E", n))
		require.Equal(t, 1, g.yielded("A")+g.yielded("B"))
	}
	require.Equal(t, maxWatches, g.c.anchor.watches)
	require.Equal(t, uint64(100), g.c.drops.ByName()["refused_yielded"])
}

// This test checks that one cluster id is shared, too: leases are sent to its shards once
// it has many, watches, of which a peer has one, give way by how many a peer has elsewhere.
func TestOneClusterIsShared(t *testing.T) {
	g := newSharesRig(t)
	cid := numbered(1)
	ids := map[string]peer.ID{"A": testPeer("A"), "B": testPeer("B")}
	register := func(p string, m int) wire.Refusal {
		g.sends(ids[p], &registerMsg{cid: cid, member: MemberID(m), incarnation: 1, record: []byte{1}, seq: 1})
		for _, a := range g.msgs[p] {
			if a, ok := a.(*registeredMsg); ok && a.member == MemberID(m) && a.refusal != wire.Refusal_YIELDED {
				return a.refusal
			}
		}
		return wire.Refusal_MALFORMED
	}
	whole := usualShards().whole
	for m := range whole {
		require.Equal(t, wire.Refusal_NONE, register("A", m))
	}
	require.Equal(t, wire.Refusal_SHARDED, register("B", whole), "it has a place in a shard")
	require.Equal(t, whole, g.c.anchor.leases)

	// Many peers watch another cluster, and one of them much else.
	cid = numbered(4)
	var names []string
	for i := range maxClusterWatches {
		names = append(names, fmt.Sprint("watcher", i))
		g.names[testPeer(names[i])] = names[i]
	}
	g.up(names...)
	for _, p := range names {
		g.from(p, &watchMsg{cid: cid, seq: 1})
	}
	g.from("C", &watchMsg{cid: cid, seq: 1})
	require.Equal(t, wire.Refusal_FULL, g.msgs["C"][0].(*snapshotMsg).refusal, "all have one watch")
	g.from("watcher7", &watchMsg{cid: numbered(2), seq: 2})
	g.from("watcher7", &watchMsg{cid: numbered(3), seq: 3})
	g.from("C", &watchMsg{cid: cid, seq: 2})
	require.Equal(t, wire.Refusal_NONE, g.msgs["C"][0].(*snapshotMsg).refusal)
	require.Equal(t, 1, g.yielded("watcher7"), "who has most gives way")
}

// This test checks that the bytes of records are shared like their number.
func TestRecordBytesAreShared(t *testing.T) {
	const record = 16 << 10
	g := newSharesRig(t)
	n := maxRecordBytes / record
	require.Equal(t, n, g.hoards("A", 0, 2*n, record))
	require.Equal(t, 10, g.hoards("E", 2*n, 10, record))
	require.LessOrEqual(t, g.c.anchor.bytes, maxRecordBytes)
	sum := 0
	for _, guest := range g.c.anchor.guests {
		sum += guest.bytes
	}
	require.Equal(t, g.c.anchor.bytes, sum)
}

// newFarRig is a rig whose node knows 26 others, of which more than eight are closer to
// geo. It returns all of them by nearness, this node included, and its place.
func newFarRig(t *testing.T) (g *rig, near []string, at int) {
	g = newRig(t, "me")
	near = []string{"me", "A", "B", "C", "D", "E", "F"}
	for i := range 20 {
		near = append(near, fmt.Sprint("other", i))
	}
	for _, p := range near {
		g.names[testPeer(p)] = p
	}
	near = g.nearest("geo", near...)
	at = slices.Index(near, "me")
	require.Greater(t, at, nearestCount, "this rig has a node that is far away")
	return g, near, at
}

// This test checks that a node that knows eight others closer to a cluster, all of
// whom it can reach, takes no part in it: it says so, and who is closer. Who is in
// already stays.
func TestAFarNodeRefusesStrangers(t *testing.T) {
	g, near, at := newFarRig(t)
	guest, late := near[at+1], near[at+2]
	g.up(guest, late)
	g.after(time.Minute)

	g.table = near[at-nearestCount+1 : at+1] // seven are closer
	g.do(tableEvent{})
	require.Len(t, only(guest+": registered 5 NONE", g.from(guest, g.register("geo", guest, 5, 1, 1))), 1)
	require.Len(t, only(guest+": snapshot {+5@"+guest+"}", g.from(guest, g.watch("geo", guest, 1))), 1)

	g.table = near[:at+1]
	g.do(tableEvent{})
	require.Len(t, only(late+": registered 6 NONE", g.from(late, g.register("geo", late, 6, 1, 1))), 1, "it has just heard of them")
	g.from(late, &unregisterMsg{g.epochOf("geo", late).cid, 6})
	g.after(farAfter)
	want := fmt.Sprint("[", near[0], " ", near[1], " ", near[2], "]")
	require.Contains(t, g.from(late, g.register("geo", late, 6, 1, 1)), late+": registered 6 FAR "+want)
	require.Contains(t, g.from(late, g.watch("geo", late, 1)), late+": snapshot {} settled=false more=false FAR "+want)
	require.Equal(t, map[string]uint64{"refused_far": 2}, g.c.drops.ByName())
	require.Len(t, only(guest+": registered 5 NONE", g.from(guest, g.register("geo", guest, 5, 1, 2))), 1, "who is in stays")

	// One of those it takes for closer is silent: so it may be needed.
	g.up(near[7])
	g.link(PeerSuspect, near[7])
	require.Len(t, only(late+": registered 6 NONE", g.from(late, g.register("geo", late, 6, 1, 2))), 1)
}

// This test checks that a node that is at home elsewhere than the anchors of a cluster
// does not stay away from it, however many of their network are closer: it looks where
// they are, and takes those in who ask again.
func TestAFarNodeElsewhereIsAnAnchor(t *testing.T) {
	g, near, at := newFarRig(t)
	for _, p := range near {
		g.at[p] = "/ip4/66.1.0.1/tcp/1"
	}
	g.at["me"] = "/ip4/81.2.0.1/tcp/1"
	guest := near[at+1]
	g.up(guest)
	g.table = near[:at+1]
	g.do(tableEvent{})
	g.after(time.Minute)

	got := g.from(guest, g.register("geo", guest, 5, 1, 1))
	require.Len(t, only(guest+": registered 5 FAR", got), 1, "it does not know where those are who are closer")
	require.Equal(t, []string{"open " + near[0], "open " + near[1], "open " + near[2]}, only("open", got))
	g.up(near[:3]...)
	want := fmt.Sprint("[", near[0], " ", near[1], " ", near[2], " me]")
	require.Contains(t, g.from(guest, g.register("geo", guest, 5, 1, 2)), guest+": registered 5 NONE "+want)
	require.Contains(t, g.from(guest, g.watch("vault", guest, 1)), guest+": snapshot {} settled=false more=false FAR ["+
		strings.Join(g.nearest("vault", near[:at+1]...)[:3], " ")+"]", "one at a time")
}

// This test checks what a member's node makes of it: a lease that gave way is asked
// for again after a while, as often as after any refusal; and a Register call does
// not end because those who were asked first are no anchors.
func TestMembersComeBackAfterTheyGaveWay(t *testing.T) {
	g := newRig(t, "A", "B", "C")
	g.up("A", "B", "C")
	g.do(registerEvent{"geo", Registration{Member: 5}})
	cid := g.epochOf("geo", "me").cid
	answer := func(p string, refusal wire.Refusal) []string {
		e := g.c.registrar.byID.find(cid, 5)
		return g.from(p, &registeredMsg{cid: cid, member: 5, seq: e.at(testPeer(p)).seq, refusal: refusal})
	}
	for _, p := range []string{"A", "B", "C"} {
		require.Empty(t, only("registered", answer(p, wire.Refusal_FAR)))
	}
	require.NotEmpty(t, only("A: register 5", g.after(2*farFirst)), "it asks again soon")
	require.Contains(t, answer("A", wire.Refusal_NONE), "registered 5", "the others are no anchors, they say")

	answer("A", wire.Refusal_YIELDED)
	require.Equal(t, uint64(1), g.c.drops.ByName()["register_refused_yielded"])
	require.Empty(t, only("A: register", g.after(refusedFirst-time.Millisecond)))
	require.NotEmpty(t, only("A: register 5", g.after(refusedFirst/2)))
}

// This test checks that a caller whose watch gave way watches again after a while,
// and knows meanwhile what it knew.
func TestCallersComeBackAfterTheyGaveWay(t *testing.T) {
	g := newCaller(t)
	e := g.epochOf("geo", "me")
	g.from("A", &snapshotMsg{cid: e.cid, seq: g.seq("A"), leases: []lease{g.lease("geo", "D", 5, 1)}, settled: true})
	require.Len(t, g.view.Members, 1)
	g.from("A", &snapshotMsg{cid: e.cid, seq: g.seq("A"), refusal: wire.Refusal_YIELDED})
	require.Len(t, g.view.Members, 1)
	require.Equal(t, uint64(1), g.c.drops.ByName()["watch_refused_yielded"])
	require.Empty(t, only("A: watch", g.after(refusedFirst-time.Millisecond)))
	require.NotEmpty(t, only("A: watch", g.after(refusedFirst/2)))
}

// This test checks that a peer which sends false leases without end has few of them
// checked, and that another one is served meanwhile.
func TestOnePeersChecksLeaveOthersTheirs(t *testing.T) {
	g := newSharesRig(t)
	checks := 0
	g.c.verify = func(l security.Lease, _ []byte) error {
		if checks++; l.Member == 7 {
			return security.ErrBadProof
		}
		return nil
	}
	false7 := func(n int) {
		g.sends(testPeer("D"), &registerMsg{cid: numbered(n), member: 7, incarnation: 1, seq: uint64(n)})
	}
	for n := range 10_000 {
		false7(n)
	}
	require.LessOrEqual(t, checks, maxLeases/falsePrice+1)
	require.Equal(t, 100, g.hoards("E", 20_000, 100, 0))
	g.now = g.now.Add(time.Minute)
	checks = 0
	for n := range 10_000 {
		false7(n)
		g.now = g.now.Add(time.Millisecond)
	}
	require.LessOrEqual(t, checks, (maxLeases+10*2000)/falsePrice+2)
}
