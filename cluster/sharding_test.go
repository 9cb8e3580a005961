// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// offers has p ask an anchor to hold a lease, and returns the answer.
func (g *rig) offers(p string, m MemberID, below bool) *registeredMsg {
	g.sends(testPeer(p), &registerMsg{cid: numbered(1), member: m, incarnation: 1, record: []byte{1}, seq: 1, below: below})
	for _, a := range g.msgs[p] {
		if a, ok := a.(*registeredMsg); ok && a.member == m {
			return a
		}
	}
	g.t.Fatal("no answer")
	return nil
}

// told counts what p was told that is so.
func (g *rig) told(p string, is func(*registeredMsg) bool) (n int) {
	for _, m := range g.msgs[p] {
		if m, ok := m.(*registeredMsg); ok && is(m) {
			n++
		}
	}
	return n
}

// This test checks when an anchor shards an id: with one lease more than it may have. All
// who are concerned are told; what it holds it keeps; and it takes no more but deputies.
func TestAnIDWithTooManyLeasesIsSharded(t *testing.T) {
	g := newSharesRig(t)
	limits := usualShards()
	g.sends(testPeer("B"), &watchMsg{cid: numbered(1), seq: 1})
	for m := range MemberID(limits.whole) {
		answer := g.offers("A", m+1, false)
		require.Equal(t, wire.Refusal_NONE, answer.refusal)
		require.False(t, answer.sharded)
	}
	answer := g.offers("C", 9999, false)
	require.Equal(t, wire.Refusal_SHARDED, answer.refusal)
	require.True(t, answer.sharded)
	require.Equal(t, limits.whole, g.told("A", func(m *registeredMsg) bool { return m.sharded && m.refusal == wire.Refusal_NONE }))
	require.True(t, g.msgs["B"][0].(*deltaMsg).sharded)
	require.Equal(t, limits.whole, g.c.anchor.leases)
	require.Equal(t, wire.Refusal_SHARDED, g.offers("C", 9998, false).refusal)
	require.Equal(t, wire.Refusal_NONE, g.offers("A", 7, false).refusal, "who is in may renew")
	require.Equal(t, wire.Refusal_NONE, g.offers("C", 9999, true).refusal)
	g.sends(testPeer("D"), &watchMsg{cid: numbered(1), seq: 1})
	require.True(t, g.msgs["D"][0].(*snapshotMsg).sharded)
}

// This test checks that an anchor holds no more deputies of a shard than it may: those
// with the lowest ids, whoever came first.
func TestAnAnchorHoldsFewDeputies(t *testing.T) {
	g := newSharesRig(t)
	limits := usualShards()
	var of []MemberID // one shard
	for m := MemberID(1); len(of) < 2*limits.most; m++ {
		if shardOf(numbered(1), leaseKey{testPeer("A"), m}) == 2 {
			of = append(of, m)
		}
	}
	slices.Reverse(of)
	gone := 0
	for _, m := range of {
		require.Equal(t, wire.Refusal_NONE, g.offers("A", m, true).refusal, "it is lower than all before")
		gone += g.told("A", func(m *registeredMsg) bool { return m.refusal == wire.Refusal_SHARDED })
		require.LessOrEqual(t, g.c.anchor.leases, limits.most)
	}
	require.Equal(t, limits.most, gone)
	require.Equal(t, wire.Refusal_SHARDED, g.offers("A", of[0], true).refusal)
	require.Equal(t, of[len(of)-1], g.c.anchor.books.get(numbered(1)).leases[0].member)
}

// This test checks that an anchor appoints the lowest members deputies, and others
// when one goes, or a lower one comes.
func TestAnAnchorAppointsDeputies(t *testing.T) {
	g := newSharesRig(t)
	n := MemberID(usualShards().deputies)
	for m := range n + 10 {
		require.Equal(t, m < n, g.offers("A", m+100, false).deputy)
	}
	is := func(member MemberID, deputy bool) int {
		return g.told("A", func(m *registeredMsg) bool { return m.member == member && m.deputy == deputy })
	}
	require.True(t, g.offers("A", 50, false).deputy)
	require.Equal(t, 1, is(n+99, false), "it is displaced")
	g.sends(testPeer("A"), &unregisterMsg{cid: numbered(1), member: 100})
	require.Equal(t, 1, is(n+99, true))
	g.sends(testPeer("A"), &unregisterMsg{cid: numbered(1), member: n + 105})
	require.Empty(t, g.msgs["A"], "it was none")
}

