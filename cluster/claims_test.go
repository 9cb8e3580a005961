// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// newHolder is a rig with n members and n watches of other clusters, all of which its
// only anchor, A, has granted.
func newHolder(t *testing.T, n int) *rig {
	g := newRig(t, "A")
	g.up("A")
	for i := range n {
		g.do(registerEvent{fmt.Sprint("served", i), Registration{Member: MemberID(i)}}, watchEvent{fmt.Sprint("called", i), newPool()})
		for _, m := range g.msgs["A"] {
			g.answers(m)
		}
	}
	return g
}

// answers has A grant what it is asked for.
func (g *rig) answers(m message) {
	switch m := m.(type) {
	case *registerMsg:
		g.from("A", &registeredMsg{cid: m.cid, member: m.member, seq: m.seq})
	case *watchMsg:
		g.from("A", &snapshotMsg{cid: m.cid, seq: m.seq, settled: true})
	}
}

// This test checks that what stands costs one message every few minutes for each
// anchor, however many leases and watches there are. (In the hour epochs turn, so few
// clusters are asked for anew.)
func TestWhatStandsIsSaidAllInOne(t *testing.T) {
	const clusters = 200
	g := newHolder(t, clusters)
	said := g.rests(10 * time.Minute)
	require.GreaterOrEqual(t, len(said), 1)
	require.LessOrEqual(t, len(said), int(10*time.Minute/claimFirst))
	for _, m := range said {
		require.GreaterOrEqual(t, m.leases, clusters)
		require.GreaterOrEqual(t, m.watches, clusters)
	}
}

// rests lets time pass, in which A grants what is asked for because an epoch turned,
// and returns what stood meanwhile.
func (g *rig) rests(d time.Duration) (said []*claimsMsg) {
	for range int(d / time.Second) {
		g.after(time.Second)
		for _, m := range g.msgs["A"] {
			if s, ok := m.(*claimsMsg); ok {
				said = append(said, s)
			}
			g.answers(m)
		}
	}
	return said
}

// This test checks that an anchor that holds something else has everything asked for
// again, spread over a while, and that it can't have that unasked.
func TestWhatDiffersIsAskedForAnew(t *testing.T) {
	g := newHolder(t, 20)
	g.from("A", &claimsMsg{differs: true})
	require.Empty(t, only("A: register", g.after(mendSpread)), "nobody asked")
	require.NotEmpty(t, g.rests(claimFirst+claimSpread))
	g.from("A", &claimsMsg{differs: true})
	require.Equal(t, uint64(1), g.c.drops.ByName()["claims_differ"])
	asked := g.after(mendSpread)
	for i := range 20 {
		require.Contains(t, asked, fmt.Sprint("A: register ", i))
	}
	require.GreaterOrEqual(t, len(only("A: watch", asked)), 20)
}

// This test checks that nothing is compared while an answer is awaited: the anchor
// may have it already, or not yet.
func TestNothingIsComparedWhileAnAnswerIsAwaited(t *testing.T) {
	g := newHolder(t, 1)
	g.do(registerEvent{"another", Registration{Member: 99}})
	ask := g.msgs["A"]
	require.Empty(t, only("A: claims", g.after(claimFirst+claimSpread)))
	for _, m := range slices.Concat(ask, g.msgs["A"]) { // the last one counts
		g.answers(m)
	}
	require.Len(t, only("A: claims", g.after(claimAgain)), 1)
}

// This test checks that both ends count the same, whatever comes and goes: an anchor
// answers only if it holds something else.
func TestBothEndsCountTheSame(t *testing.T) {
	g := newAnchorRig(t, "me")
	var have holdings
	same := func() {
		t.Helper()
		require.Empty(t, g.from("B", &claimsMsg{holdings: have}))
	}
	same()
	cid := g.epochOf("geo", "B").cid
	register := func(m MemberID, incarnation, seq uint64) *lease {
		r := g.register("geo", "B", m, incarnation, seq)
		g.from("B", r)
		l := r.lease(testPeer("B"))
		return &l
	}
	first, second := register(5, 1, 1), register(6, 1, 2)
	have.count(1, false, first.sumOf(cid))
	have.count(1, false, second.sumOf(cid))
	same()
	register(5, 1, 3) // the same again
	same()
	g.from("B", g.watch("geo", "B", 4))
	have.count(1, true, watchSum(cid, 4))
	same()
	g.from("B", g.watch("geo", "B", 5))
	have.count(-1, true, watchSum(cid, 4))
	have.count(1, true, watchSum(cid, 5))
	same()
	g.from("B", &unregisterMsg{cid, 5})
	have.count(-1, false, first.sumOf(cid))
	same()
	require.Equal(t, []string{"B: claims leases=1 watches=1 differs=true"}, g.from("B", &claimsMsg{}))
	third := register(7, 2, 6) // a newer life
	have.count(-1, false, second.sumOf(cid))
	have.count(1, false, third.sumOf(cid))
	same()
	g.from("B", &unwatchMsg{cid})
	have.count(-1, true, watchSum(cid, 5))
	same()
	g.link(PeerDown, "B")
	g.up("B")
	have = holdings{}
	same()
}

// This test checks the same of the member's and caller's end: a claim ends empty.
func TestClaimsEndEmpty(t *testing.T) {
	g := newHolder(t, 3)
	require.Len(t, g.c.claims.at, 1)
	g.c.registrar.remove(g.now, "served0", 0)
	a := g.c.claims.at[testPeer("A")]
	require.Equal(t, 3, a.watches)
	g.link(PeerDown, "A")
	require.Empty(t, g.c.claims.at)
	g.up("A")
	for _, m := range g.msgs["A"] {
		switch m := m.(type) {
		case *registerMsg:
			g.from("A", &registeredMsg{cid: m.cid, member: m.member, seq: m.seq, refusal: wire.Refusal_FULL})
		default:
			g.answers(m)
		}
	}
	a = g.c.claims.at[testPeer("A")]
	require.Zero(t, a.leases)
	require.Zero(t, a.waits)
	require.Equal(t, 3, a.watches)
	for i := range 3 {
		g.do(forgetEvent{fmt.Sprint("called", i)})
	}
	require.Empty(t, g.c.claims.at)
}
