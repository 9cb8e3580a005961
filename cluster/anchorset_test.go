// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// anchors returns who anchors name, as far as me knows.
func (g *rig) anchors(name string) string {
	return g.peers(g.c.finder.sets.get(g.epochOf(name, "me").cid).anchors)
}

// looksFor begins to watch name, so that its ring is in use.
func (g *rig) looksFor(name string) []string { return g.do(watchEvent{name, newPool()}) }

// The three closest peers of the routing table anchor a cluster, this node
// among them.
func TestClosestPeersAreAnchors(t *testing.T) {
	g := newRig(t, "me", "A", "B", "C", "D")
	near := g.nearest("geo", "me", "A", "B", "C", "D")
	g.looksFor("geo")
	require.Equal(t, near[0]+" "+near[1]+" "+near[2], g.anchors("geo"))
}

// A peer that can't be dialled is replaced by the next one, and dialled in the
// background, so that it comes back.
func TestUnreachablePeerIsReplacedUntilItIsBack(t *testing.T) {
	g := newRig(t, "A", "B", "C", "D")
	near := g.nearest("geo", "A", "B", "C", "D")
	g.looksFor("geo")
	g.link(PeerDialFailed, near[0])
	require.Equal(t, near[1]+" "+near[2]+" "+near[3], g.anchors("geo"))
	require.Contains(t, g.after(time.Second), "open "+near[0])
	g.up(near[0])
	require.Equal(t, near[0]+" "+near[1]+" "+near[2], g.anchors("geo"))
}

// A peer that has failed for long is dialled at once when the routing table
// has it again: after a partition the pauses between dials are long.
func TestWhoIsBackInTheTableIsDialledAtOnce(t *testing.T) {
	g := newRig(t, "A", "B", "C", "D")
	near := g.nearest("geo", "A", "B", "C", "D")
	g.looksFor("geo")
	g.do(lookedUpEvent{g.epochOf("geo", "me").cid, []peer.ID{testPeer(near[0])}}) // so that it stays wanted
	for range 8 {
		g.link(PeerDialFailed, near[0])
		g.after(dialLongest)
	}
	g.link(PeerDialFailed, near[0])
	g.table = near[1:]
	g.do(tableEvent{})
	require.NotContains(t, g.after(dialFirst), "open "+near[0])
	g.table = near
	require.Contains(t, g.do(tableEvent{}), "open "+near[0])
}

// Whom others name is dialled, and counts once its link is up, not before:
// hearsay is not passed on.
func TestHearsayCountsOnceThereIsALink(t *testing.T) {
	g := newRig(t, "A", "B", "C", "D")
	near := g.nearest("geo", "A", "B", "C", "D")
	g.table = near[1:]
	g.looksFor("geo")
	g.up(near[1])
	before := g.anchors("geo")
	cid := g.epochOf("geo", "me").cid
	got := g.from(near[1], &hintMsg{cid: cid, anchors: []peer.ID{testPeer(near[0])}})
	require.Contains(t, got, "open "+near[0])
	require.Equal(t, before, g.anchors("geo"))
	g.up(near[0])
	require.Equal(t, near[0]+" "+near[1]+" "+near[2], g.anchors("geo"))
	g.link(PeerDown, near[0])
	require.Equal(t, before, g.anchors("geo"))
}

// The network is asked at once, again soon after a change nearby, and from time
// to time: after a second or two, less and less often while nothing new is
// found, in the end every 15 to 30 seconds; never twice at a time, and not while
// nobody needs to know.
func TestLookupsArePlannedWithJitter(t *testing.T) {
	g := newRig(t, "A", "B", "C")
	cid := g.epochOf("geo", "me").cid
	require.Contains(t, g.looksFor("geo"), "lookup")
	g.table = append(g.table, "D")
	g.do(tableEvent{})
	require.Empty(t, only("lookup", g.after(time.Minute)), "one is under way")
	g.do(lookedUpEvent{cid, nil})
	for _, wait := range []time.Duration{1, 2, 4, 8, 15, 15, 15} {
		require.Empty(t, only("lookup", g.after(wait*time.Second-1)))
		require.Len(t, only("lookup", g.after(wait*time.Second+1)), 1)
		g.do(lookedUpEvent{cid, nil})
	}
	g.after(recheckFirst + recheckSpread)
	g.do(lookedUpEvent{cid, []peer.ID{testPeer("A"), testPeer("D")}})
	require.Len(t, only("lookup", g.after(2*recheckSoon)), 1, "news: there may be more")
	g.do(lookedUpEvent{cid, []peer.ID{testPeer("A"), testPeer("D")}})
	g.table = append(g.table, "E")
	g.do(tableEvent{})
	require.Len(t, only("lookup", g.after(lookupDelay)), 1)
	g.do(lookedUpEvent{cid, nil})
	g.do(forgetEvent{"geo"})
	require.Empty(t, only("lookup", g.after(10*time.Minute)))
	require.Empty(t, g.c.finder.sets)
}

