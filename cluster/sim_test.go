// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim"
)

// simNode is a real overlay with real clusters on the simulated network.
type simNode struct {
	name     string
	overlay  *overlay.Overlay
	clusters *cluster.Clusters
	watch    *cluster.Watch
	serves   []string
}

type simNet struct {
	t     *testing.T
	n     *sim.Network
	nodes []*simNode
	last  cluster.MemberID
}

func simKeys(name string) *security.Cluster {
	return security.NewCluster(name, []security.KeyVersion{{Version: 1, Key: security.Key(sha256.Sum256([]byte(name)))}})
}

// start makes node i anew; it finds the network through n0 and n1.
func (s *simNet) start(i int) {
	name := fmt.Sprint("n", i)
	o, err := overlay.New(overlay.Config{Seam: s.n.Seam(name), Seeds: []string{"n0:4001", "n1:4001"}})
	require.NoError(s.t, err)
	c, err := cluster.New(cluster.Config{
		Overlay: cluster.FromOverlay(o), Network: security.NetworkID{1}, Keys: simKeys, Incarnation: s.n.Incarnation(name), Zone: fmt.Sprint("z", i%3),
	})
	require.NoError(s.t, err)
	require.NoError(s.t, c.Start())
	require.NoError(s.t, o.Start(context.Background()))
	for len(s.nodes) <= i {
		s.nodes = append(s.nodes, nil)
	}
	s.nodes[i] = &simNode{name: name, overlay: o, clusters: c}
}

func (s *simNet) stop(i int) {
	require.NoError(s.t, s.nodes[i].clusters.Close())
	require.NoError(s.t, s.nodes[i].overlay.Close())
}

// serve registers a member of "geo" on node i, on a goroutine of its own.
func (s *simNet) serve(i int) {
	s.last++
	m, n := s.last, s.nodes[i]
	n.serves = append(n.serves, m.String())
	s.n.Go(fmt.Sprint("serve", m), func() {
		_ = n.clusters.Register(context.Background(), "geo", cluster.Registration{Member: m, MaxMessage: 1})
	})
}

// seen is what node i sees of "geo".
func (s *simNet) seen(i int) string {
	var out []string
	for _, m := range s.nodes[i].watch.View().Members {
		out = append(out, m.ID.String()+" "+m.State())
	}
	return strings.Join(out, ", ")
}

// truth is what everybody should see.
func (s *simNet) truth(nodes ...int) string {
	var out []string
	for _, i := range nodes {
		for _, m := range s.nodes[i].serves {
			out = append(out, m+" live")
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// The real thing, on a simulated network, replays event by event: nodes join,
// crash, restart, fall silent and are cut off, and in the end every caller
// sees who is there.
func TestClustersReplayAndConverge(t *testing.T) {
	const count = 10
	all := make([]int, count)
	for i := range all {
		all[i] = i
	}
	story := func(t *testing.T, n *sim.Network) {
		s := &simNet{t: t, n: n}
		defer func() {
			for i := range s.nodes {
				s.stop(i)
			}
		}()
		for i := range count {
			s.start(i)
		}
		n.Run(2 * time.Second)
		for _, i := range []int{2, 4, 6, 8} {
			s.serve(i)
		}
		for i := range count {
			s.nodes[i].watch = s.nodes[i].clusters.Watch("geo")
		}
		n.Run(4 * time.Second)
		for i := range count {
			require.Equal(t, s.truth(all...), s.seen(i), i)
		}

		n.Crash("n4")
		s.stop(4)
		n.Run(4*time.Second + 500*time.Millisecond)
		s.nodes[4].serves = nil
		for i := range count {
			if i != 4 {
				require.Equal(t, s.truth(all...), s.seen(i), "half a second after a crash, at %d", i)
			}
		}
		s.start(4)
		s.serve(4)
		s.nodes[4].watch = s.nodes[4].clusters.Watch("geo")

		n.Run(8 * time.Second)
		n.Partition([]string{"n6", "n7", "n8"}, []string{"n0", "n1", "n2", "n3", "n4", "n5", "n9"})
		n.Run(8*time.Second + 1800*time.Millisecond)
		require.NotContains(t, s.seen(0), s.nodes[6].serves[0]+" live", "silent: out of rotation within 1.8 s")
		n.Run(30 * time.Second) // silence 10 s, a dial that hangs 5 s, the word of dead anchors 3 s
		require.Equal(t, s.truth(0, 1, 2, 3, 4, 5, 9), s.seen(0))
		require.Equal(t, s.truth(6, 7, 8), s.seen(7))
		n.Heal()
		n.Run(60 * time.Second)
		for i := range count {
			require.Equal(t, s.truth(all...), s.seen(i), "healed, at %d", i)
			n.Note("seen", s.seen(i))
		}
	}
	trace := sim.Replay(t, sim.Config{Seed: 11}, 2, story)
	t.Logf("%d events, hash %016x", trace.Events, trace.Hash)
}
