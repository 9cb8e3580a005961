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

func (g *rig) joins(name string, m MemberID) []string {
	return g.do(registerEvent{name, Registration{Member: m, Capacity: 2, MaxMessage: 99}})
}

// newMember is a rig whose node registers member 1 of geo with these anchors.
func newMember(t *testing.T, anchors ...string) *rig {
	g := newRig(t, anchors...)
	g.up(anchors...)
	g.joins("geo", 1)
	return g
}

// grant has p answer the last Register that it was sent.
func (g *rig) grant(p string, refusal wire.Refusal) []string {
	m := g.asked[p]
	require.NotNil(g.t, m, "nothing was sent to %s", p)
	return g.from(p, &registeredMsg{cid: m.cid, member: m.member, seq: m.seq, refusal: refusal})
}

// What is sent is the member's own, for the anchor's eyes only as far as it
// needs to know.
func TestRecordIsSealedAndCanBeOpenedByHoldersOfTheKey(t *testing.T) {
	g := newMember(t, "A")
	m := g.msgs["A"][0].(*registerMsg)
	s := g.epochOf("geo", "me")
	require.Equal(t, s.cid, m.cid)
	require.NoError(t, g.c.anchor.examiner.prove(m.cid, m.key, m.proof, testPeer("me")))
	plain, err := s.keys.OpenRecord(m.record)
	require.NoError(t, err)
	r, err := decodeRecord(plain, &lease{leaseKey: leaseKey{testPeer("me"), 1}, incarnation: 7})
	require.NoError(t, err)
	require.Equal(t, record{
		leaseKey: leaseKey{testPeer("me"), 1}, incarnation: 7, zone: "z", capacity: 2, maxMessage: 99,
	}, r)
	plain, err = s.keys.OpenReach(m.record)
	require.NoError(t, err)
	r, err = decodeRecord(plain, &lease{leaseKey: leaseKey{testPeer("me"), 1}, incarnation: 7})
	require.NoError(t, err)
	require.Equal(t, []string{"/ip4/10.0.0.7/tcp/1"}, r.addrs, "where it is stands in a part of its own, which is not passed on")
	require.NotContains(t, string(m.record), "10.0.0.7")
}

// Anchors that miss heartbeats are not waited for.
func TestSuspectAnchorsDoNotDelayRegistration(t *testing.T) {
	g := newMember(t, "A", "B", "C")
	g.grant("A", wire.Refusal_NONE)
	g.link(PeerSuspect, "B")
	require.Equal(t, []string{"registered 1"}, g.link(PeerSuspect, "C"))
}

// Without an answer the anchor is asked again, ever more rarely.
func TestRegisterIsRepeatedUntilItIsAnswered(t *testing.T) {
	g := newMember(t, "A")
	wait := registerFirst
	for range 6 {
		start := g.now
		for len(only("A: register", g.after(time.Millisecond))) == 0 {
			require.LessOrEqual(t, g.now.Sub(start), wait+wait/4)
		}
		require.Greater(t, g.now.Sub(start), wait-2*time.Millisecond)
		wait = min(2*wait, registerLongest)
	}
	require.Equal(t, []string{"registered 1"}, g.grant("A", wire.Refusal_NONE))
	require.Empty(t, only("A:", g.after(claimFirst-1)), "it stands")
}

// An answer to an older question, or from somebody who was not asked, is none.
func TestOnlyTheRightAnswerCounts(t *testing.T) {
	g := newRig(t, "A")
	g.up("A", "F")
	g.link(PeerDown, "F")
	g.joins("geo", 1)
	m := g.msgs["A"][0].(*registerMsg)
	require.Empty(t, g.from("A", &registeredMsg{cid: m.cid, member: 1, seq: m.seq + 1}))
	require.Empty(t, g.from("A", &registeredMsg{cid: m.cid, member: 2, seq: m.seq}))
	require.Empty(t, g.from("F", &registeredMsg{cid: m.cid, member: 1, seq: m.seq}))
	require.Equal(t, []string{"registered 1"}, g.from("A", &registeredMsg{cid: m.cid, member: 1, seq: m.seq}))
}

// If all anchors refuse, Register fails and says why; if one does, it is asked
// again later.
func TestRefusals(t *testing.T) {
	g := newMember(t, "A", "B", "C")
	g.grant("A", wire.Refusal_FULL)
	g.grant("B", wire.Refusal_FULL)
	got := g.grant("C", wire.Refusal_FULL)
	require.Equal(t, []string{"registered 1: cluster: refused by the anchors: refused_full"}, only("registered", got))
	require.Empty(t, g.c.registrar.members)

	g = newMember(t, "A", "B", "C")
	g.grant("A", wire.Refusal_FULL)
	g.grant("B", wire.Refusal_NONE)
	require.Equal(t, []string{"registered 1"}, only("registered", g.grant("C", wire.Refusal_NONE)))
	require.Empty(t, only("A: register", g.after(refusedFirst-1)))
	require.Equal(t, []string{"A: register 1"}, only("A: register", g.after(refusedFirst/4+1)))
}

