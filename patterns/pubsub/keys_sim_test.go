// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
)

// keyed is a listener under the keys that node i has been brought.
func (h *hall) keyed(i int, set *wire.LeafKeys, pattern string) (s *ear, release func()) {
	h.t.Helper()
	_, release, err := h.nodes[i].Bring(set)
	require.NoError(h.t, err)
	s = &ear{at: h.n.Elapsed}
	s.sub, err = h.nodes[i].Subscribe(h.t.Context(), pattern, s, patterns.SubscribeOptions{Keys: node.KeySetID(set)})
	require.NoError(h.t, err)
	return s, release
}

func secret(b byte) (key wire.Secret) {
	for i := range key {
		key[i] = b
	}
	return key
}

func TestATreeUnderKeysThatWereBrought(t *testing.T) {
	// This test publishes to more nodes than one sends to itself, under keys that were
	// brought to each, while the key that seals changes at its time and a node of the tree
	// dies. Each hears everything in order or is told what it missed. Listeners on the
	// same nodes under another key for the same topics, and under none, hear nothing and
	// are told of nothing.
	t.Parallel()
	sim.Run(t, sim.Config{Seed: 1}, func(t *testing.T, n *sim.Network) {
		const listeners = 30
		h := newHall(t, n, listeners)
		change := time.Now().Add(30 * time.Second).Truncate(time.Second)
		set := &wire.LeafKeys{Cluster: "topic:news", Keys: []wire.LeafKey{
			{Version: 1, Key: secret(1), NotAfter: uint64(change.Unix())},
			{Version: 2, Key: secret(2), NotBefore: uint64(change.Add(-time.Minute).Unix())},
		}}
		other := &wire.LeafKeys{Cluster: "topic:news", Keys: []wire.LeafKey{{Version: 1, Key: secret(3)}}}
		_, release, err := h.nodes[0].Bring(set)
		require.NoError(t, err)
		defer release()
		var strangers []*ear
		var mu sync.Mutex
		h.each("subscribe", 1, listeners, func(i int) {
			s, _ := h.keyed(i, set, "news.>")
			h.ears[i] = s
			if i%10 == 0 {
				s, _ := h.keyed(i, other, "news.>")
				mu.Lock()
				strangers = append(strangers, s)
				mu.Unlock()
			}
		})()
		open := &ear{at: n.Elapsed}
		_, err = h.nodes[1].Subscribe(t.Context(), "news.>", open, patterns.SubscribeOptions{})
		require.NoError(t, err)
		_, err = h.nodes[2].Subscribe(t.Context(), ">", open, patterns.SubscribeOptions{})
		require.NoError(t, err)
		time.Sleep(time.Second)

		const count = 600
		for i := range count {
			tail := wire.AppendTail(nil, nil, h.numbered(i, 16).Body)
			err := h.nodes[0].PublishTail(t.Context(), "news.world", tail, patterns.PublishOptions{Keys: node.KeySetID(set)})
			require.NoError(t, err)
			time.Sleep(100 * time.Millisecond)
			if i == count/2-count/20 { // with the change of the key, about
				h.crash(7)
			}
		}
		time.Sleep(20 * time.Second)
		require.True(t, time.Now().After(change))
		delivered, reported, _ := h.check(count)
		t.Logf("delivered %d, reported %d", delivered, reported)
		require.Greater(t, delivered, uint64(count*(listeners-1)*9/10))
		for _, s := range append(strangers, open) {
			require.Zero(t, s.delivered+s.reported)
		}
		require.Len(t, strangers, listeners/10)
		require.NotZero(t, h.nodes[0].Status().Topics.Trees)
		for i, node := range h.nodes[1:] {
			if !h.ears[i+1].isDead() {
				require.Zero(t, node.Status().Drops["pubsub.unauthorized"], i)
			}
		}
	})
}
