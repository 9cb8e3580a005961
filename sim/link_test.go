// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/link"
)

const megabyte = 1_000_000

// narrow is a network of links with 10 ms and 1,000 bytes a millisecond.
func narrow() sim.Config {
	return sim.Config{Window: 4 * megabyte, Link: func(string, string) link.Model {
		return link.Model{Latency: 10 * time.Millisecond, Mbps: 8, Queue: 50_000}
	}}
}

// This test checks that bulk data takes the time that the bandwidth gives it,
// in one write or in many.
func TestBulkTakesItsTime(t *testing.T) {
	for _, size := range []int{megabyte, 1000} {
		sim.Run(t, narrow(), func(t *testing.T, n *sim.Network) {
			_, _, here, there := two(t, n)
			data := bytes.Repeat([]byte("0123456789"), megabyte/10)
			begin := time.Now()
			n.Go("write", func() {
				for rest := data; len(rest) > 0; rest = rest[size:] {
					write(here, rest[:size])
				}
				here.CloseWrite()
			})
			got, err := io.ReadAll(there)
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, got))
			about(t, 1010*time.Millisecond, time.Since(begin).Truncate(10*time.Microsecond))
		})
	}
}

// This test checks that a small message waits for the bottleneck's queue, and
// not for the megabyte that another stream wrote before.
func TestStreamsTakeTurns(t *testing.T) {
	sim.Run(t, narrow(), func(t *testing.T, n *sim.Network) {
		a, b, here, there := two(t, n)
		small, arrived := open(t, a, b)
		begin := time.Now()
		write(here, make([]byte, megabyte))
		time.Sleep(200 * time.Millisecond)
		write(small, []byte("hi"))
		hear(t, arrived, "hi")
		took := time.Since(begin) - 200*time.Millisecond
		require.Less(t, took, 77*time.Millisecond)
		require.Greater(t, took, 25*time.Millisecond, "what is in the queue goes first")

		big := make(chan time.Duration, 1)
		n.Go("read", func() {
			_, _ = io.ReadFull(there, make([]byte, megabyte))
			big <- time.Since(begin)
		})
		require.InDelta(t, float64(1010*time.Millisecond), float64(<-big), float64(time.Millisecond))
	})
}

// This test checks that a writer waits while what it wrote before waits, so
// that it can still change its mind about what comes next.
func TestWritersWaitForTheBottleneck(t *testing.T) {
	sim.Run(t, narrow(), func(t *testing.T, n *sim.Network) {
		_, _, here, _ := two(t, n)
		write(here, make([]byte, 250_000))
		time.Sleep(time.Nanosecond)
		begin := time.Now()
		write(here, []byte("next"))
		require.InDelta(t, float64(200*time.Millisecond), float64(time.Since(begin)), float64(17*time.Millisecond))

		write(here, make([]byte, megabyte))
		time.Sleep(time.Nanosecond)
		require.NoError(t, here.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
		dumb(t, here)
	})
}

// This test checks how streams end that still have something waiting: closed
// ones after their last byte, reset ones at once, those of a closed transport
// whole, those of a lost node in the middle.
func TestEndsWaitForTheBottleneck(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(t *testing.T, n *sim.Network, a *actor, s overlay.Stream)
		whole bool
	}{
		"close write": {func(_ *testing.T, _ *sim.Network, _ *actor, s overlay.Stream) { s.CloseWrite() }, true},
		"close":       {func(_ *testing.T, _ *sim.Network, _ *actor, s overlay.Stream) { s.Close() }, true},
		"transport":   {func(_ *testing.T, _ *sim.Network, a *actor, _ overlay.Stream) { a.Transport.Close() }, true},
		"crash":       {func(_ *testing.T, n *sim.Network, _ *actor, _ overlay.Stream) { n.Crash("a") }, true},
		"reset":       {func(_ *testing.T, _ *sim.Network, _ *actor, s overlay.Stream) { s.Reset(1) }, false},
		"silence":     {func(_ *testing.T, n *sim.Network, _ *actor, _ overlay.Stream) { n.Silence("a") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			sim.Run(t, narrow(), func(t *testing.T, n *sim.Network) {
				a, _, here, there := two(t, n)
				begin := time.Now()
				write(here, make([]byte, 300_000))
				time.Sleep(100 * time.Millisecond)
				c.end(t, n, a, here)
				got := 0
				var err error
				for err == nil {
					var count int
					count, err = there.Read(make([]byte, 32<<10))
					got += count
				}
				if c.whole {
					require.Equal(t, 300_000, got)
					require.GreaterOrEqual(t, time.Since(begin), 310*time.Millisecond)
				} else {
					require.Less(t, got, 160_000)
					require.NotErrorIs(t, err, io.EOF)
				}
			})
		})
	}
}

