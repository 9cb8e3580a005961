// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim"
)

func TestWhoHearsNothingForLongMissesNothing(t *testing.T) {
	// This test publishes a little, nothing for longer than a publisher watches a group, a
	// little, nothing for longer than receivers remember a publisher, and a little again:
	// everybody gets all of it, at once, and nothing is reported missing. Directly, and
	// through a forwarder of the root group, which is one for all that time.
	for name, c := range map[string]struct {
		audience int
		pattern  string
	}{
		"direct":     {3, "news.>"},
		"root group": {4, ">"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim.Run(t, sim.Config{Seed: 11}, func(t *testing.T, n *sim.Network) {
				const count = 5
				h := newAudience(t, n, c.audience, c.pattern)
				for i, quiet := range []time.Duration{time.Second, time.Minute, 16 * time.Minute, 0} {
					h.publish("news.world", count*i, count, 100, 10*time.Millisecond)
					time.Sleep(quiet)
				}
				time.Sleep(2 * time.Second)
				delivered, reported, slowest := h.check(4 * count)
				require.Zero(t, reported)
				require.EqualValues(t, 4*count*c.audience, delivered)
				require.Less(t, slowest, 400*time.Millisecond)
			})
		})
	}
}