// This test checks that whoever becomes an anchor of a sharded id learns that it is from the first
// deputy, and that it is whole again once all its shards have had few for a while.
func TestAnAnchorLearnsOfShardsFromDeputies(t *testing.T) {
	g := newSharesRig(t)
	limits := usualShards()
	require.False(t, g.offers("A", 1, false).sharded)
	require.True(t, g.offers("B", 2, true).sharded)
	require.Equal(t, wire.Refusal_SHARDED, g.offers("C", 3, false).refusal)
	g.after(limits.quiet - time.Millisecond)
	require.True(t, g.c.anchor.books.get(numbered(1)).sharded)
	g.after(time.Millisecond)
	require.False(t, g.c.anchor.books.get(numbered(1)).sharded)
	require.Equal(t, wire.Refusal_NONE, g.offers("C", 3, false).refusal)

	for m := range MemberID(shardCount * limits.few) { // some shard has enough of them
		g.offers("B", m+100, true)
	}
	g.after(10 * limits.quiet)
	require.True(t, g.c.anchor.books.get(numbered(1)).sharded)
	g.sends(testPeer("A"), &unregisterMsg{cid: numbered(1), member: 1})
	g.do(linkEvent{PeerEvent{Type: PeerDown, Peer: testPeer("B")}}, linkEvent{PeerEvent{Type: PeerDown, Peer: testPeer("C")}})
	require.True(t, g.c.anchor.books.get(numbered(1)).sharded, "there may be somebody under a shard")
	g.after(limits.quiet)
	require.Nil(t, g.c.anchor.books.get(numbered(1)))
}

// says has p answer the last Register of member 1 under an epoch.
func (g *rig) says(p string, x *epoch, m registeredMsg) []string {
	m.cid, m.member = x.cid, 1
	m.seq = g.c.registrar.byID.find(x.cid, 1).at(testPeer(p)).seq
	return g.from(p, &m)
}

// under lists the epochs that member 1 is registered under, by how deep they are.
func (g *rig) under() (depths []int) {
	for _, e := range g.c.registrar.members[0].registrations {
		depths = append(depths, e.depth())
	}
	return depths
}

// This test checks which way a member goes: it believes a majority of the anchors, is
// held under its shard before it leaves the id above, and is a deputy as soon as
// one anchor of the shard says so, and until none does.
func TestAMemberFollowsTheMajorityIntoAShard(t *testing.T) {
	g := newMember(t, "A", "B", "C")
	root := g.c.epochs.of("geo")[0]
	sharded, shardedNo := registeredMsg{sharded: true}, registeredMsg{sharded: true, refusal: wire.Refusal_SHARDED}
	g.says("A", root, shardedNo)
	require.Equal(t, []int{0}, g.under(), "one alone moves nobody")
	g.says("B", root, registeredMsg{})
	require.Contains(t, g.says("C", root, registeredMsg{}), "registered 1")
	require.Equal(t, []int{0}, g.under())

	require.Len(t, only("A: register 1", g.says("C", root, sharded)), 1)
	require.Equal(t, []int{0, 1}, g.under())
	shard := g.c.registrar.members[0].registrations[1].epoch
	require.Equal(t, root, shard.shards.of)
	g.says("A", shard, registeredMsg{})
	g.after(2 * breakAfter)
	require.Equal(t, []int{0, 1}, g.under(), "it is not held by a majority")
	g.says("B", shard, registeredMsg{})
	g.after(breakAfter - time.Millisecond)
	require.Equal(t, []int{0, 1}, g.under())
	require.Len(t, only("C: unregister 1", g.after(time.Millisecond)), 1)
	require.Equal(t, []int{1}, g.under())

	// It is appointed, and tells the anchors above what it is.
	got := g.says("B", shard, registeredMsg{deputy: true})
	require.Len(t, only("C: register 1", got), 1)
	require.True(t, g.msgs["C"][0].(*registerMsg).below)
	require.Equal(t, []int{0, 1}, g.under())
	for _, p := range []string{"A", "B", "C"} {
		g.says(p, root, sharded)
	}
	g.after(time.Minute)
	require.Equal(t, []int{0, 1}, g.under())
	g.says("B", shard, registeredMsg{})
	require.Equal(t, []int{1}, g.under(), "it is none any more")

	// The id above is whole again.
	g.says("C", shard, registeredMsg{deputy: true})
	g.says("A", root, registeredMsg{})
	require.Equal(t, []int{0, 1}, g.under(), "one alone moves nobody back")
	require.Len(t, only("B: unregister 1", g.says("B", root, registeredMsg{})), 1)
	require.Equal(t, []int{0}, g.under())
}

