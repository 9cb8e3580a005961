// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// newCaller is a rig that watches "geo" at its anchors A, B and C, to which it
// has links. D, E and F are the nodes of members.
func newCaller(t *testing.T) *rig {
	g := newRigNear(t, []string{"A", "B", "C"}, "A", "B", "C")
	g.up("A", "B", "C")
	g.looksFor("geo")
	return g
}

// seq returns the number of the watch at p.
func (g *rig) seq(p string) uint64 {
	return g.c.watcher.byID[g.epochOf("geo", "me").cid].at(testPeer(p)).seq
}

// tells has p send its whole set.
func (g *rig) tells(p string, settled bool, leases ...lease) []string {
	return g.from(p, &snapshotMsg{cid: g.epochOf("geo", "me").cid, seq: g.seq(p), leases: leases, settled: settled})
}

// allTell has all anchors send this set, as those that can know.
func (g *rig) allTell(leases ...lease) {
	for _, p := range []string{"A", "B", "C"} {
		g.tells(p, true, leases...)
	}
}

func (g *rig) delta(p string, number uint64, up []lease, down ...leaseRef) []string {
	return g.from(p, &deltaMsg{
		cid: g.epochOf("geo", "me").cid, seq: g.seq(p), number: number, upserted: up, removed: down,
	})
}

func (g *rig) gone(p string, m MemberID) leaseRef {
	return leaseRef{leaseKey{testPeer(p), m}, 1}
}

// shows is the view now.
func (g *rig) shows() string { return g.members(g.c.watcher.names["geo"].view) }

// One anchor's word is enough to know a member; its node is dialled so that a
// first request need not wait.
func TestFirstSnapshotWithMembersIsBelieved(t *testing.T) {
	g := newCaller(t)
	require.Equal(t, "unknown", g.shows())
	got := g.tells("A", false, g.lease("geo", "D", 1, 1), g.lease("geo", "me", 2, 7))
	require.Equal(t, []string{"open D"}, only("open", got))
	require.Equal(t, "1@D=live 2@me=live", g.shows())
	require.True(t, g.view.Known)
	require.False(t, g.view.Complete, "others may know more")
	g.tells("B", true, g.lease("geo", "D", 1, 1), g.lease("geo", "E", 3, 1))
	require.Equal(t, "1@D=live 2@me=live 3@E=live", g.shows(), "the union")
	require.False(t, g.view.Complete, "A has only just become an anchor")
}

// A list is whole when a majority of anchors has told that can know, and stays
// so when they only have new neighbours: whom they have, they keep.
func TestViewIsCompleteByAMajorityThatCanKnow(t *testing.T) {
	g := newCaller(t)
	g.tells("A", false, g.lease("geo", "D", 1, 1))
	g.tells("B", false)
	require.False(t, g.view.Complete)
	g.tells("C", true, g.lease("geo", "D", 1, 1))
	require.False(t, g.view.Complete)
	g.from("A", &deltaMsg{cid: g.epochOf("geo", "me").cid, seq: g.seq("A"), number: 1, settled: true})
	require.True(t, g.view.Complete)
	g.from("A", &deltaMsg{cid: g.epochOf("geo", "me").cid, seq: g.seq("A"), number: 2})
	g.delta("C", 1, nil)
	require.True(t, g.view.Complete)
	g.link(PeerDown, "A")
	g.link(PeerDown, "B")
	require.False(t, g.view.Complete, "no majority has told in this session")
	g.tells("B", false)
	require.False(t, g.view.Complete)
}

// Nobody is an answer only if a majority of the anchors can know.
func TestEmptyIsBelievedFromAMajorityOfSettledAnchors(t *testing.T) {
	g := newCaller(t)
	g.tells("A", true)
	g.tells("B", false)
	require.Equal(t, "unknown", g.shows())
	g.tells("C", true)
	require.Equal(t, "empty", g.shows())
	g.delta("C", 1, nil)
	require.Equal(t, "unknown", g.shows(), "C is not settled any more")
}

// A snapshot in parts counts when it is whole.
func TestPartsOfASnapshotCountTogether(t *testing.T) {
	g := newCaller(t)
	part := &snapshotMsg{cid: g.epochOf("geo", "me").cid, seq: g.seq("A"), leases: []lease{g.lease("geo", "D", 1, 1)}, more: true}
	g.from("A", part)
	require.Equal(t, "unknown", g.shows())
	g.tells("A", true, g.lease("geo", "E", 2, 1))
	require.Equal(t, "1@D=live 2@E=live", g.shows())
}

// An anchor that goes on telling after the watch has ended is told again.
func TestUnwantedDeltaEndsTheWatch(t *testing.T) {
	g := newCaller(t)
	d := &deltaMsg{cid: g.epochOf("zones", "me").cid, seq: 1, number: 1}
	require.Equal(t, []string{"A: unwatch"}, g.from("A", d))
}

