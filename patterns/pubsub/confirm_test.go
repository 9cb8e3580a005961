// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
)

func TestConfirmCountsTheNodesThatAcknowledge(t *testing.T) {
	// This test checks the three answers of Confirm: nobody listens, all have it, and some
	// have it while others may. More nodes listen than are reached without a tree.
	t.Parallel()
	sim.Run(t, sim.Config{Seed: 1}, func(t *testing.T, n *sim.Network) {
		const audience = 20
		h := newAudience(t, n, audience, "news.>")
		publish := func(topic string) (nodes int, err error) {
			done := make(chan struct{})
			h.n.Go("publish", func() {
				defer close(done)
				err = h.nodes[0].Publish(context.Background(), topic, h.numbered(0, 100), patterns.Confirm(&nodes))
			})
			<-done
			return nodes, err
		}
		nodes, err := publish("olds.x")
		require.NoError(t, err)
		require.Zero(t, nodes)
		nodes, err = publish("news.x")
		require.NoError(t, err)
		require.Equal(t, audience, nodes)
		h.crash(1)
		begin := h.n.Elapsed()
		nodes, err = publish("news.x")
		require.ErrorIs(t, err, patterns.ErrInterrupted)
		require.Equal(t, audience-1, nodes)
		require.Less(t, h.n.Elapsed()-begin, 2*time.Second)
	})
}
