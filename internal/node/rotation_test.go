// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// rotate returns keys as after `arke key rotate`.
func rotate(t *testing.T, keys []security.KeyVersion, overlap time.Duration) []security.KeyVersion {
	t.Helper()
	keys, err := security.RotateKeys(keys, time.Now(), overlap, rand.Reader)
	require.NoError(t, err)
	return keys
}

func TestThreeRotationsOfEachKindLoseNothing(t *testing.T) {
	// This test has four callers send requests to a cluster with derived keys and to one
	// with keys of its own, and four tunnels echo, while network and cluster keys are
	// rotated three times, node by node, and the old ones taken out at last. No request
	// is lost, no tunnel reset, and all nodes have the last key only.
	vault := []security.KeyVersion{{Version: 1, Key: security.Key{1}}}
	network := newNetwork(t)
	own := func(c *node.Config) { c.ClusterKeys = map[string][]security.KeyVersion{"vault": vault} }
	var nodes []*node.Node
	for range 3 {
		nodes = append(nodes, start(t, network, own, nodes...))
	}
	back := patterns.Service{Request: echo, Tunnel: echoTunnel}
	for _, name := range []string{"plain", "vault"} {
		serve(t, nodes[0], name, back, patterns.Limits{})
		serve(t, nodes[1], name, back, patterns.Limits{})
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var requests, chunks atomic.Int64
	caller := nodes[2]
	for _, name := range []string{"plain", "vault"} {
		_, err := caller.Request(t.Context(), name, patterns.Message{}, patterns.WaitForMember())
		require.NoError(t, err)
		for range 2 {
			exchange(ctx, t, &wg, caller, name, &requests, &chunks)
		}
	}
	bring := func() {
		for _, n := range nodes {
			require.NoError(t, n.SetKeys(node.Keys{Network: network, Clusters: map[string][]security.KeyVersion{"vault": slices.Clone(vault)}}))
			after(t, 20, &requests)
			after(t, 20, &chunks)
		}
	}
	for range 3 {
		network.Keys, vault = rotate(t, network.Keys, time.Hour), rotate(t, vault, time.Hour)
		bring()
	}
	time.Sleep(time.Second)
	last := func(keys []security.KeyVersion) []security.KeyVersion { return keys[len(keys)-1:] }
	network.Keys, vault = last(network.Keys), last(vault)
	bring()
	after(t, 200, &requests)
	after(t, 200, &chunks)
	stop()
	wg.Wait()
	for _, n := range nodes {
		for _, l := range n.Status().Links {
			require.Equal(t, "up", l.State)
		}
	}
	t.Logf("%d requests, %d chunks", requests.Load(), chunks.Load())
}

func TestABanReachesEverybodyAndAnOldKeyOpensNothing(t *testing.T) {
	// This test is the exclusion drill. A node that serves and calls is banned at one
	// other: within 5 s none has a link with it, none finds its member, and it is
	// answered nothing. It comes back under another id, until the key is rotated: then it
	// can't dial, be dialled, be found, or find anybody.
	network := newNetwork(t)
	var honest []*node.Node
	for range 4 {
		honest = append(honest, start(t, network, nil, honest...))
	}
	mallory := start(t, network, nil, honest...)
	serve(t, honest[0], "echo", echo, patterns.Limits{})
	serve(t, mallory, "trap", echo, patterns.Limits{})
	for _, n := range honest { // a machine may be busy for longer than a deadline
		until(t, func() bool { return ask(t, n, "trap") == nil })
	}
	until(t, func() bool { return ask(t, mallory, "echo") == nil })

	banned := banning(network, mallory.Self())
	began := time.Now()
	give(t, banned, honest[3])
	for _, n := range honest {
		for hasLink(n, mallory) {
			require.Less(t, time.Since(began), 5*time.Second)
			time.Sleep(time.Millisecond)
		}
	}
	t.Logf("cut off after %v", time.Since(began))
	for _, n := range honest {
		until(t, func() bool {
			_, err := n.Request(t.Context(), "trap", patterns.Message{})
			return err != nil
		})
	}
	refused(t, mallory, "echo")

	// A ban of a peer id is what it is: a new id comes in with the old file.
	again := start(t, network, nil, honest...)
	until(t, func() bool { return ask(t, again, "echo") == nil })
	serve(t, again, "trap", echo, patterns.Limits{})

	banned.Keys = rotate(t, banned.Keys, 0)
	give(t, banned, honest...)
	for _, n := range honest {
		until(t, func() bool { return !hasLink(n, again) })
		until(t, func() bool {
			_, err := n.Request(t.Context(), "trap", patterns.Message{})
			return err != nil
		})
		until(t, func() bool { return ask(t, n, "echo") == nil })
	}
	refused(t, again, "echo")
	third := start(t, network, nil, honest...)
	refused(t, third, "echo")
	require.False(t, slices.ContainsFunc(honest, func(n *node.Node) bool { return hasLink(n, third) || hasLink(n, mallory) }))
}

// hasLink says whether n has a link with the other.
func hasLink(n, other *node.Node) bool {
	for _, l := range n.Status().Links {
		if l.Peer == other.Self().String() && l.State != "opening" {
			return true
		}
	}
	return false
}

// refused checks that a request finds nobody, or nobody who answers.
func refused(t *testing.T, n *node.Node, cluster string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	_, err := n.Request(ctx, cluster, patterns.Message{})
	require.Error(t, err)
}

func TestABanThatComesWithANewKeyReachesThoseWithoutIt(t *testing.T) {
	// This test gives one node a file with a ban and a new key: who has only the old key
	// heeds the ban, too.
	network := newNetwork(t)
	a := start(t, network, nil)
	b := start(t, network, nil, a)
	mallory := start(t, network, nil, a, b)
	for _, n := range []*node.Node{a, b} {
		serve(t, n, n.Self().String(), echo, patterns.Limits{})
		_, err := mallory.Request(t.Context(), n.Self().String(), patterns.Message{}, patterns.WaitForMember())
		require.NoError(t, err)
	}
	changed := banning(network, mallory.Self())
	changed.Keys = rotate(t, network.Keys, time.Hour)
	give(t, changed, a)
	until(t, func() bool { return !hasLink(a, mallory) && !hasLink(b, mallory) })
}

func TestABanEndsWhenNoFileHasItAnyMore(t *testing.T) {
	// This test bans a node in two files, and takes the ban out of one after the other:
	// the first tells everybody, but the second one's own file still counts there.
	network := newNetwork(t)
	a := start(t, network, nil)
	b := start(t, network, nil, a)
	guest := start(t, network, nil, a, b)
	serve(t, a, "at a", echo, patterns.Limits{})
	serve(t, b, "at b", echo, patterns.Limits{})
	answers := func(cluster string) func() bool {
		return func() bool { return ask(t, guest, cluster) == nil }
	}
	until(t, answers("at a"))
	until(t, answers("at b"))
	give(t, banning(network, guest.Self()), a, b)
	until(t, func() bool { return !hasLink(a, guest) && !hasLink(b, guest) })
	give(t, network, b)
	until(t, answers("at b"))
	require.False(t, hasLink(a, guest))
	give(t, network, a)
	until(t, answers("at a"))
}

func TestKeysChangeWhereNobodyCanBeToldOfBans(t *testing.T) {
	// This test fills the statements about bans, as whoever has a key can. A file with
	// more is taken all the same: its keys count, and its bans do here.
	network := newNetwork(t)
	n := start(t, network, nil)
	peers := func() (all []peer.ID) {
		for range security.MaxBans {
			k, err := security.GenerateNodeKey(rand.Reader)
			require.NoError(t, err)
			all = append(all, k.PeerID())
		}
		return all
	}
	give(t, banning(network, peers()...), n)
	again := network
	again.Keys = rotate(t, network.Keys, 0)
	guest := start(t, again, nil, n)
	again.Bans = append(peers()[1:], guest.Self())
	give(t, again, n)
	refused(t, guest, "echo")
	require.False(t, hasLink(n, guest))
}

// TestABanEndsWithTheKeyThatProvesIt proves that what a holder of a key has said ends with
// that key, where no file has it, and that what a file has stays everywhere.
func TestABanEndsWithTheKeyThatProvesIt(t *testing.T) {
	network := newNetwork(t)
	a := start(t, network, nil)
	b := start(t, network, nil, a)
	bad, good := start(t, network, nil, a, b), start(t, network, nil, a, b)
	mallory := start(t, network, nil, a, b) // has the key, and bans whom it likes
	for _, n := range []*node.Node{a, b} {
		serve(t, n, n.Self().String(), echo, patterns.Limits{})
		for _, from := range []*node.Node{bad, good, mallory} {
			_, err := from.Request(t.Context(), n.Self().String(), patterns.Message{}, patterns.WaitForMember())
			require.NoError(t, err)
		}
	}
	give(t, banning(network, good.Self()), mallory)
	listed := banning(network, bad.Self(), mallory.Self())
	until(t, func() bool { return !hasLink(a, good) && !hasLink(b, good) })
	give(t, listed, a)
	until(t, func() bool { return !hasLink(b, bad) && !hasLink(b, mallory) })

	next := network
	next.Keys = rotate(t, network.Keys, 0)
	give(t, next, b) // its file has no bans
	listed.Keys = next.Keys
	give(t, listed, a)
	give(t, next, good)
	for _, n := range []*node.Node{a, b} {
		until(t, func() bool { return ask(t, good, n.Self().String()) == nil })
	}
	give(t, next, bad)
	until(t, func() bool { return !hasLink(b, bad) })
	refused(t, bad, b.Self().String())
}
