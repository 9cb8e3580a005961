// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
)

// mourner counts what it is told of a publisher that is lost.
type mourner struct {
	mu   sync.Mutex
	told int
}

func (m *mourner) ServePublication(patterns.Publication) {}

func (m *mourner) ServeGap(g patterns.Gap) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g.Reason == patterns.GapPublisher && g.Missed == 0 && !g.Exact {
		m.told++
	}
}

func TestThePublishersDeathIsToldOnce(t *testing.T) {
	// This test crashes a node that publishes: who hears it directly, behind a
	// forwarder, or as a node of the root group, is told once that nobody knows
	// what else there was. One that says goodbye, or has been silent for long, is
	// not missed.
	for name, c := range map[string]struct {
		audience int
		pattern  string
		silent   time.Duration
		leaves   bool
		told     int
	}{
		"direct":            {audience: 3, pattern: "news.>", told: 1},
		"through a tree":    {audience: 24, pattern: "news.>", told: 1},
		"root group":        {audience: 6, pattern: ">", told: 1},
		"silent":            {audience: 3, pattern: "news.>", silent: 40 * time.Second},
		"said goodbye":      {audience: 3, pattern: "news.>", leaves: true},
		"tree, and goodbye": {audience: 24, pattern: "news.>", leaves: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim.Run(t, sim.Config{Seed: 1}, func(t *testing.T, n *sim.Network) {
				h := newHall(t, n, c.audience)
				all := make([]*mourner, c.audience)
				for i := range all {
					all[i] = &mourner{}
					_, err := h.nodes[i+1].Subscribe(t.Context(), c.pattern, all[i], patterns.SubscribeOptions{})
					require.NoError(t, err)
				}
				time.Sleep(3 * time.Second)
				h.publish("news.world", 0, 20, 100, 20*time.Millisecond)
				time.Sleep(c.silent)
				if c.leaves {
					require.NoError(t, h.nodes[0].Shutdown(context.Background()))
				} else {
					h.crash(0)
				}
				time.Sleep(30 * time.Second)
				for i, m := range all {
					m.mu.Lock()
					require.Equal(t, c.told, m.told, "node %d", i+1)
					m.mu.Unlock()
				}
			})
		})
	}
}
