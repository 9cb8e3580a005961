// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim"
)

// between runs a function when its deadline is asked for, once.
type between struct {
	context.Context //nolint:containedctx // it is one
	run             func()
}

func (b *between) Deadline() (time.Time, bool) {
	if run := b.run; run != nil {
		b.run = nil
		run()
	}
	return b.Context.Deadline()
}

func TestFirstPublicationsMayMeet(t *testing.T) {
	// This test publishes for the first time on a topic while another first
	// publication finds out who subscribes, just after this one has seen that it is
	// not known yet: both arrive.
	sim.Run(t, sim.Config{Seed: 3}, func(t *testing.T, n *sim.Network) {
		h := newAudience(t, n, 1, "news.>")
		ctx := &between{Context: t.Context(), run: func() { h.publish("news.world", 0, 1, 100, 0) }}
		require.NoError(t, h.nodes[0].Publish(ctx, "news.world", h.numbered(1, 100)))
		require.Nil(t, ctx.run)
		time.Sleep(2 * time.Second)
		delivered, reported, _ := h.check(2)
		require.Zero(t, reported)
		require.EqualValues(t, 2, delivered)
	})
}