// This test checks that loss is delay, in order, by retransmissions, and that
// a link which loses everything breaks the connection in the end.
func TestLossIsDelay(t *testing.T) {
	cfg := exact()
	sim.Run(t, cfg, func(t *testing.T, n *sim.Network) {
		a, b, here, there := two(t, n)
		n.SetLink("a", "b", link.Model{Latency: 10 * time.Millisecond, Loss: 50_000})
		late := 0
		for i := range byte(200) {
			begin := time.Now()
			write(here, []byte{i})
			var got [1]byte
			_, err := there.Read(got[:])
			require.NoError(t, err)
			require.Equal(t, i, got[0])
			if d := time.Since(begin); d > 20*time.Millisecond { // else it waited for an acknowledgement at most
				require.GreaterOrEqual(t, d, 58*time.Millisecond) // a probe after two round trips and 8 ms
				late++
			}
		}
		require.InDelta(t, 10, late, 8)

		time.Sleep(time.Second) // until everything is acknowledged
		n.SetLink("a", "b", link.Model{Latency: 10 * time.Millisecond, Loss: link.AllLost})
		begin := time.Now()
		write(here, []byte("x"))
		lost(t, here)
		about(t, link.Patience, time.Since(begin))
		lost(t, there)
		require.Less(t, time.Since(begin), 2*link.Patience+time.Second)
		require.ErrorIs(t, a.connect(b), sim.ErrTimeout)

		n.SetLink("a", "b", link.Model{Latency: 10 * time.Millisecond})
		require.NoError(t, a.connect(b))
	})
}

// This test checks who decides about a link: the configuration, then SetLink,
// of which SetLatency changes only the latency.
func TestLinksCanBeSet(t *testing.T) {
	cfg := narrow()
	sim.Run(t, cfg, func(t *testing.T, n *sim.Network) {
		_, _, here, there := two(t, n)
		trip := func() time.Duration {
			begin := time.Now()
			write(here, make([]byte, 10_000))
			_, err := io.ReadFull(there, make([]byte, 10_000))
			require.NoError(t, err)
			return time.Since(begin)
		}
		about(t, 20*time.Millisecond, trip())
		n.SetLatency("a", "b", sim.Latency{Base: 30 * time.Millisecond})
		about(t, 40*time.Millisecond, trip())
		n.SetLink("a", "b", link.Model{Latency: 3 * time.Millisecond, Mbps: 80})
		about(t, 4*time.Millisecond, trip())
		n.SetLink("a", "b", link.Model{})
		about(t, 0, trip())
	})
}

// This test checks that nothing arrives that was sent after what a connection
// died of, although it was not lost itself.
func TestNothingOvertakesWhatWasLost(t *testing.T) {
	died := 0
	for seed := range uint64(20) {
		cfg := exact()
		cfg.Seed = seed
		sim.Run(t, cfg, func(t *testing.T, n *sim.Network) {
			_, _, here, there := two(t, n)
			n.CutOneWay([]string{"a"}, []string{"b"})
			for i := range byte(20) {
				write(here, []byte{i})
				time.Sleep(time.Millisecond)
			}
			n.SetLink("a", "b", link.Model{Latency: 10 * time.Millisecond, Loss: 970_000})
			n.Mend([]string{"a"}, []string{"b"})
			got, err := io.ReadAll(io.LimitReader(there, 20))
			for i := range got {
				require.Equal(t, byte(i), got[i])
			}
			if err != nil {
				died++
			}
		})
	}
	require.Greater(t, died, 5)
}