// A gap in the numbers means that something was missed: the anchor is asked
// for everything, and what it says meanwhile does not count.
func TestGapInDeltasIsHealed(t *testing.T) {
	g := newCaller(t)
	g.tells("A", true, g.lease("geo", "D", 1, 1))
	before := g.seq("A")
	require.Equal(t, []string{"A: watch"}, only("A:", g.delta("A", 2, nil)))
	require.Greater(t, g.seq("A"), before)
	g.from("A", &deltaMsg{cid: g.epochOf("geo", "me").cid, seq: before, number: 3, removed: []leaseRef{g.gone("D", 1)}})
	require.Equal(t, "1@D=live", g.shows())
	g.tells("A", true, g.lease("geo", "E", 2, 1))
	require.Equal(t, "2@E=live", g.shows(), "who is missing now was lost in between")
	require.Equal(t, map[string]uint64{"delta_gap": 1}, g.c.drops.ByName())
}

// An anchor's loss loses nobody: what it said stays until another one has
// spoken, and longer if that one does not know all yet.
func TestReplacedAnchorsSetGoesAfterTheNewOnes(t *testing.T) {
	all := []string{"A", "B", "C", "D"}
	g := newRig(t, all...)
	near := g.nearest("geo", all...)
	g.up(all...)
	g.link(PeerDown, near[3])
	g.table = near[:3]
	g.do(tableEvent{})
	g.looksFor("geo")
	e := g.lease("geo", "E", 1, 1)
	for _, p := range near[:3] {
		g.tells(p, true, e)
	}
	g.table = near
	g.do(tableEvent{})
	g.link(PeerDown, near[0])
	g.link(PeerDialFailed, near[0])
	g.up(near[3])
	require.Equal(t, "1@E=live", g.shows())
	for _, p := range near[1:3] {
		g.delta(p, 1, nil, g.gone("E", 1))
	}
	require.NotEqual(t, "1@E=live", g.shows(), "the dead anchor's word does not outweigh the others'")
	for _, p := range near[1:3] {
		g.delta(p, 2, []lease{e})
	}
	require.Equal(t, "1@E=live", g.shows())
	s := g.c.watcher.byID[g.epochOf("geo", "me").cid]
	require.Len(t, s.anchorViews, 4)
	g.tells(near[3], true, e)
	require.Len(t, s.anchorViews, 3)
}

// The word of an old anchor that can't be reached is believed for a moment
// only, that of one that can be for half a minute.
func TestOldAnchorIsNotBelievedForEver(t *testing.T) {
	for up, keep := range map[bool]time.Duration{true: keepOld, false: keepDead} {
		g := newRigNear(t, []string{"A", "B", "C"}, "D")
		g.up("D")
		g.looksFor("geo")
		g.tells("D", true, g.lease("geo", "E", 1, 1))
		g.link(PeerDialFailed, "E") // it can't be asked itself
		g.table = []string{"A", "B", "C"}
		if !up {
			g.link(PeerDown, "D")
			g.link(PeerDialFailed, "D")
		}
		g.do(tableEvent{})
		g.up("A", "B", "C")
		g.allTell()
		g.after(keep - 1)
		require.Contains(t, g.shows(), "1@E")
		g.after(1)
		require.Equal(t, "empty", g.shows())
	}
}

// Who leaves an old anchor may have gone over to the new ones, which have not told us
// yet: over a long way a member can follow them sooner than we do.
func TestMemberThatMovesIsNotLost(t *testing.T) {
	moves := func(far time.Duration, suspect bool) *rig {
		g := newRigNear(t, []string{"A", "B", "C"}, "D")
		g.far = far
		g.up("D")
		g.looksFor("geo")
		e := g.lease("geo", "E", 1, 1)
		e.suspect = suspect
		g.tells("D", true, e)
		g.table = []string{"A", "B", "C"}
		g.do(tableEvent{})
		g.up("A", "B", "C")
		g.delta("D", 1, nil, g.gone("E", 1))
		return g
	}

	g := moves(0, false)
	require.Equal(t, "1@E=live", g.shows())
	g.tells("A", false, g.lease("geo", "E", 1, 1))
	g.tells("B", false)
	require.Equal(t, "1@E=live", g.shows(), "A lists it")

	g = moves(0, false)
	g.tells("A", false)
	require.Equal(t, "1@E=live", g.shows())
	g.tells("B", false)
	require.Equal(t, "unknown", g.shows(), "a majority does not list it")
	g.tells("C", false, g.lease("geo", "E", 1, 2))
	require.Equal(t, "1@E=live", g.shows())

	for far, stays := range map[time.Duration]time.Duration{0: breakAfter, 800 * time.Millisecond: breakTrips * 800 * time.Millisecond} {
		g = moves(far, false)
		g.after(stays - 1)
		require.Equal(t, "1@E=live", g.shows())
		g.after(1)
		require.Equal(t, "unknown", g.shows(), "nobody tells")
	}
}

