// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
)

// This test has a peer send 1 MiB on each of as many streams as it may have, to a node
// that reads none of them: it holds at most the peer's share, counts each stream that
// goes beyond, and another peer has its own share nevertheless. When both are gone,
// nothing is held.
func TestWhatAPeerSendsAndIsNotReadStaysWithinItsShare(t *testing.T) {
	const limit = 8 << 20
	n := NewNetwork(t)
	run := func(max int) *Host {
		h := NewHost(t, n, func(c *Config) { c.MaxHeld = max })
		require.NoError(t, h.Start(make(events, 100)))
		return h
	}
	target, flooder, other := run(limit), run(0), run(0)
	sends := func(h *Host, count, size int) (ends []overlay.Stream) {
		for range count {
			s, err := h.Open(t.Context(), target.Self(), target.Addrs())
			require.NoError(t, err)
			_ = s.SetWriteDeadline(time.Now().Add(time.Minute))
			_, _ = s.Write(make([]byte, size))
			ends = append(ends, s)
		}
		return ends
	}
	sends(flooder, 16, 1<<20)
	require.Eventually(t, func() bool { return target.Counters()["unread_share"] > 0 }, time.Minute, time.Millisecond)
	require.LessOrEqual(t, target.Held().Used(), limit/2)
	require.Greater(t, target.Held().Used(), limit/4)

	sends(other, 1, 1<<20)
	require.Eventually(t, func() bool { return target.Held().Used() > limit/2 }, time.Minute, time.Millisecond, "the other peer's share is its own")

	require.NoError(t, flooder.Close())
	require.NoError(t, other.Close())
	require.Eventually(t, func() bool { return target.Held().Used() == 0 }, time.Minute, time.Millisecond)
}
