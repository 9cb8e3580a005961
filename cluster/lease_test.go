// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// An anchor holds what a member's node has signed for this network, cluster,
// member and incarnation, and nothing else; it says why not, and counts it.
func TestAnchorsRefuseWhatIsNotSigned(t *testing.T) {
	for what, change := range map[string]func(g *rig, m *registerMsg){
		"another record":      func(g *rig, m *registerMsg) { m.record = g.lease("geo", "B", 5, 2).record },
		"another member":      func(_ *rig, m *registerMsg) { m.member++ },
		"another incarnation": func(_ *rig, m *registerMsg) { m.incarnation = 1<<64 - 1 },
		"a flipped bit":       func(_ *rig, m *registerMsg) { m.signature[3] ^= 4 },
		"another node": func(g *rig, m *registerMsg) {
			// C hands on B's lease as its own, as a gateway might, with a good proof.
			m.proof = g.epochOf("geo", "C").proof
		},
		"another cluster": func(g *rig, m *registerMsg) {
			l := g.lease("geo", "B", 5, 1)
			m.signature = testKey("B").SignLease(l.signed(testNetwork, g.epochOf("zones", "B").cid))
		},
		"another network": func(g *rig, m *registerMsg) {
			l := g.lease("geo", "B", 5, 1)
			m.signature = testKey("B").SignLease(l.signed(security.NetworkID{2}, m.cid))
		},
	} {
		t.Run(what, func(t *testing.T) {
			g := newAnchorRig(t, "me")
			m, from := g.register("geo", "B", 5, 1, 1), "B"
			change(g, m)
			if what == "another node" {
				from = "C"
			}
			got := g.from(from, m)
			require.Equal(t, []string{fmt.Sprintf("%s: registered %d BAD_SIGNATURE []", from, m.member)}, got)
			require.Zero(t, g.c.anchor.leases)
			require.Equal(t, map[string]uint64{"refused_bad_signature": 1}, g.c.drops.ByName())
		})
	}
}

// A signature is verified once at an anchor for as long as the lease is held,
// and once at a caller, however often it is registered again and by however many
// anchors it is told.
func TestASignatureIsVerifiedOnce(t *testing.T) {
	g := newAnchorRig(t, "me")
	checks := countVerify(g)
	for seq := range uint64(3) {
		g.from("B", g.register("geo", "B", 5, 1, seq))
	}
	require.Equal(t, 1, *checks)

	c := newCaller(t)
	checks = countVerify(c)
	for range 3 {
		c.allTell(c.lease("geo", "D", 1, 1), c.lease("geo", "E", 2, 1))
		for _, p := range []string{"A", "B", "C"} {
			c.link(PeerDown, p)
		}
		c.up("A", "B", "C") // they are asked again
	}
	require.Equal(t, "1@D=live 2@E=live", c.shows())
	require.Equal(t, 2, *checks)
}

// countVerify counts the signatures that g verifies from now on.
func countVerify(g *rig) *int {
	checks := 0
	g.c.verify = func(l security.Lease, signature []byte) error {
		checks++
		return security.VerifyLease(l, signature)
	}
	return &checks
}

// What a caller remembers of leases is bounded by those that anchors list.
func TestRememberedLeasesAreBoundedByThoseHeld(t *testing.T) {
	c := newCaller(t)
	for round := range uint64(50) {
		var all []lease
		for m := range MemberID(8) {
			all = append(all, c.lease("geo", "D", MemberID(round)*8+m, 1))
		}
		c.tells("A", true, all...)
		c.link(PeerDown, "A")
		c.up("A") // it is asked again
	}
	require.LessOrEqual(t, c.c.watcher.byID[c.epochOf("geo", "me").cid].known.count, 2*8+64)
}

