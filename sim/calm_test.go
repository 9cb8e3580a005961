// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/link"
)

// This test checks that Calm ends every fault that lasts, loss included, also
// on links that nobody has used yet, and leaves latency and bandwidth alone.
func TestCalmEndsEverything(t *testing.T) {
	cfg := narrow()
	cfg.Link = func(string, string) link.Model {
		return link.Model{Latency: 10 * time.Millisecond, Mbps: 8, Loss: 300_000}
	}
	sim.Run(t, cfg, func(t *testing.T, n *sim.Network) {
		a, b, here, there := two(t, n)
		c := start(t, n, "c")
		n.CutOneWay([]string{"a"}, []string{"b"})
		n.Clog([]string{"b"}, []string{"a"}, true)
		n.Partition([]string{"a", "b"}, []string{"c"})
		n.Pause("b")
		n.Skew("a", 0, 500_000)
		n.Corrupt("a", "b")
		n.RouterFault("a", sim.RouterSlow)
		time.Sleep(100 * time.Millisecond)
		n.Calm()
		write(here, []byte("hello"))
		require.Equal(t, "hello", arrivals(t, there, time.Second))
		for range 100 {
			begin, shown := time.Now(), a.Clock.Now()
			write(there, make([]byte, 1000))
			_, err := here.Read(make([]byte, 1000))
			require.NoError(t, err)
			about(t, 11*time.Millisecond, time.Since(begin).Round(time.Microsecond))
			require.Equal(t, time.Since(begin), a.Clock.Now().Sub(shown))
		}
		begin := time.Now()
		require.NoError(t, c.connect(b))
		about(t, 40*time.Millisecond, time.Since(begin))
		require.Equal(t, []string{"up"}, a.seen())
	})
}

// This test checks that Stats count, and that real time passes on a clock of
// its own.
func TestStats(t *testing.T) {
	var last sim.Stats
	trace := sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		_, _, here, there := two(t, n)
		time.Sleep(time.Hour / 2)
		write(here, []byte("x"))
		_, err := there.Read(make([]byte, 1))
		require.NoError(t, err)
		last = n.Stats()
		require.Equal(t, n.Elapsed(), last.Virtual)
		require.Greater(t, last.Steps, last.Events)
		require.Equal(t, 2, last.Nodes)
		require.Equal(t, 2, last.Paths)
		require.Positive(t, last.Queue, "the routers' next looks around")
		require.Positive(t, last.Real)
		require.Less(t, last.Real, last.Virtual)
	})
	require.LessOrEqual(t, last.Events, trace.Events)
	require.Greater(t, last.Events, uint64(100))
}
