// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim"
)

// This test checks that a crash is seen by a peer one latency later, that the
// lost node's code can do nothing any more, and that it comes back as the next
// incarnation with the same key.
func TestCrashIsSeenAsReset(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		a, b, here, there := two(t, n)
		begin := time.Now()
		n.Crash("a")
		_, err := there.Read(make([]byte, 1))
		require.ErrorIs(t, err, sim.ErrConnLost)
		about(t, 10*time.Millisecond, time.Since(begin))
		_, err = here.Write([]byte("x"))
		require.Error(t, err)
		require.ErrorIs(t, a.connect(b), sim.ErrDown)
		require.False(t, a.Exec.Go(overlay.ExecKey{}, func() {}))
		woken := make(chan struct{})
		a.Exec.Wake(overlay.ExecKey{}, func() { close(woken) })
		<-woken // what is left of it can still be closed

		again := start(t, n, "a")
		require.Equal(t, a.Transport.Self(), again.Transport.Self())
		require.EqualValues(t, 2, n.Incarnation("a"))
		require.NotEqual(t, a.Rand.Stream("x").Uint64(), again.Rand.Stream("x").Uint64())
		require.NoError(t, again.connect(b))
		require.Equal(t, []string{"up", "down", "up"}, b.seen())
	})
}

// This test checks that a node that still runs can't be started again.
func TestRunningNodeHasOneSeam(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		start(t, n, "a")
		require.Panics(t, func() { n.Seam("a") })
	})
}

// This test checks that a silent loss is noticed by nobody until the
// keepalive, and at once when the host comes back.
func TestSilenceIsNoticedByKeepalive(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
				_, b, _, there := two(t, n)
				begin := time.Now()
				n.Silence("a")
				want := 25 * time.Second
				if restart {
					time.Sleep(2 * time.Second)
					start(t, n, "a")
					want = 2*time.Second + 10*time.Millisecond
				}
				_, err := there.Read(make([]byte, 1))
				require.ErrorIs(t, err, sim.ErrConnLost)
				about(t, want, time.Since(begin))
				time.Sleep(time.Millisecond)
				require.Equal(t, []string{"up", "down"}, b.seen())
			})
		})
	}
}

// This test checks that a partition is a black hole, not an error: what was
// sent arrives in order after the heal, when TCP sends it again; new dials wait
// for it.
func TestPartitionHoldsWhatWasSent(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		a, b, here, there := two(t, n)
		c := start(t, n, "c")
		write := func(s string) {
			_, err := here.Write([]byte(s))
			require.NoError(t, err)
		}
		sent := time.Now()
		write("1")
		time.Sleep(5 * time.Millisecond) // still on its way
		n.Partition([]string{"a", "c"}, []string{"b"})
		write("2")
		dialed := make(chan error, 1)
		n.Go("dial", func() { dialed <- c.connect(b) })
		time.Sleep(3 * time.Second)
		write("3")
		time.Sleep(5 * time.Millisecond) // on its way when the path heals
		require.NoError(t, there.SetReadDeadline(time.Now()))
		_, err := there.Read(make([]byte, 1))
		require.Error(t, err)
		require.NoError(t, there.SetReadDeadline(time.Time{}))
		require.Empty(t, dialed)
		require.NoError(t, a.connect(c), "paths within a side work")

		begin := time.Now()
		n.Heal()
		got := make([]byte, 0, 3)
		for len(got) < 3 {
			count, err := there.Read(got[len(got):cap(got)])
			require.NoError(t, err)
			got = got[:len(got)+count]
		}
		require.Equal(t, "123", string(got))
		// Sent again after 0.22, 0.44, 0.88, 1.76, 2.76 and 3.76 s.
		about(t, 3760*time.Millisecond+10*time.Millisecond, time.Since(sent))
		require.NoError(t, <-dialed)
		require.Less(t, time.Since(begin), 1100*time.Millisecond)
	})
}

// This test checks that connections across a partition that lasts break at
// both ends, and that a short one leaves them alone.
func TestLongPartitionBreaksConnections(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		a, b, here, there := two(t, n)
		for range 3 {
			n.Partition([]string{"a"}, []string{"b"})
			time.Sleep(20 * time.Second)
			n.Heal()
			time.Sleep(20 * time.Second)
		}
		_, err := here.Write([]byte("x"))
		require.NoError(t, err)
		_, err = there.Read(make([]byte, 1))
		require.NoError(t, err)

		n.Partition([]string{"a"}, []string{"b"})
		time.Sleep(31 * time.Second)
		require.Equal(t, []string{"up", "down"}, a.seen())
		require.Equal(t, []string{"up", "down"}, b.seen())
		_, err = here.Read(make([]byte, 1))
		require.ErrorIs(t, err, sim.ErrConnLost)
		n.Heal()
		require.NoError(t, a.connect(b))
	})
}

// This test checks that nothing happens at a paused node, timers included,
// and that everything it missed happens when it goes on.
func TestPausedNodeMissesNothing(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		_, b, here, there := two(t, n)
		n.Pause("b")
		fired := make(chan time.Duration, 1)
		begin := time.Now()
		b.Clock.AfterFunc("late", time.Second, func() { fired <- time.Since(begin) })
		stopped := b.Clock.AfterFunc("never", time.Second, func() { panic("it was stopped") })
		_, err := here.Write([]byte("x"))
		require.NoError(t, err)
		time.Sleep(5 * time.Second)
		require.Empty(t, fired)
		require.True(t, stopped.Stop())
		require.False(t, stopped.Stop())
		n.Resume("b")
		about(t, 5*time.Second, <-fired)
		_, err = there.Read(make([]byte, 1))
		require.NoError(t, err)
	})
}

// This test checks that faults of different kinds at once lose nothing: what
// waits for a paused node behind a cut path arrives, once and in order.
func TestPauseAndPartitionLoseNothing(t *testing.T) {
	for _, resumeFirst := range []bool{false, true} {
		t.Run(fmt.Sprint("resume first ", resumeFirst), func(t *testing.T) {
			sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
				_, _, here, there := two(t, n)
				write(here, []byte("0"))
				n.Pause("b")
				write(here, []byte("1"))
				time.Sleep(time.Second)
				n.Partition([]string{"a"}, []string{"b"})
				write(here, []byte("2"))
				time.Sleep(time.Second)
				ends := []func(){n.Heal, func() { n.Resume("b") }}
				if resumeFirst {
					ends[0], ends[1] = ends[1], ends[0]
				}
				for _, end := range ends {
					write(here, []byte("3"))
					time.Sleep(5 * time.Millisecond)
					end()
				}
				require.NoError(t, here.CloseWrite())
				got, err := io.ReadAll(there)
				require.NoError(t, err)
				require.Equal(t, "01233", string(got))
			})
		})
	}
}

// This test checks that a fault is applied when the call returns, in the
// middle of a run as well as from a planned time.
func TestFaultsHappenAtTheirTime(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		_, b, _, there := two(t, n)
		n.At(5*time.Second, "crash", func() { n.Crash("a") })
		_, err := there.Read(make([]byte, 1))
		require.Error(t, err)
		about(t, 5*time.Second+10*time.Millisecond, n.Elapsed())
		_, err = b.Transport.Connect(context.Background(), overlay.Candidate{Addrs: []string{n.Addr("a")}})
		require.ErrorIs(t, err, sim.ErrRefused)
	})
}
