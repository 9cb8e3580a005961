// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim"
)

func TestWhatAPublisherLostWhileItStoodStillIsTold(t *testing.T) {
	// This test publishes what can't leave any more, and stops the publisher for so long
	// that its sessions end: whoever listens is told of that before the next message. Directly,
	// through a tree, and through the root group; and for longer than an idle publisher
	// keeps a group.
	for name, c := range map[string]struct {
		audience int
		pattern  string
	}{
		"direct":     {3, "news.>"},
		"tree":       {20, "news.>"},
		"root group": {4, ">"},
	} {
		for _, long := range []time.Duration{3 * time.Second, 25 * time.Second, 35 * time.Second, 2 * time.Minute} {
			t.Run(fmt.Sprint(name, " ", long), func(t *testing.T) {
				t.Parallel()
				sim.Run(t, sim.Config{Seed: 12}, func(t *testing.T, n *sim.Network) {
					const before, lost, after = 5, 10, 5
					h := newAudience(t, n, c.audience, c.pattern)
					h.publish("news.world", 0, before, 100, 100*time.Millisecond)
					n.Partition([]string{"n0"}, h.others())
					h.publish("news.world", before, lost, 100, 10*time.Millisecond)
					n.Pause("n0")
					time.Sleep(long)
					n.Resume("n0")
					n.Heal()
					time.Sleep(10 * time.Second)
					h.publish("news.world", before+lost, after, 100, 100*time.Millisecond)
					time.Sleep(5 * time.Second)
					for i, r := range h.ears[1:] {
						r.mu.Lock()
						require.Empty(t, r.wrong, "node %d", i+1)
						require.EqualValues(t, before+lost+after, r.next, "node %d", i+1)
						require.GreaterOrEqual(t, r.delivered+r.reported, uint64(before+lost+after), "node %d", i+1)
						r.mu.Unlock()
					}
				})
			})
		}
	}
}

// others are the names of all nodes but the publisher's.
func (h *hall) others() (names []string) {
	for i := range h.nodes[1:] {
		names = append(names, fmt.Sprint("n", i+1))
	}
	return names
}