// Who left or died is lost at once, though nobody else has told: our own link to its node
// ended, or the anchor doubted it before.
func TestMemberThatLeavesDoesNotMove(t *testing.T) {
	for name, c := range map[string]struct {
		suspect bool
		ends    func(g *rig)
	}{
		"it was suspect":       {true, func(*rig) {}},
		"its link ends before": {false, func(g *rig) { g.up("E"); g.link(PeerDown, "E") }},
		"it can't be dialled":  {false, func(g *rig) { g.link(PeerDialFailed, "E") }},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRigNear(t, []string{"A", "B", "C"}, "D")
			g.far = time.Second
			g.up("D")
			g.looksFor("geo")
			e := g.lease("geo", "E", 1, 1)
			e.suspect = c.suspect
			g.tells("D", true, e)
			g.table = []string{"A", "B", "C"}
			g.do(tableEvent{})
			g.up("A", "B", "C")
			c.ends(g)
			g.delta("D", 1, nil, g.gone("E", 1))
			require.Equal(t, "unknown", g.shows())
		})
		if c.suspect {
			continue
		}
		t.Run(name+", but later", func(t *testing.T) {
			g := newRigNear(t, []string{"A", "B", "C"}, "D")
			g.far = time.Second
			g.up("D")
			g.looksFor("geo")
			g.tells("D", true, g.lease("geo", "E", 1, 1))
			g.table = []string{"A", "B", "C"}
			g.do(tableEvent{})
			g.up("A", "B", "C")
			g.delta("D", 1, nil, g.gone("E", 1))
			require.Equal(t, "1@E=live", g.shows())
			c.ends(g)
			require.Equal(t, "unknown", g.shows())
		})
	}
}

// A member whose own link fails is unreachable while anchors list it, is
// dialled in the background, and back when its link is.
func TestUnreachableMemberComesBack(t *testing.T) {
	g := newCaller(t)
	g.tells("A", true, g.lease("geo", "D", 1, 1))
	g.up("D")
	require.Equal(t, []string{"open D"}, g.link(PeerDown, "D"))
	require.Equal(t, "1@D=unreachable", g.shows())
	g.link(PeerDialFailed, "D")
	require.Equal(t, []string{"open D"}, only("open", g.after(dialFirst+dialFirst/4)))
	g.up("D")
	require.Equal(t, "1@D=live", g.shows())
}

// A node that registers anew lives: whatever we thought of it is forgotten.
func TestNewIncarnationIsTriedAtOnce(t *testing.T) {
	g := newCaller(t)
	g.tells("A", true, g.lease("geo", "D", 1, 1))
	g.up("D")
	g.link(PeerDown, "D")
	for range 5 {
		g.link(PeerDialFailed, "D")
		g.after(10 * time.Second)
	}
	g.link(PeerDialFailed, "D")
	g.after(time.Second)
	require.Equal(t, "1@D=unreachable", g.shows())
	old := g.c.watcher.names["geo"].view.Members[0]
	require.Equal(t, []string{"open D"}, only("open", g.delta("A", 1, []lease{g.lease("geo", "D", 2, 2)}, g.gone("D", 1))))
	require.Equal(t, "2@D=live", g.shows())
	require.Equal(t, "gone", old.State(), "and stays so: it is gone")
}

// A node's newest incarnation hides what it was before, whoever still lists
// that.
func TestNewestIncarnationWinsInTheView(t *testing.T) {
	g := newCaller(t)
	g.tells("A", true, g.lease("geo", "D", 1, 1), g.lease("geo", "D", 2, 1))
	g.tells("B", true, g.lease("geo", "D", 3, 2))
	require.Equal(t, "3@D=live", g.shows())
	g.tells("C", true, g.lease("geo", "D", 1, 3))
	require.Equal(t, "1@D=live", g.shows())
	require.Equal(t, uint64(3), g.view.Members[0].Incarnation)
}

// An anchor can't make anybody believe in members that do not hold the key.
func TestForgedLeasesAreNotBelieved(t *testing.T) {
	g := newCaller(t)
	for reason, forge := range map[string]func(l *lease){
		"lease_bad_signature": func(l *lease) { l.signature = testKey("E").SignLease(l.signed(testNetwork, g.epochOf("geo", "D").cid)) },
		"lease_bad_seal":      func(l *lease) { l.record = append([]byte(nil), l.record...); l.record[30] ^= 1 },
		"lease_bad_record":    func(l *lease) { l.member = 9 },
	} {
		before := g.c.drops.ByName()[reason]
		l := g.lease("geo", "D", 1, 1)
		forge(&l)
		g.tells("A", true, l)
		require.Equal(t, "unknown", g.shows(), reason)
		require.Equal(t, before+1, g.c.drops.ByName()[reason])
		g.after(claimFirst + claimSpread)
		g.from("A", &claimsMsg{differs: true})
		g.after(mendSpread) // it is asked again
	}
	l := g.lease("geo", "D", 1, 1)
	l.incarnation = 2
	g.tells("A", true, l)
	require.Equal(t, "unknown", g.shows(), "another incarnation than the record's")
}