// An old lease is given up only after the new one has stood for a while, so that
// watchers have followed: over a long way they need longer.
func TestOldLeaseIsGivenUpAfterTheNewOneStands(t *testing.T) {
	for trip, stands := range map[time.Duration]time.Duration{0: breakAfter, 800 * time.Millisecond: breakTrips * 800 * time.Millisecond} {
		all := []string{"A", "B", "C", "D"}
		g := newRig(t, all...)
		near := g.nearest("geo", all...)
		g.table = near[1:]
		g.up(near[1:]...)
		g.joins("geo", 1)
		last := near[3]
		g.after(trip)
		for _, p := range near[1:] {
			g.grant(p, wire.Refusal_NONE)
		}
		g.table = near
		g.do(tableEvent{})
		require.Empty(t, only(last, g.after(10*time.Second)), "the new anchor has not answered")
		g.up(near[0])
		require.Empty(t, only(last, g.grant(near[0], wire.Refusal_NONE)))
		require.Empty(t, only(last, g.after(stands-1)))
		require.Equal(t, []string{last + ": unregister 1"}, only(last, g.after(1)))
		require.Empty(t, only("", g.do(unregisterEvent{"geo", 2})), "whom nobody knows")
		require.ElementsMatch(t, []string{
			near[0] + ": unregister 1", near[1] + ": unregister 1", near[2] + ": unregister 1",
		}, without(g.do(unregisterEvent{"geo", 1}), "hold"))
	}
}

// While links come up one after the other, many are anchors for a moment. They are let
// go of before those that hold the member, and that watchers know it by.
func TestAnchorsOfAMomentAreLeftBeforeThoseThatHold(t *testing.T) {
	held := &anchorLease{peer: testPeer("A"), state: leaseHeld}
	first := &anchorLease{peer: testPeer("B"), state: leaseSent}
	last := &anchorLease{peer: testPeer("C"), state: leaseSent}
	after := &anchorLease{peer: testPeer("D"), state: leaseHeld}
	require.Same(t, last, leastWorth([]*anchorLease{held, first, last, after}), "who was asked last")
	require.Same(t, first, leastWorth([]*anchorLease{held, first, after}))
	require.Same(t, held, leastWorth([]*anchorLease{held, after}), "who held it first")
}

func without(lines []string, prefix string) []string {
	var out []string
	for _, l := range lines {
		if len(l) < len(prefix) || l[:len(prefix)] != prefix {
			out = append(out, l)
		}
	}
	return out
}

// A broken link is made again and the member registered at once.
func TestMemberIsRegisteredAgainAfterItsLinkBroke(t *testing.T) {
	g := newMember(t, "A")
	g.grant("A", wire.Refusal_NONE)
	require.Equal(t, []string{"open A"}, g.link(PeerDown, "A"))
	require.Equal(t, []string{"A: register 1"}, g.up("A"))
	require.Empty(t, g.c.registrar.served.now(g.c.registrar.count)[0].Acknowledged)
	g.grant("A", wire.Refusal_NONE)
	require.Equal(t, 1, g.c.registrar.served.now(g.c.registrar.count)[0].Acknowledged)
}

// A new epoch is entered before the old one is left.
func TestEpochsOverlap(t *testing.T) {
	g := newMember(t, "A")
	old := g.msgs["A"][0].(*registerMsg).cid
	g.grant("A", wire.Refusal_NONE)
	for { // until a second id is valid
		g.after(time.Minute)
		if m := msgsTo[*registerMsg](g, "A"); len(m) == 1 && m[0].cid != old {
			break
		}
		for _, m := range msgsTo[*registerMsg](g, "A") {
			g.from("A", &registeredMsg{cid: m.cid, member: 1, seq: m.seq})
		}
		require.Empty(t, msgsTo[*unregisterMsg](g, "A"))
	}
	require.Len(t, testKeys("geo").Epochs(g.now), 2)
	fresh := msgsTo[*registerMsg](g, "A")[0].cid
	require.Contains(t, []any{testKeys("geo").Epochs(g.now)[0].ID(), testKeys("geo").Epochs(g.now)[1].ID()}, any(fresh))
	g.grant("A", wire.Refusal_NONE)
	var left []*unregisterMsg
	for start := g.now; len(left) == 0; {
		g.after(time.Minute)
		left = msgsTo[*unregisterMsg](g, "A")
		for _, m := range msgsTo[*registerMsg](g, "A") {
			g.from("A", &registeredMsg{cid: m.cid, member: 1, seq: m.seq})
		}
		require.Less(t, g.now.Sub(start), time.Hour)
	}
	require.Equal(t, old, left[0].cid)
	require.Len(t, left, 1)
}

// msgsTo returns those of one type that were sent to an anchor.
func msgsTo[M any](g *rig, p string) []M {
	var out []M
	for _, m := range g.msgs[p] {
		if r, ok := any(m).(M); ok {
			out = append(out, r)
		}
	}
	return out
}