// This test checks what a caller makes of it: it watches the shards when an anchor says that
// there are some, unless a majority says that there are none; "empty" and "complete" hold for
// all ids together; and it lets go of shards only when the majority says so and nobody is there.
func TestACallerKnowsNothingWithoutTheShards(t *testing.T) {
	g := newCaller(t)
	root := g.c.epochs.of("geo")[0]
	tells := func(p string, x *epoch, sharded bool, leases ...lease) {
		s := g.c.watcher.byID[x.cid]
		g.from(p, &snapshotMsg{cid: x.cid, seq: s.at(testPeer(p)).seq, leases: leases, settled: true, sharded: sharded})
	}
	ids := func() int { return len(g.c.watcher.byID) }
	// A lies. It is outvoted.
	tells("A", root, true)
	require.Equal(t, 1+shardCount, ids())
	tells("B", root, false)
	require.Equal(t, "unknown", g.shows())
	tells("C", root, false)
	require.Equal(t, 1, ids())
	require.Equal(t, "empty", g.shows())

	// Now the id is sharded. A says that it is not. Nobody says that there is nobody before
	// the shards are known.
	g = newCaller(t)
	root = g.c.epochs.of("geo")[0]
	tells("A", root, false)
	tells("B", root, true)
	tells("C", root, true)
	require.Equal(t, 1+shardCount, ids())
	require.Equal(t, "unknown", g.shows())
	for i, x := range root.shards.below {
		require.Equal(t, "unknown", g.shows(), i)
		tells("A", x, false)
		tells("B", x, false)
	}
	require.Equal(t, "empty", g.shows())

	// Somebody is under a shard. One anchor there is enough to know that, and two say that all is told.
	k := leaseKey{testPeer("D"), 5}
	x := root.shards.below[shardOf(root.cid, k)]
	l := signedUnder(x, "D", record{leaseKey: k, incarnation: 1, zone: "z", capacity: 1})
	g.from("C", &snapshotMsg{cid: x.cid, seq: g.c.watcher.byID[x.cid].at(testPeer("C")).seq, leases: []lease{l}, settled: true})
	require.Equal(t, "5@D=live", g.shows())
	// A majority says that the id is whole, and the member has not gone back yet.
	delta := func(p string, x *epoch, number uint64, removed ...leaseRef) {
		g.from(p, &deltaMsg{cid: x.cid, seq: g.c.watcher.byID[x.cid].at(testPeer(p)).seq, number: number, removed: removed, settled: true})
	}
	delta("B", root, 1)
	require.Equal(t, 1+shardCount, ids())
	require.Equal(t, "5@D=live", g.shows())
	delta("C", x, 1, leaseRef{k, 1})
	require.Equal(t, 1, ids())
}

// This test checks that a shard's id can't be told from any other by who lacks the key, that
// all holders find the same, and that members are spread evenly.
func TestShardsAreFoundByAllHolders(t *testing.T) {
	g := newRig(t, "A")
	root, other := g.epochOf("geo", "me"), g.epochOf("geo", "A")
	var all [shardCount]int
	for m := range MemberID(4000) {
		k := leaseKey{testPeer("A"), MemberID(mix(uint64(m)))}
		all[shardOf(root.cid, k)]++
	}
	for i, n := range all {
		require.InDelta(t, 1000, n, 120)
		a, b := root.shard(&base{self: testPeer("me")}, i), other.shard(&base{self: testPeer("A")}, i)
		require.Equal(t, a.cid, b.cid)
		require.NotEqual(t, root.cid, a.cid)
		require.NoError(t, g.c.anchor.examiner.prove(b.cid, b.keys.PublicKey(), b.proof, testPeer("A")))
		require.Error(t, g.c.anchor.examiner.prove(b.cid, root.keys.PublicKey(), root.proof, testPeer("me")))
	}
	deepest := root
	for range deepestShard {
		deepest = deepest.shard(&base{self: testPeer("me")}, 0)
	}
	require.Nil(t, deepest.shard(&base{self: testPeer("me")}, 0))
	require.Equal(t, root, deepest.root())
}