// A member that was lent by this network, and comes back to it through others, is no
// member: nothing goes round.
func TestWhatComesBackFromOtherNetworksIsNotBelieved(t *testing.T) {
	g := newCaller(t)
	lent := func(n uint64, through ...security.NetworkID) lease {
		l := g.lease("geo", "D", MemberID(n), 1)
		e := g.epochOf("geo", "D")
		plain, err := e.keys.OpenRecord(l.record)
		require.NoError(t, err)
		r, err := decodeRecord(plain, &l)
		require.NoError(t, err)
		r.network, r.networks = "eu", through
		return signedUnder(e, "D", r)
	}
	g.tells("A", true, lent(1, security.NetworkID{9}), lent(2, testNetwork, security.NetworkID{9}))
	require.Equal(t, "1@D=live", g.shows())
	require.Equal(t, []security.NetworkID{{9}}, g.view.Members[0].Networks)
	require.Equal(t, uint64(1), g.c.drops.ByName()["lease_bad_record"])
}

// A refused watch is tried again later, and has no say meanwhile.
func TestRefusedWatchIsTriedAgain(t *testing.T) {
	g := newCaller(t)
	g.from("A", &snapshotMsg{cid: g.epochOf("geo", "me").cid, seq: g.seq("A"), refusal: wire.Refusal_FULL})
	g.tells("B", true)
	g.tells("C", true)
	require.Equal(t, "empty", g.shows())
	require.Empty(t, only("A:", g.after(refusedFirst-1)))
	require.Contains(t, g.after(refusedFirst), "A: watch")
}

// Anchors that stay mute are asked again, ever more rarely.
func TestWatchIsRepeatedUntilItIsAnswered(t *testing.T) {
	g := newCaller(t)
	require.Len(t, only("A: watch", g.after(watchFirst+watchFirst/4)), 1)
	require.LessOrEqual(t, len(only("A: watch", g.after(time.Minute))), 7)
	g.tells("A", true, g.lease("geo", "D", 1, 1))
	require.Empty(t, only("A: watch", g.after(time.Hour)), "it stands")
}

// After a new session an anchor may have forgotten: whom it does not list then
// it has not lost.
func TestRestartedAnchorHasLostNobody(t *testing.T) {
	g := newCaller(t)
	d := g.lease("geo", "D", 1, 1)
	g.allTell(d)
	for _, p := range []string{"A", "B"} {
		g.link(PeerDown, p)
		require.Equal(t, "1@D=live", g.shows())
		g.up(p)
		g.tells(p, true)
	}
	require.Equal(t, "1@D=live", g.shows())
}

// The same member is verified anew without losing its health; another
// capacity begins anew.
func TestHealthOutlivesANewDescription(t *testing.T) {
	g := newCaller(t)
	g.tells("A", true, g.lease("geo", "D", 1, 1))
	first := g.view.Members[0]
	first.Begin()
	r := record{
		leaseKey: leaseKey{testPeer("D"), 1}, incarnation: 1, revision: 1,
		zone: "elsewhere", capacity: 1, addrs: []string{"/ip4/1.2.3.4/tcp/5"},
	}
	g.delta("A", 1, []lease{g.signed("geo", "D", r)})
	second := g.view.Members[0]
	require.NotSame(t, first, second)
	require.Equal(t, "elsewhere", second.Zone)
	require.Equal(t, 1, second.Inflight())
}

// An idle watch ends when its time has come, and leaves nothing behind.
func TestForgottenWatchLeavesNothingBehind(t *testing.T) {
	g := newCaller(t)
	g.tells("A", true, g.lease("geo", "D", 1, 1))
	g.do(idleEvent{"geo", g.now.Add(lingerTime)})
	require.Empty(t, only("expire", g.after(lingerTime-1)))
	require.Equal(t, []string{"expire geo"}, only("expire", g.after(1)))
	got := g.do(forgetEvent{"geo"})
	require.Equal(t, []string{"A: unwatch", "B: unwatch", "C: unwatch"}, sorted(only("", without(got, "hold"))))
	require.Empty(t, g.c.finder.sets)
	require.Empty(t, g.c.watcher.byID)
	require.Empty(t, g.c.epochs.terms)
	for p, c := range g.c.peers.peers {
		require.Zero(t, c.wants+c.holds, g.names[p])
	}
}