// What a lookup finds counts although our own table does not know it; an empty
// result replaces nothing.
func TestLookupsFindWhomTheTableDoesNotKnow(t *testing.T) {
	g := newRig(t, "A", "B", "C", "D")
	near := g.nearest("geo", "A", "B", "C", "D")
	g.table = near[2:]
	g.looksFor("geo")
	cid := g.epochOf("geo", "me").cid
	g.do(lookedUpEvent{cid, []peer.ID{testPeer(near[0]), testPeer(near[1])}})
	require.Equal(t, near[0]+" "+near[1]+" "+near[2], g.anchors("geo"))
	g.up(near...)
	g.after(recheckFirst + recheckSpread)
	g.do(lookedUpEvent{cid, nil})
	require.Equal(t, near[0]+" "+near[1]+" "+near[2], g.anchors("geo"))
}

// Distances are those of the seam: XOR of SHA-256 hashes.
func TestDistanceOrderIsIndependentOfTheInput(t *testing.T) {
	cid := testKeys("geo").Epochs(time.Unix(0, 0))[0].ID()
	var all []peer.ID
	for i := range 20 {
		all = append(all, testPeer(string(rune('a'+i))))
	}
	want := byDistance(cid, append([]peer.ID(nil), all...))
	require.Len(t, want, 20)
	for range 10 {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		require.Equal(t, want, byDistance(cid, append(append([]peer.ID(nil), all...), all[:5]...)), "repetitions vanish")
	}
}

// This test checks that peers in the order of their places are found by distance as
// sorting all of them finds them.
func TestNeighboursComeByDistance(t *testing.T) {
	var all []peer.ID
	var n neighbours
	for i := range 200 {
		p := testPeer(fmt.Sprint(i))
		all = append(all, p)
		n.add(placed{p, placeOfPeer(p)})
		n.add(placed{p, placeOfPeer(p)})
	}
	for i := range 100 {
		n.remove(placeOfPeer(all[i]))
		n.remove(placeOfPeer(all[i]))
	}
	for i := range 50 {
		cid := security.ClusterID{byte(i)}
		require.Equal(t, byDistance(cid, slices.Clone(all[100:])), slices.Collect(n.near(placeOfID(cid))))
	}
}

// This test checks that a node with many clusters asks the network no more often than
// one with few: at rest twice a second.
func TestLookupsAtRestDoNotGrowWithClusters(t *testing.T) {
	const clusters, span = 300, 20 * time.Minute
	g := newRig(t, "A", "B", "C", "D")
	g.up("A", "B", "C", "D")
	lookups := 0
	for end, i := g.now.Add(2*span), 0; g.now.Before(end); {
		if i < clusters {
			g.c.step(g.now, watchEvent{fmt.Sprint("cluster", i), newPool()})
			i++
		}
		for _, a := range g.c.finish(g.now) {
			if a, ok := a.(lookupAction); ok {
				g.c.step(g.now, lookedUpEvent{a.cid, g.c.finder.nearest(overlay.Key(a.cid), nearestCount)})
				if end.Sub(g.now) <= span {
					lookups++
				}
			}
		}
		g.now = g.now.Add(time.Second)
	}
	require.GreaterOrEqual(t, len(g.c.finder.sets), clusters)
	most := int(span / recheckEach)
	require.LessOrEqual(t, lookups, most)
	require.Greater(t, lookups, most/3, "but each neighbourhood is looked at again")
}

// This test checks that a lookup serves all neighbourhoods: whom it finds is asked
// for where it would be an anchor, although that one's own lookup is far off.
func TestALookupServesAllNeighbourhoods(t *testing.T) {
	g := newRig(t, "A", "B", "C")
	g.up("A", "B", "C")
	name := ""
	for i := 0; name == ""; i++ { // one that D is closer to than C
		n := fmt.Sprint("cluster", i)
		if len(testKeys(n).Epochs(g.now)) == 1 && g.nearest(n, "A", "B", "C", "D")[3] != "D" {
			name = n
		}
	}
	g.do(watchEvent{name, newPool()}, watchEvent{"geo", newPool()})
	g.c.finder.seekers = 10_000 // as if there were so many
	for _, n := range []string{name, "geo"} {
		g.do(lookedUpEvent{g.epochOf(n, "me").cid, []peer.ID{testPeer("A"), testPeer("B"), testPeer("C")}})
	}
	require.Empty(t, only("lookup", g.after(time.Minute)), "nothing is due")
	g.do(lookedUpEvent{g.epochOf("geo", "me").cid, []peer.ID{testPeer("D"), testPeer("A")}})
	require.NotEmpty(t, only("lookup", g.after(recheckFirst)))
}
