// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"fmt"
	"slices"
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
		lost(t, there)
		about(t, 10*time.Millisecond, time.Since(begin))
		dumb(t, here)
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

// This test checks that a node that moves finds its own connections dead at once, that its
// peer notices by the keepalive, and that both meet again under the new address.
func TestWhoMovesHasAnotherAddress(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		a, b, here, there := two(t, n)
		before := n.Addr("a")
		begin := time.Now()
		n.Move("a")
		lost(t, here)
		about(t, 0, time.Since(begin))
		require.NotEqual(t, before, n.Addr("a"))
		require.Equal(t, []string{n.Addr("a")}, a.Transport.Addrs())
		lost(t, there)
		about(t, 25*time.Second, time.Since(begin))

		_, err := b.Transport.Connect(context.Background(), overlay.Candidate{Addrs: []string{before}})
		require.ErrorIs(t, err, sim.ErrNoAddress)
		for _, addr := range []string{n.Addr("a"), "a:4001"} {
			id, err := b.Transport.Connect(context.Background(), overlay.Candidate{Addrs: []string{addr}})
			require.NoError(t, err)
			require.Equal(t, a.Transport.Self(), id)
		}
	})
}

// This test checks that a node that comes back as another peer has the address and the
// faults that it had, and neither the key nor the past.
func TestWhoIsRenewedIsAnotherPeer(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		a, b, _, there := two(t, n)
		require.Panics(t, func() { n.Renew("a") })
		addr := n.Addr("a")
		n.Silence("a")
		time.Sleep(2 * time.Second)
		n.Renew("a")
		again := start(t, n, "a")
		lost(t, there) // as the new one's host answers what comes for the old one
		require.NotEqual(t, a.Transport.Self(), again.Transport.Self())
		require.Equal(t, addr, n.Addr("a"))
		require.EqualValues(t, 1, n.Incarnation("a"))
		require.NotEqual(t, a.Rand.Stream("x").Uint64(), again.Rand.Stream("x").Uint64())

		_, err := b.Transport.Connect(context.Background(), overlay.Candidate{Peer: a.Transport.Self(), Addrs: []string{addr}})
		require.Error(t, err)
		id, err := b.Transport.Connect(context.Background(), overlay.Candidate{Addrs: []string{addr}})
		require.NoError(t, err)
		require.Equal(t, again.Transport.Self(), id)

		n.Partition([]string{"a"}, []string{"b"})
		n.Crash("a")
		n.Renew("a")
		cut := start(t, n, "a")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err = b.Transport.Connect(ctx, overlay.Candidate{Peer: cut.Transport.Self(), Addrs: []string{addr}})
		require.ErrorIs(t, err, context.DeadlineExceeded)
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
				lost(t, there)
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
		sent := time.Now()
		say(t, here, "1")
		time.Sleep(5 * time.Millisecond) // still on its way
		n.Partition([]string{"a", "c"}, []string{"b"})
		say(t, here, "2")
		dialed := make(chan error, 1)
		n.Go("dial", func() { dialed <- c.connect(b) })
		time.Sleep(3 * time.Second)
		say(t, here, "3")
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
		say(t, here, "x")
		hear(t, there, "x")

		n.Partition([]string{"a"}, []string{"b"})
		time.Sleep(31 * time.Second)
		require.Equal(t, []string{"up", "down"}, a.seen())
		require.Equal(t, []string{"up", "down"}, b.seen())
		lost(t, here)
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
		say(t, here, "x")
		time.Sleep(5 * time.Second)
		require.Empty(t, fired)
		require.True(t, stopped.Stop())
		require.False(t, stopped.Stop())
		n.Resume("b")
		about(t, 5*time.Second, <-fired)
		hear(t, there, "x")
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
				hearAll(t, there, "01233")
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

// This test checks that a slow router's lookups find the same, later.
func TestSlowRouter(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		all := join(t, n, 20)
		n.Run(4 * time.Second)
		n.RouterFault("n3", sim.RouterSlow)
		look := func() time.Duration {
			begin := time.Now()
			got, err := all[3].Router.Closest(context.Background(), overlay.Key{1}, 5)
			require.NoError(t, err)
			require.Equal(t, nearest(all, overlay.Key{1}, 5), got)
			return time.Since(begin)
		}
		require.Greater(t, look(), 5*time.Second)
		n.RouterFault("n3", "")
		require.Less(t, look(), time.Second)
		require.Panics(t, func() { n.RouterFault("n3", "lazy") })
	})
}

// This test checks that a stale router keeps the dead and answers with them,
// the others do not, and that it learns the truth when it is well again.
func TestStaleRouter(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		all := join(t, n, 20)
		n.Run(4 * time.Second)
		n.RouterFault("n3", sim.RouterStale)
		for i := 10; i < 20; i++ {
			n.Crash(fmt.Sprint("n", i))
		}
		time.Sleep(30 * time.Second)
		finds := func(i int) []string {
			got, err := all[i].Router.Closest(context.Background(), overlay.Key{1}, 20)
			require.NoError(t, err)
			var names []string
			for _, a := range all {
				if slices.Contains(got, a.Transport.Self()) {
					names = append(names, a.name)
				}
			}
			return names
		}
		require.Len(t, finds(3), 20)
		require.Equal(t, 19, all[3].Router.Size())
		require.Len(t, finds(4), 10, "who is well asks the dead, and drops them")
		n.RouterFault("n3", "")
		time.Sleep(30 * time.Second)
		require.Len(t, finds(3), 10)
		require.Equal(t, 9, all[3].Router.Size())
	})
}

// This test checks that a wrong router answers with others than the closest,
// that whom it knows exists, and that the others still find the closest.
func TestWrongRouter(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		all := join(t, n, 60)
		n.Run(4 * time.Second)
		n.RouterFault("n3", sim.RouterWrong)
		require.Less(t, agreement(all, all[3:4]), 0.5)
		require.Greater(t, agreement(all, append(all[:3:3], all[4:]...)), 0.9)
		key := overlay.Key{7}
		require.Equal(t, all[3].Router.Nearest(key, 3), all[3].Router.Nearest(key, 3), "it is sure of itself")
		require.NotEqual(t, nearest(all, key, 3), all[3].Router.Nearest(key, 3))
		n.Calm()
		require.Equal(t, 1.0, agreement(all, all))
	})
}

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
		dumb(t, here)
		n.Mend([]string{"b"}, []string{"a"})
		require.NoError(t, here.SetWriteDeadline(time.Time{}))
		say(t, here, "more")
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
		hear(t, there, "1")
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
		hear(t, there, "2")
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
		lost(t, there)
		about(t, 10*time.Millisecond, time.Since(begin))
		lost(t, here)
		about(t, 20*time.Millisecond, time.Since(begin))
		time.Sleep(time.Millisecond)
		require.Equal(t, []string{"up", "down"}, a.seen())
		require.Equal(t, []string{"up", "down"}, b.seen())

		here, err := a.Transport.Open(context.Background(), b.Transport.Self(), nil)
		require.NoError(t, err)
		write(here, []byte("good"))
		require.Equal(t, "good", arrivals(t, <-b.streams, time.Second))
	})
	require.Contains(t, lines(t, trace), "corrupt  b from a")
}
