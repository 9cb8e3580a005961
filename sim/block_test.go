// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim"
)

// arrivals reads until there is nothing for d and returns what it got.
func arrivals(t *testing.T, s overlay.Stream, d time.Duration) string {
	t.Helper()
	require.NoError(t, s.SetReadDeadline(time.Now().Add(d)))
	defer func() { require.NoError(t, s.SetReadDeadline(time.Time{})) }()
	var got []byte
	for {
		b := make([]byte, 100)
		count, err := s.Read(b)
		if got = append(got, b[:count]...); err != nil {
			return string(got)
		}
	}
}

// This test checks that a cut of one way stops that way at once and the other
// one as soon as a sender has waited for an acknowledgement, that all arrives
// after it is mended, and that new connections need both ways.
func TestOneWayCut(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		a, b, here, there := two(t, n)
		n.CutOneWay([]string{"a"}, []string{"b"})
		begin := time.Now()
		write(here, []byte("1"))
		write(there, []byte("x"))
		require.Equal(t, "x", arrivals(t, here, 100*time.Millisecond), "not acknowledged, but there")
		write(there, []byte("y"))
		require.Equal(t, "y", arrivals(t, here, 200*time.Millisecond))
		write(there, []byte("z"))
		write(here, []byte("2"))
		require.Empty(t, arrivals(t, here, time.Second))
		require.Empty(t, arrivals(t, there, time.Second))
		c := start(t, n, "c")
		n.CutOneWay([]string{"b"}, []string{"c"})
		require.ErrorIs(t, c.connect(b), sim.ErrTimeout)
		require.NoError(t, c.connect(a))

		n.Mend([]string{"a"}, []string{"b"})
		require.Equal(t, "12", arrivals(t, there, 10*time.Second))
		require.Equal(t, "z", arrivals(t, here, time.Second))
		require.Less(t, time.Since(begin), 20*time.Second)
	})
}

// This test checks that credit does not come back either: a writer stops at
// the window even where its bytes still arrive.
func TestOneWayCutFillsTheWindow(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) { // window: 1 KiB
		_, _, here, there := two(t, n)
		n.CutOneWay([]string{"b"}, []string{"a"})
		for range 2 {
			write(here, make([]byte, 512))
		}
		require.Len(t, arrivals(t, there, 100*time.Millisecond), 1024)
		require.NoError(t, here.SetWriteDeadline(time.Now().Add(time.Second)))
		_, err := here.Write([]byte("more"))
		require.Error(t, err)
		n.Mend([]string{"b"}, []string{"a"})
		require.NoError(t, here.SetWriteDeadline(time.Time{}))
		_, err = here.Write([]byte("more"))
		require.NoError(t, err)
		require.Equal(t, "more", arrivals(t, there, 10*time.Second))
	})
}

// This test checks that a cut of one way breaks the connections at both ends
// in the end.
func TestLongOneWayCutBreaksConnections(t *testing.T) {
	for _, from := range []string{"a", "b"} {
		sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
			a, b, _, _ := two(t, n)
			n.CutOneWay([]string{from}, []string{map[string]string{"a": "b", "b": "a"}[from]})
			time.Sleep(24 * time.Second)
			require.Equal(t, []string{"up"}, a.seen())
			time.Sleep(2 * time.Second)
			require.Equal(t, []string{"up", "down"}, a.seen())
			require.Equal(t, []string{"up", "down"}, b.seen())
		})
	}
}

// This test checks that a clogged link loses nothing and needs no
// retransmission: all arrives at once when it is free again.
func TestClogHolds(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		a, b, here, there := two(t, n)
		n.Clog([]string{"a"}, []string{"b"}, true)
		for _, c := range "12345" {
			write(here, []byte(string(c)))
			time.Sleep(time.Second)
		}
		require.Empty(t, arrivals(t, there, time.Second))
		write(there, []byte("x"))
		require.Equal(t, "x", arrivals(t, here, time.Second), "the other way is free")
		time.Sleep(15 * time.Second)
		n.Clog([]string{"a"}, []string{"b"}, false)
		require.Equal(t, "12345", arrivals(t, there, 11*time.Millisecond))

		n.Clog([]string{"a"}, []string{"b"}, true)
		time.Sleep(31 * time.Second)
		require.Equal(t, []string{"up", "down"}, a.seen())
		require.Equal(t, []string{"up", "down"}, b.seen())
		n.Heal()
		require.NoError(t, a.connect(b))
	})
}

