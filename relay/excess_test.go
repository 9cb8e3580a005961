// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/relay"
)

// TestWhatTheRelayCantKeepIsRefusedAtOnce proves that a subscription or a member whose
// limits are beyond the relay's is refused when it is asked for, with both numbers, what
// to do, and a counter; that one which is as large as the relay's limit is not; and that
// one which leaves the choice to the relay never is.
func TestWhatTheRelayCantKeepIsRefusedAtOnce(t *testing.T) {
	play(t, func(cfg *relay.Config) {
		cfg.Limits.PublicationBytes, cfg.Limits.Tunnels, cfg.Limits.Deliveries = 1<<20, 10, 100
	}, func(t *testing.T, s *stage) {
		b := s.attach()
		const larger = "or start the relay with a larger --"
		for i, c := range []struct {
			options uint8
			bytes   uint32
			refused bool
		}{
			{0, 0, false},
			{0, 1 << 20, false},
			{0, 1<<20 + 1, true},
			{wire.SubscribeBlocks, 0, false},
			{wire.SubscribeBlocks, 1 << 20, false},
			{wire.SubscribeBlocks, 1<<20 + 1, true},
		} {
			d := b.trySubscribe(wire.Subscribe{ID: uint64(i + 1), Pattern: "a", Options: c.options, Bytes: c.bytes, Length: 1 << 30})
			if !c.refused {
				require.Zero(t, d.Outcome, d.Text)
				continue
			}
			require.Equal(t, []any{wire.OutcomeTooMany, wire.LimitBuffer}, []any{d.Outcome, d.Code})
			require.Equal(t, "relay: a buffer of 1048577 bytes is more than the 1048576 that this relay holds for a program: ask for less, "+larger+"publication-bytes", d.Text)
		}
		for i, c := range []struct {
			serve wire.Serve
			code  uint32
			says  []string
		}{
			{wire.Serve{}, 0, nil},
			{wire.Serve{Tunnels: 10, Concurrency: 60, QueueLength: 40}, 0, nil},
			{wire.Serve{Tunnels: -1, Concurrency: 100, QueueLength: -1}, 0, nil},
			{wire.Serve{Tunnels: 11}, wire.LimitTunnels, []string{"11 tunnels", "the 10"}},
			{wire.Serve{Concurrency: 101}, wire.LimitDeliveries, []string{"101 handlers", "the 100", larger + "max-deliveries"}},
			{wire.Serve{QueueLength: 101}, wire.LimitDeliveries, []string{"a queue of 101", "the 100"}},
			{wire.Serve{Concurrency: 60, QueueLength: 41}, wire.LimitDeliveries, []string{"60 handlers", "a queue of 41"}},
		} {
			c.serve.ID, c.serve.Cluster, c.serve.Patterns = uint64(i+100), "geo", 15
			d := b.tryServe(c.serve)
			require.Equal(t, c.code, d.Code, d.Text)
			require.Equal(t, c.code != 0, d.Outcome == wire.OutcomeTooMany)
			for _, says := range c.says {
				require.Contains(t, d.Text, says)
			}
		}
		require.Equal(t, map[string]uint64{"subscription.buffer": 2, "tunnel.too_many": 1, "delivery.too_many": 3}, s.relay.Status().Drops)
	})
}
