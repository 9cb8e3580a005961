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

// fullest is how many leases the fullest book of all nodes has, and how many the node that has most.
func (w *world) fullest() (book, node int) {
	for _, n := range w.nodes {
		node = max(node, n.c.anchor.leases)
		for _, b := range n.c.anchor.books {
			book = max(book, len(b.leases))
		}
	}
	return book, node
}

// This test checks a cluster of 5,000 members from its beginning to its end: no anchor holds more
// of it than the limits say, all members are acknowledged, a caller knows all of them, also
// when nearly all leave at once, and in the end that there is none. Then nothing of the
// shards is left.
func TestFiveThousandMembersAreSharded(t *testing.T) {
	const nodes, members = 20, 5000
	w := newWorld(t, 1, nodes)
	w.batches = true
	for _, n := range w.nodes {
		w.start(n)
	}
	w.run(3 * time.Second)
	w.now = testKeys("geo").NextChange(w.now).Add(time.Hour) // an epoch ends in the middle of nothing
	w.run(time.Minute)
	early, late := w.nodes[3], w.nodes[4]
	limits := usualShards()
	most := limits.whole + shardCount*limits.most
	id := func(i int) MemberID { return MemberID(mix(uint64(i))) }
	highest := 0
	for i := 0; i < members; i += 500 {
		for j := range 500 {
			w.nodes[(i+j)%nodes].register("geo", id(i+j))
			if i+j == 250 {
				early.watch("geo")
			}
		}
		w.run(time.Second)
		book, _ := w.fullest()
		highest = max(highest, book)
	}
	w.run(20 * time.Second)
	late.watch("geo")
	w.run(5 * time.Second)
	book, node := w.fullest()
	t.Logf("%d leases of one id at most at an anchor, %d at the end; %d in all at a node; %d ids", highest, book, node, len(late.c.watcher.byID))
	require.LessOrEqual(t, highest, most)
	require.LessOrEqual(t, book, limits.whole)
	for _, n := range w.nodes {
		for m := range n.members {
			require.Contains(t, n.acked, m)
			require.NoError(t, n.acked[m])
		}
	}
	for _, n := range []*worldNode{early, late} {
		v := n.views["geo"]
		require.Equal(t, n.truth("geo"), n.seen("geo"))
		require.True(t, v.Known && v.Complete)
		require.Len(t, v.tiers[0].one, subsetSize)
	}

	// All but twenty leave at once.
	for i := range members {
		if i%250 != 0 {
			w.nodes[i%nodes].unregister(id(i))
		}
		if i%500 == 0 {
			w.settle()
		}
	}
	for range 60 {
		w.run(time.Second)
		require.Subset(t, late.seen("geo"), late.truth("geo"), "nobody is lost meanwhile")
	}
	for _, n := range []*worldNode{early, late} {
		require.Equal(t, n.truth("geo"), n.seen("geo"))
		require.Len(t, n.c.watcher.byID, 1, "the cluster is whole again")
	}
	for i := 0; i < members; i += 250 {
		w.nodes[i%nodes].unregister(id(i))
	}
	w.run(5 * time.Second)
	require.True(t, late.views["geo"].Empty)
}

// This test checks what a caller makes of 5,000 members, each on a node of its own: it
// knows all, and keeps links to 64.
func TestACallerOfFiveThousandNodesKeepsLinksToFew(t *testing.T) {
	const nodes = 5000
	c := newCaller(t)
	root := c.c.epochs.of("geo")[0]
	leases := make(map[*epoch][]lease)
	for i := range nodes {
		p := fmt.Sprint("node", i)
		c.names[testPeer(p)] = p
		k := leaseKey{testPeer(p), MemberID(i + 1)}
		x := root.shard(c.c.base, shardOf(root.cid, k))
		x = x.shard(c.c.base, shardOf(x.cid, k))
		leases[x] = append(leases[x], signedUnder(x, p, record{leaseKey: k, incarnation: 1, zone: "z", capacity: 1}))
	}
	require.Len(t, leases, shardCount*shardCount)
	tells := func(x *epoch, sharded bool) {
		s := c.c.watcher.byID[x.cid]
		require.NotNil(t, s)
		all := parts(leases[x])
		for i, part := range all {
			m := &snapshotMsg{cid: x.cid, seq: s.at(testPeer("A")).seq, leases: part, more: i < len(all)-1, settled: true, sharded: sharded}
			body, err := encode(m)
			require.NoError(t, err)
			require.LessOrEqual(t, len(body), wire.MaxPayload)
			c.from("A", m)
		}
	}
	tells(root, true)
	for _, x := range slices.Clone(root.shards.below[:]) {
		tells(x, true)
		for _, y := range x.shards.below {
			tells(y, false)
		}
	}
	v := c.c.watcher.names["geo"].view
	require.Len(t, v.Members, nodes)
	require.False(t, v.Complete, "one anchor of each id is no majority")
	require.Len(t, v.tiers[0].one, subsetSize)
	require.Len(t, c.c.watcher.names["geo"].dialled, subsetSize)
}
