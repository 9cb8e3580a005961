// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim"
)

// This test checks that a connection takes two round trips, that both sides
// are told once, and that the ways to write an address all work.
func TestConnect(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		b := start(t, n, "b")
		id := b.Transport.Self()
		dotted := strings.NewReplacer("/ip4/", "", "/tcp/", ":").Replace(n.Addr("b"))
		for i, c := range []overlay.Candidate{
			{Peer: id, Addrs: []string{n.Addr("b")}},
			{Addrs: []string{n.Addr("b") + "/p2p/" + id.String()}},
			{Addrs: []string{n.Addr("b")}},
			{Addrs: []string{"b:4001"}},
			{Addrs: []string{"nobody:4001", dotted}},
			{Peer: id, Addrs: []string{n.Addr("a0"), n.Addr("b")}},
		} {
			a := start(t, n, fmt.Sprint("a", i))
			begin := time.Now()
			got, err := a.Transport.Connect(context.Background(), c)
			require.NoError(t, err)
			require.Equal(t, id, got)
			about(t, 40*time.Millisecond, time.Since(begin))

			begin = time.Now()
			_, err = a.Transport.Connect(context.Background(), c)
			require.NoError(t, err)
			require.Zero(t, time.Since(begin), "it stands already")
			require.Equal(t, []string{"up"}, a.seen())
			require.Len(t, b.seen(), i+1)
		}
	})
}

// This test checks each way a dial can fail, with the time it takes.
func TestDialFails(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		a, b := start(t, n, "a"), start(t, n, "b")
		n.Seam("deaf") // never started
		crashed, lost := start(t, n, "crashed"), start(t, n, "lost")
		n.Crash("crashed")
		n.Silence("lost")
		cases := []struct {
			name string
			to   overlay.Candidate
			err  error
			took time.Duration
		}{
			{"unknown address", overlay.Candidate{Addrs: []string{"/ip4/192.0.2.1/tcp/1"}}, sim.ErrNoAddress, 0},
			{"peer without address", overlay.Candidate{Peer: b.Transport.Self()}, sim.ErrNoAddress, 0},
			{"another peer", overlay.Candidate{Peer: lost.Transport.Self(), Addrs: b.Transport.Addrs()}, sim.ErrWrongPeer, 0},
			{"itself", overlay.Candidate{Addrs: a.Transport.Addrs()}, sim.ErrWrongPeer, 0},
			{"nobody listens", overlay.Candidate{Addrs: []string{n.Addr("deaf")}}, sim.ErrRefused, 40 * time.Millisecond},
			{"crashed", crashed.candidate(), sim.ErrRefused, 40 * time.Millisecond},
			{"lost", lost.candidate(), sim.ErrTimeout, 5 * time.Second},
		}
		for _, c := range cases {
			begin := time.Now()
			_, err := a.Transport.Connect(context.Background(), c.to)
			require.ErrorIs(t, err, c.err, c.name)
			about(t, c.took, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := a.Transport.Open(ctx, lost.Transport.Self(), lost.Transport.Addrs())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Empty(t, a.seen())
	})
}

// This test checks that two nodes that dial each other at the same instant
// both succeed, and are told of one peer only.
func TestSimultaneousDials(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		a, b := start(t, n, "a"), start(t, n, "b")
		result := make(chan error, 2)
		n.Go("a", func() { result <- a.connect(b) })
		n.Go("b", func() { result <- b.connect(a) })
		require.NoError(t, <-result)
		require.NoError(t, <-result)
		time.Sleep(time.Second)
		require.Equal(t, []string{"up"}, a.seen())
		require.Equal(t, []string{"up"}, b.seen())
		a.Transport.Disconnect(b.Transport.Self())
		time.Sleep(time.Second)
		require.Equal(t, []string{"up", "down"}, a.seen())
		require.Equal(t, []string{"up", "down"}, b.seen())
	})
}

// This test checks that what was written before Disconnect or Close still
// arrives, and that the peer then learns of the end.
func TestCloseIsSeenAfterTheLastByte(t *testing.T) {
	for _, how := range []string{"disconnect", "close"} {
		t.Run(how, func(t *testing.T) {
			sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
				a, b, here, there := two(t, n)
				_, err := here.Write([]byte("goodbye"))
				require.NoError(t, err)
				if how == "close" {
					require.NoError(t, a.Transport.Close())
				} else {
					a.Transport.Disconnect(b.Transport.Self())
				}
				_, err = here.Write([]byte("x"))
				require.Error(t, err)
				buffer := make([]byte, 10)
				count, err := there.Read(buffer)
				require.NoError(t, err)
				require.Equal(t, "goodbye", string(buffer[:count]))
				_, err = there.Read(buffer)
				require.Error(t, err)
				time.Sleep(time.Millisecond)
				require.Equal(t, []string{"up", "down"}, b.seen())
			})
		})
	}
}

// This test checks that Close waits for a call of the handler that is under
// way, and that none begins afterwards.
func TestNoHandlerCallAfterClose(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		slow := &slowHandler{actor: &actor{Seam: n.Seam("slow"), streams: make(chan overlay.Stream, 10)}, gate: make(chan struct{})}
		require.NoError(t, slow.Transport.Start(slow))
		a := start(t, n, "a")
		_, err := a.Transport.Open(context.Background(), slow.Transport.Self(), slow.Transport.Addrs())
		require.NoError(t, err)
		time.Sleep(time.Second) // PeerUp blocks, HandleStream waits behind it
		n.At(5*time.Second, "open the gate", func() { close(slow.gate) })
		require.NoError(t, slow.Transport.Close())
		about(t, 5*time.Second, n.Elapsed())
		time.Sleep(time.Second)
		require.Equal(t, []string{"enter"}, slow.seen())
	})
}

// This test checks that the calls of one peer do not overlap, even if one of
// them blocks, while those of others go on.
func TestHandlerCallsOfOnePeerDoNotOverlap(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		slow := &slowHandler{actor: &actor{Seam: n.Seam("slow"), streams: make(chan overlay.Stream, 10)}, gate: make(chan struct{})}
		require.NoError(t, slow.Transport.Start(slow))
		t.Cleanup(func() { require.NoError(t, slow.Transport.Close()) })
		a, b := start(t, n, "a"), start(t, n, "b")
		for _, x := range []*actor{a, b} {
			s, err := x.Transport.Open(context.Background(), slow.Transport.Self(), slow.Transport.Addrs())
			require.NoError(t, err)
			time.Sleep(time.Second)
			require.NoError(t, s.Reset(0))
			x.Transport.Disconnect(slow.Transport.Self())
			time.Sleep(time.Second)
		}
		require.Equal(t, []string{"enter", "enter"}, slow.seen(), "one for each peer")
		close(slow.gate)
		time.Sleep(time.Second)
		require.Len(t, slow.seen(), 6)
	})
}

type slowHandler struct {
	*actor
	gate chan struct{}
}

func (s *slowHandler) PeerUp(peer.ID)              { s.note("enter"); <-s.gate }
func (s *slowHandler) PeerDown(peer.ID)            { s.note("down") }
func (s *slowHandler) HandleStream(overlay.Stream) { s.note("stream") }