// One lying anchor of three changes nothing about who is there: it can't speak
// for a member, take one out, put a record or an incarnation in its place, or
// empty the view. It can have a member called suspect, and a node that left
// listed until the epoch ends.
func TestOneLyingAnchorOfThreeChangesNothing(t *testing.T) {
	const honest = "1@D=live 2@E=live"
	forged := func(c *rig, r record) lease { // by a liar that holds the cluster's key
		return signedUnder(c.epochOf("geo", "D"), "A", r)
	}
	for what, lie := range map[string]func(c *rig){
		"forged leases with the largest incarnation": func(c *rig) {
			for m, p := range map[MemberID]string{1: "D", 2: "E"} {
				l := c.lease("geo", p, m, 1)
				c.tells("A", true, forged(c, record{leaseKey: l.leaseKey, incarnation: 1<<64 - 1, addrs: []string{"/ip4/6.6.6.6/tcp/6"}}))
			}
		},
		"a member of another node that never registered": func(c *rig) {
			l := c.lease("geo", "F", 3, 1)
			c.tells("A", true, forged(c, record{leaseKey: l.leaseKey, incarnation: 1}))
		},
		"another record for a member": func(c *rig) {
			l := c.lease("geo", "D", 1, 1)
			c.tells("A", true, forged(c, record{leaseKey: l.leaseKey, incarnation: 1, revision: 1, zone: "far"}))
		},
		"one member's record in another one's lease": func(c *rig) {
			l, other := c.lease("geo", "D", 1, 1), c.lease("geo", "D", 7, 1)
			l.record = other.record
			c.tells("A", true, l)
		},
		"a raised incarnation with the honest signature": func(c *rig) {
			l := c.lease("geo", "D", 1, 1)
			l.incarnation = 2
			c.tells("A", true, l)
		},
		"an empty cluster": func(c *rig) { c.tells("A", true) },
		"an empty cluster, after it told": func(c *rig) {
			c.tells("A", true, c.lease("geo", "D", 1, 1), c.lease("geo", "E", 2, 1))
			c.link(PeerDown, "A")
			c.up("A")
			c.tells("A", true)
		},
	} {
		t.Run(what, func(t *testing.T) {
			for _, first := range []bool{true, false} {
				c := newCaller(t)
				if first {
					lie(c)
				}
				for _, p := range []string{"B", "C"} {
					c.tells(p, true, c.lease("geo", "D", 1, 1), c.lease("geo", "E", 2, 1))
				}
				if !first {
					lie(c)
				}
				require.Equal(t, honest, c.shows())
				for _, m := range c.view.Members {
					require.Equal(t, uint64(1), m.Incarnation)
					require.Equal(t, "z", m.Zone)
					require.Empty(t, m.Addrs)
				}
			}
		})
	}
}

// One anchor that takes a member out makes it suspect; it takes a majority to
// have it gone.
func TestOneLyingAnchorOfThreeRemovesNobody(t *testing.T) {
	c := newCaller(t)
	c.allTell(c.lease("geo", "D", 1, 1))
	gone := leaseRef{leaseKey{testPeer("D"), 1}, 1<<64 - 1}
	c.delta("A", 1, nil, gone)
	require.Equal(t, "1@D=suspect", c.shows())
	c.delta("A", 2, []lease{c.lease("geo", "D", 1, 1)})
	c.delta("A", 3, nil, gone)
	require.Equal(t, "1@D=suspect", c.shows(), "saying it again makes no second vote")
	c.delta("B", 1, nil, leaseRef{leaseKey{testPeer("D"), 1}, 1})
	require.NotContains(t, c.shows(), "1@D")
}

// The last record that a member's node signed is the one that counts, whichever
// anchor still tells an older one, in any order.
func TestTheNewestRecordCounts(t *testing.T) {
	older := record{leaseKey: leaseKey{testPeer("D"), 1}, incarnation: 1, capacity: 1, zone: "older", suspect: true}
	newer := record{leaseKey: older.leaseKey, incarnation: 1, capacity: 1, zone: "newer", revision: 1}
	for _, order := range [][]string{{"A", "B", "C"}, {"C", "B", "A"}, {"B", "A", "C"}} {
		c := newCaller(t)
		for _, p := range order {
			l := c.signed("geo", "D", newer)
			if p == "A" {
				l = c.signed("geo", "D", older)
			}
			c.tells(p, true, l)
		}
		require.Equal(t, "1@D=live", c.shows())
		require.Equal(t, "newer", c.view.Members[0].Zone)
	}
}
