// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
)

// settle waits until every node knows every other one. It looks seldom: looking
// takes processor time from those who shake hands.
func settle(t testing.TB, nodes ...*node) {
	t.Helper()
	for _, n := range nodes {
		require.Eventually(t, func() bool { return n.Router().Size() >= len(nodes)-1 }, waitLimit, 20*time.Millisecond,
			"a table did not fill")
	}
}

// byDistance is the plain definition of who is closest.
func byDistance(key overlay.Key, nodes []*node) []peer.ID {
	distance := func(p peer.ID) []byte {
		a, b := sha256.Sum256(key[:]), sha256.Sum256([]byte(p))
		for i := range a {
			a[i] ^= b[i]
		}
		return a[:]
	}
	var ids []peer.ID
	for _, n := range nodes {
		ids = append(ids, n.Self())
	}
	slices.SortFunc(ids, func(a, b peer.ID) int { return bytes.Compare(distance(a), distance(b)) })
	return ids
}

// This test checks that a node that knows nobody is the answer to everything,
// without an error and at once.
func TestLonelyNodeIsClosestToEverything(t *testing.T) {
	n := start(t, p2p.NewNetwork(t))
	got, err := n.Router().Closest(context.Background(), overlay.Key{7}, 3)
	require.NoError(t, err)
	require.Equal(t, []peer.ID{n.Self()}, got)
	require.Equal(t, got, n.Router().Nearest(overlay.Key{7}, 3))
	require.Zero(t, n.Router().Size())
	require.Empty(t, n.Router().Nearest(overlay.Key{7}, 0))
}

// This test checks that in networks of two and three everybody counts,
// nearest first, and that the count asked for is kept.
func TestSmallNetworksKnowEachOther(t *testing.T) {
	network := p2p.NewNetwork(t)
	nodes := []*node{start(t, network)}
	for range 2 {
		n := start(t, network)
		connect(t, n, nodes[0])
		nodes = append(nodes, n)
		settle(t, nodes...)
		for _, each := range nodes {
			for k := range len(nodes) + 2 {
				want := byDistance(overlay.Key{1}, nodes)[:min(k, len(nodes))]
				require.ElementsMatch(t, want, each.Router().Nearest(overlay.Key{1}, k))
				got, err := each.Router().Closest(within(t), overlay.Key{1}, k)
				require.NoError(t, err)
				require.Equal(t, want, append([]peer.ID{}, got...))
			}
		}
	}
}

// This test checks that twelve nodes that joined through one seed agree about
// who is closest to any key, by their tables and by asking.
func TestTwelveNodesAgreeOnTheClosest(t *testing.T) {
	network := p2p.NewNetwork(t)
	nodes := []*node{start(t, network, patient)}
	for range 11 {
		n := start(t, network, patient)
		_, err := n.Connect(within(t), nodes[0].candidate())
		require.NoError(t, err)
		nodes = append(nodes, n)
	}
	settle(t, nodes...)
	for i := range byte(5) {
		want := byDistance(overlay.Key{i}, nodes)[:3]
		for _, n := range nodes {
			require.Equal(t, want, n.Router().Nearest(overlay.Key{i}, 3))
			got, err := n.Router().Closest(within(t), overlay.Key{i}, 3)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
}

// This test checks that a peer that is gone leaves the table at once, and that
// both coming and going are reported.
func TestDeadPeerLeavesTheTableAtOnce(t *testing.T) {
	network := p2p.NewNetwork(t)
	a, b := prepare(t, network), start(t, network)
	var changes atomic.Int32
	a.Router().OnChange(func() { changes.Add(1) })
	require.NoError(t, a.Start(a))
	connect(t, a, b)
	settle(t, a, b)
	require.Eventually(t, func() bool { return changes.Load() >= 1 }, waitLimit, time.Millisecond)
	seen := changes.Load()
	require.NoError(t, b.Close())
	a.want(false, b.Self())
	require.Zero(t, a.Router().Size(), "still in the table when its end is reported")
	require.Eventually(t, func() bool { return changes.Load() > seen }, waitLimit, time.Millisecond)
}

// This test checks that two groups that meet through one connection find all
// of each other.
func TestGroupsThatMeetMerge(t *testing.T) {
	network := p2p.NewNetwork(t)
	var groups [2][]*node
	for i := range groups {
		for j := range 4 {
			n := start(t, network)
			if j > 0 {
				_, err := n.Connect(within(t), groups[i][0].candidate())
				require.NoError(t, err)
			}
			groups[i] = append(groups[i], n)
		}
		settle(t, groups[i]...)
	}
	_, err := groups[0][1].Connect(within(t), groups[1][2].candidate())
	require.NoError(t, err)
	settle(t, slices.Concat(groups[0], groups[1])...)
}

// This test checks that two nodes that connect to a third one at the same
// moment, when it can't tell either of the other yet, find each other soon.
func TestNodesThatMeetAtAThirdFindEachOther(t *testing.T) {
	network := p2p.NewNetwork(t)
	for range 10 {
		hub, a, b := start(t, network), start(t, network), start(t, network)
		var wg sync.WaitGroup
		for _, n := range []*node{a, b} {
			wg.Go(func() {
				if _, err := hub.Connect(within(t), n.candidate()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		settle(t, hub, a, b)
		for _, n := range []*node{hub, a, b} {
			require.NoError(t, n.Close())
		}
	}
}

// This test checks that a peer that hangs delays a lookup by little, and that
// the lookup ends with its context.
func TestHungPeerDoesNotHoldUpLookups(t *testing.T) {
	network := p2p.NewNetwork(t)
	a, b, hung := start(t, network), start(t, network), start(t, network)
	connect(t, a, b)
	gate := newGate(t, hung.Addrs()[0])
	_, err := a.Connect(within(t), overlay.Candidate{Peer: hung.Self(), Addrs: []string{gate.addr}})
	require.NoError(t, err)
	settle(t, a, hung)
	require.Eventually(t, func() bool { return a.Router().Size() == 2 }, waitLimit, time.Millisecond)
	gate.pause()

	begun := time.Now()
	got, err := a.Router().Closest(within(t), overlay.Key{9}, 3)
	require.NoError(t, err)
	require.Len(t, got, 3, "it is still connected, so it still counts")
	require.Less(t, time.Since(begun), 5*time.Second, "kad-dht's own lookup takes 10 s or more")

	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	got, err = a.Router().Closest(ctx, overlay.Key{9}, 3)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Len(t, got, 3, "the partial result")
}