// An Unregister that found the lane full is repeated, as long as there is a
// lease to end.
func TestUnsentUnregisterIsRepeated(t *testing.T) {
	g := newMember(t, "A")
	g.grant("A", wire.Refusal_NONE)
	g.do(unregisterEvent{"geo", 1})
	lost := unsentEvent{testPeer("A"), g.msgs["A"][0]}
	g.do(lost)
	require.Equal(t, []string{"A: unregister 1"}, only("A:", g.after(farewellRetry)))
	g.do(lost)
	g.link(PeerDown, "A")
	g.up("A")
	require.Empty(t, only("A:", g.after(time.Minute)), "the lease ended with the link")

	g = newMember(t, "A")
	g.grant("A", wire.Refusal_NONE)
	g.do(unregisterEvent{"geo", 1})
	g.do(unsentEvent{testPeer("A"), g.msgs["A"][0]})
	g.joins("geo", 1)
	require.NotContains(t, g.after(farewellRetry), "A: unregister 1", "the member is back")
}

// A Register that left in a session we had not heard of yet is taken back if
// the member is gone by the time we do.
func TestStrayRegisterIsTakenBack(t *testing.T) {
	g := newMember(t, "A")
	sent := g.msgs["A"][0]
	g.do(sentEvent{testPeer("A"), sent, g.last + 1}) // the link broke and came back meanwhile
	g.link(PeerDown, "A")
	g.do(unregisterEvent{"geo", 1})
	require.Equal(t, []string{"A: unregister 1"}, g.up("A"))
	require.Empty(t, g.c.strays)
}

// New addresses are made known within half a minute.
func TestNewAddressesAreMadeKnown(t *testing.T) {
	g := newRig(t, "A")
	addrs := []string{"/ip4/10.0.0.7/tcp/1"}
	g.c.registrar.here.ask = func() []string { return addrs }
	g.up("A")
	g.joins("geo", 1)
	g.grant("A", wire.Refusal_NONE)
	addrs = []string{"/ip4/10.0.0.8/tcp/1"}
	require.Contains(t, g.after(recheckFirst+recheckSpread), "A: register 1")
	plain, err := g.epochOf("geo", "me").keys.OpenReach(g.msgs["A"][0].(*registerMsg).record)
	require.NoError(t, err)
	require.Contains(t, string(plain), "10.0.0.8")
	require.Equal(t, 1, g.c.registrar.served.now(g.c.registrar.count)[0].Acknowledged, "the lease stood all the time")
}

// Addresses that others would refuse are left out of the record, the first
// ones stay.
func TestRecordHoldsNoMoreAddressesThanOthersAccept(t *testing.T) {
	long := string(make([]byte, wire.MaxAddr+1))
	var many []string
	for range 50 {
		many = append(many, string(make([]byte, 200)))
	}
	r := record{leaseKey: leaseKey{peer.ID("p"), 1}, incarnation: 1, addrs: append([]string{"a", long, ""}, many...), capacity: 1}
	got, err := decodeRecord(r.encode(), &lease{leaseKey: r.leaseKey, incarnation: 1})
	require.NoError(t, err)
	require.Equal(t, "a", got.addrs[0])
	require.Len(t, got.addrs, 1+(maxRecordAddrBytes-1)/200)
	_, err = decodeRecord(r.encode(), &lease{leaseKey: leaseKey{peer.ID("q"), 1}, incarnation: 1})
	require.ErrorIs(t, err, errForeignRecord)
}

// An anchor of the network that a member is lent to holds the gateway's lease: nothing
// in it says which node the member is on, where it comes from, or what it is called.
func TestAnAnchorSeesNothingOfAMemberThatIsLent(t *testing.T) {
	g := newRig(t, "A")
	g.up("A")
	s := g.epochOf("geo", "me")
	from := security.NetworkID{1, 2, 3, 4, 5, 6, 7, 8, 9}
	own := Passed{Network: from, Peer: testPeer("far"), Member: 77, Incarnation: 5, Record: []byte("what the member has sealed"), Signature: []byte("what its node has signed")}
	g.do(registerEvent{"geo", Registration{Member: 1, Network: "europe", Priority: 1, Passed: map[security.ClusterID]Passed{s.cid: own}}})
	m := g.msgs["A"][0].(*registerMsg)
	plain, err := s.keys.OpenLent(m.record)
	require.NoError(t, err)
	seen, err := encode(m)
	require.NoError(t, err)
	require.Contains(t, string(seen), string(m.record))
	for _, secret := range []string{string(own.Peer), string(own.Record), string(own.Signature), string(from[:]), "europe", "geo"} {
		require.NotContains(t, string(seen), secret)
		if secret != "geo" { // is nowhere; the id stands for it
			require.Contains(t, string(plain), secret, "who holds a key of the cluster finds it there")
		}
	}
}