// This test checks that a sender's waits go on through several cuts,
// and that cuts and clogs of one path end when both have ended.
func TestBlocksOverlap(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		_, _, here, there := two(t, n)
		ab, ba := []string{"a"}, []string{"b"}
		begin := time.Now()
		n.CutOneWay(ab, ba)
		n.Clog(ab, ba, true)
		write(here, []byte("1"))
		time.Sleep(time.Second)
		n.Mend(ab, ba)
		require.Empty(t, arrivals(t, there, time.Second))
		n.Clog(ab, ba, false)
		require.NoError(t, there.SetReadDeadline(time.Time{}))
		_, err := there.Read(make([]byte, 1))
		require.NoError(t, err)
		about(t, 2770*time.Millisecond, time.Since(begin))

		// Mended at 1 s and cut again. The flow has sent little of late, so its
		// first waits are equal: the attempts until the one after 3.08 s fail,
		// and the next one is a second later.
		begin = time.Now()
		n.CutOneWay(ab, ba)
		write(here, []byte("2"))
		time.Sleep(time.Second)
		n.Mend(ab, ba)
		time.Sleep(100 * time.Millisecond)
		n.CutOneWay(ab, ba)
		time.Sleep(2 * time.Second)
		n.Mend(ab, ba)
		_, err = there.Read(make([]byte, 1))
		require.NoError(t, err)
		about(t, 4090*time.Millisecond, time.Since(begin))
	})
}

// This test checks that large partitions hold for pairs that meet later, too,
// and that Mend takes a part of one back.
func TestPartitionsHoldForStrangers(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		var left, right []string
		all := map[string]*actor{}
		for i := range 10 {
			left, right = append(left, fmt.Sprint("l", i)), append(right, fmt.Sprint("r", i))
		}
		for _, name := range append(append([]string{}, left...), right...) {
			all[name] = start(t, n, name)
		}
		n.Partition(left, right)
		fails := func(a, b string) {
			t.Helper()
			require.ErrorIs(t, all[a].connect(all[b]), sim.ErrTimeout)
		}
		fails("l0", "r0")
		fails("r1", "l1")
		require.NoError(t, all["l0"].connect(all["l1"]))
		n.Mend([]string{"l2"}, []string{"r2"})
		fails("l2", "r2")
		n.Mend([]string{"r2"}, []string{"l2"})
		require.NoError(t, all["l2"].connect(all["r2"]))
		n.Mend(left, right)
		fails("l3", "r3")
		n.Mend(right, left)
		require.NoError(t, all["l3"].connect(all["r3"]))
		n.Clog(left, right, true)
		fails("l4", "r4")
		n.Heal()
		require.NoError(t, all["l4"].connect(all["r4"]))
	})
}

// This test checks that a bit that flips ends the connection where it arrives,
// then at the other end, that no byte of it is read, and that one is enough.
func TestCorruptDelivery(t *testing.T) {
	cfg := exact()
	cfg.Record = true
	trace := sim.Run(t, cfg, func(t *testing.T, n *sim.Network) {
		a, b, here, there := two(t, n)
		write(here, []byte("good"))
		require.Equal(t, "good", arrivals(t, there, time.Second))
		n.Corrupt("a", "b")
		write(there, []byte("fine"))
		require.Equal(t, "fine", arrivals(t, here, time.Second), "the other way")
		begin := time.Now()
		write(here, []byte("bad"))
		_, err := there.Read(make([]byte, 10))
		require.ErrorIs(t, err, sim.ErrConnLost)
		about(t, 10*time.Millisecond, time.Since(begin))
		_, err = here.Read(make([]byte, 10))
		require.ErrorIs(t, err, sim.ErrConnLost)
		about(t, 20*time.Millisecond, time.Since(begin))
		time.Sleep(time.Millisecond)
		require.Equal(t, []string{"up", "down"}, a.seen())
		require.Equal(t, []string{"up", "down"}, b.seen())

		here, err = a.Transport.Open(context.Background(), b.Transport.Self(), nil)
		require.NoError(t, err)
		write(here, []byte("good"))
		require.Equal(t, "good", arrivals(t, <-b.streams, time.Second))
	})
	require.Contains(t, lines(t, trace), "corrupt  b from a")
}
