// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"context"
	"crypto/sha256"
	"io"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/patterns"
)

// live is the memory that the last garbage collection has left.
func live() int {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

// watch returns what live was at most, once the function is called.
func watch(t *testing.T) (most func() int) {
	stop, highest := make(chan struct{}), make(chan int)
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for most := 0; ; {
			select {
			case <-tick.C:
				most = max(most, live())
			case <-stop:
				highest <- most
				return
			case <-t.Context().Done():
				return
			}
		}
	}()
	return func() int {
		close(stop)
		return <-highest
	}
}

// counting is an endless reader.
type counting struct{}

func (counting) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(i)
	}
	return len(b), nil
}

// This test streams one message of 1 GiB (64 MiB under the race detector) from
// client to relay to relay to client, where the second node has room for one
// window of 64 KiB in all. Two clients, two relays and two nodes, all in this
// process, hold no more than a few windows and buffers of it at any time.
func TestAGigabytePassesA64KiBWindowThroughTwoRelays(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a few seconds")
	}
	size := int64(1 << 30)
	if raceEnabled {
		size = 64 << 20
	}
	s := sites(t, 2, func(c *node.Config) { c.TunnelBytes = 88 << 10 })
	window := make(chan int, 1)
	_, err := s[1].client.Serve(t.Context(), "sink", patterns.Service{Tunnel: func(ctx context.Context, t patterns.Tunnel) error {
		sum := sha256.New()
		if _, err := t.ReceiveTo(ctx, sum); err != nil {
			return err
		}
		window <- s[1].node.Status().Tunnels.BufferBytes
		return t.Send(ctx, sum.Sum(nil))
	}}, patterns.Limits{})
	require.NoError(t, err)
	tunnel, err := s[0].client.OpenTunnel(t.Context(), "sink", patterns.Message{}, patterns.WaitForMember())
	require.NoError(t, err)
	runtime.GC()
	runtime.GC()
	before, most := live(), watch(t)
	begin, sum := time.Now(), sha256.New()
	n, err := tunnel.SendFrom(t.Context(), io.TeeReader(io.LimitReader(counting{}, size), sum))
	require.NoError(t, err)
	require.EqualValues(t, size, n)
	got, err := tunnel.Receive(t.Context())
	require.NoError(t, err)
	require.Equal(t, sum.Sum(nil), got)
	grew := most() - before
	t.Logf("%d MiB in %v; %d KiB live before, %d more at most", size>>20, time.Since(begin).Round(time.Millisecond), before>>10, grew>>10)
	require.Equal(t, 64<<10, <-window, "it has not grown")
	require.Less(t, grew, 16<<20)
}
