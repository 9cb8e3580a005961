// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
)

func TestTunnelsOutliveTheirConnection(t *testing.T) {
	// This test breaks the connection again and again while tunnels are at work,
	// and while one is idle: nothing is lost, doubled or moved, all end in good
	// order, and none is interrupted.
	bothWays(t, func(t *testing.T, s *stage, change []func(*node.Config)) {
		a, b := s.pair(echo, patterns.Limits{}, change...)
		idle := s.open(a, "")
		stop := make(chan struct{})
		s.net.Go("break", func() {
			for {
				select {
				case <-time.After(250 * time.Millisecond):
					s.net.Break([]string{"a"}, []string{"b"})
				case <-stop:
					return
				}
			}
		})
		const tunnels = 20
		outcomes := make(chan string, tunnels)
		for i := range tunnels {
			s.net.Go(fmt.Sprint("tunnel ", i), func() { outcomes <- journey(a, i) })
			time.Sleep(100 * time.Millisecond)
		}
		for range tunnels {
			require.Equal(t, "done", <-outcomes)
		}
		close(stop)
		require.NoError(t, idle.Send(t.Context(), []byte("still here")))
		receives(t, idle, "still here")
		require.NoError(t, idle.CloseSend())
		require.NoError(t, done(t, idle))
		requireNothingLeft(t, a, b)
	})
}

func TestATunnelEndsWithItsSession(t *testing.T) {
	// This test keeps two nodes apart for 5 s, which their tunnel outlives, and
	// for good: it is interrupted at both ends when the session is given up.
	play(t, func(t *testing.T, s *stage) {
		ended := make(chan error, 1)
		a, _ := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
			err := echo(ctx, t)
			ended <- err
			return err
		}, patterns.Limits{})
		tunnel := s.open(a, "")
		apart := func() { s.net.Partition([]string{"a"}, []string{"b"}) }
		apart()
		time.Sleep(5 * time.Second)
		require.NoError(t, tunnel.Send(t.Context(), []byte("kept")))
		s.net.Mend([]string{"a", "b"}, []string{"a", "b"})
		receives(t, tunnel, "kept")

		apart()
		begin := time.Now()
		require.ErrorIs(t, done(t, tunnel), patterns.ErrInterrupted)
		require.ErrorIs(t, <-ended, patterns.ErrInterrupted)
		require.Less(t, time.Since(begin), 20*time.Second)
	})
}
