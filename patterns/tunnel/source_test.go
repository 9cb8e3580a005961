// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
)

// bridge passes on what comes from each of two tunnels to the other one, as a
// relay does: it has no goroutine, only what Notify calls.
type bridge struct {
	mu    sync.Mutex // guards what follows, and is held while sources are asked
	sides [2]patterns.TunnelSource
	held  [2]piece // taken from a side and not taken by the other
	ended [2]bool
}

type piece struct {
	data []byte
	last bool
	some bool
}

func newBridge(a, b patterns.TunnelSource) *bridge {
	br := &bridge{sides: [2]patterns.TunnelSource{a, b}}
	a.Notify(br.pass)
	b.Notify(br.pass)
	return br
}

func (b *bridge) pass() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for from := range b.sides {
		for b.step(from) {
		}
	}
}

// step passes one chunk on, or an end, and says whether there may be more.
func (b *bridge) step(from int) bool {
	in, out, held := b.sides[from], b.sides[1-from], &b.held[from]
	if !held.some {
		data, last, more, err := in.Take()
		switch {
		case err == io.EOF && !b.ended[from]:
			b.ended[from] = true
			out.CloseSend()
			return false
		case err != nil && err != io.EOF && !b.ended[from]:
			b.ended[from] = true
			out.Reset(patterns.CodeUnknown, err.Error())
			return false
		case !more:
			return false
		}
		*held = piece{data, last, true}
	}
	if errors.Is(out.Offer(held.data, held.last), patterns.ErrWouldBlock) {
		return false
	}
	in.Return(len(held.data))
	*held = piece{}
	return true
}

// bridged starts three nodes: what a opens at c's "bridge" leads to b's "pipe".
func (s *stage) bridged(h func(context.Context, patterns.Tunnel) error, change ...func(*node.Config)) (a, b, c *node.Node) {
	a, b, c = s.node("a", change...), s.node("b", change...), s.node("c", change...)
	s.serve(b, h, patterns.Limits{MessageBytes: 4 << 20})
	_, err := c.Serve(context.Background(), "bridge", patterns.Service{Tunnel: func(ctx context.Context, t patterns.Tunnel) error {
		onward, err := c.OpenTunnel(ctx, "pipe", t.Info().Open)
		if err != nil {
			return err
		}
		newBridge(t.(patterns.TunnelSource), onward.(patterns.TunnelSource))
		t.(patterns.TunnelSource).Detach()
		return nil
	}}, patterns.Limits{})
	require.NoError(s.t, err)
	return a, b, c
}

func (s *stage) cross(a *node.Node) patterns.Tunnel {
	t, err := a.OpenTunnel(context.Background(), "bridge", patterns.Message{})
	require.NoError(s.t, err)
	return t
}

func TestASourcePassesATunnelOnWithoutAGoroutine(t *testing.T) {
	// This test joins two tunnels by what sources offer: messages of all sizes
	// come back whole over it, ends and resets are passed on, and its handler
	// has returned long before. Twice, with the same trace.
	sim.Replay(t, sim.Config{Seed: 3}, 2, func(t *testing.T, n *sim.Network) {
		s := newStage(t, n)
		a, b, c := s.bridged(echo)
		tunnel := s.cross(a)
		for _, size := range []int{0, 1, 10_000, 64 << 10, 300_000, 2 << 20} {
			sent := pattern(size, size)
			result := make(chan error)
			go func() { result <- tunnel.Send(context.Background(), sent) }()
			var got bytes.Buffer
			_, err := tunnel.ReceiveTo(t.Context(), &got)
			require.NoError(t, err)
			require.True(t, bytes.Equal(sent, got.Bytes()), size)
			require.NoError(t, <-result)
		}
		require.NoError(t, tunnel.CloseSend())
		_, err := tunnel.Receive(t.Context())
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, done(t, tunnel))
		time.Sleep(time.Second)
		requireNothingLeft(t, a, b, c)

		tunnel = s.cross(a)
		time.Sleep(time.Second)
		require.NoError(t, tunnel.Reset(7, "enough"))
		time.Sleep(time.Second)
		requireNothingLeft(t, a, b, c)
	})
}

func TestASourceSlowsTheWriterBehindIt(t *testing.T) {
	// This test has the reader behind a bridge stall: what is under way is two
	// windows at most, and all of it comes when the reader wakes up.
	play(t, func(t *testing.T, s *stage) {
		read := make(chan struct{})
		sum := make(chan int, 1)
		a, _, _ := s.bridged(func(ctx context.Context, t patterns.Tunnel) error {
			<-read
			n, err := t.ReceiveTo(ctx, io.Discard)
			sum <- int(n)
			return err
		})
		tunnel := s.cross(a)
		sent := 0
		for {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := tunnel.Send(ctx, make([]byte, 1000))
			cancel()
			if err != nil {
				break
			}
			sent += 1000
		}
		require.Less(t, sent, 3*64<<10)
		require.Greater(t, sent, 64<<10)
		close(read)
		require.Equal(t, 1000, <-sum)
	})
}

func TestManyBridgesOverAFullLane(t *testing.T) {
	// This test has many tunnels send more than the link's lane takes through
	// bridges that can't wait: nothing is lost or mixed up, and nobody starves.
	play(t, func(t *testing.T, s *stage) {
		const tunnels = 30
		a, b, c := s.bridged(echo)
		result := make(chan error, tunnels)
		for i := range tunnels {
			tunnel := s.cross(a)
			s.net.Go(fmt.Sprint("send ", i), func() {
				for k := range 5 {
					_ = tunnel.Send(context.Background(), pattern(100_000, 100*i+k))
				}
				tunnel.CloseSend()
			})
			s.net.Go(fmt.Sprint("receive ", i), func() {
				for k := range 5 {
					body, err := tunnel.Receive(context.Background())
					if err != nil || !bytes.Equal(body, pattern(100_000, 100*i+k)) {
						result <- fmt.Errorf("tunnel %d, message %d: %d bytes, %w", i, k, len(body), err)
						return
					}
				}
				_, err := tunnel.Receive(context.Background())
				if err == io.EOF {
					err = nil
				}
				result <- err
			})
		}
		for range tunnels {
			require.NoError(t, <-result)
		}
		time.Sleep(time.Second)
		requireNothingLeft(t, a, b, c)
	})
}

func TestInterruptTellsTheOtherSide(t *testing.T) {
	// This test interrupts a tunnel whose program is lost: the other side is
	// told ErrInterrupted, as if the node were.
	play(t, func(t *testing.T, s *stage) {
		a, _ := s.pair(wait, patterns.Limits{})
		tunnel := s.open(a, "")
		tunnel.(interface{ Interrupt() }).Interrupt()
		require.ErrorIs(t, tunnel.Err(), patterns.ErrClosed)

		s.serve(s.node("c"), func(ctx context.Context, t patterns.Tunnel) error {
			t.(interface{ Interrupt() }).Interrupt()
			return nil
		}, patterns.Limits{})
	})
	play(t, func(t *testing.T, s *stage) {
		a, _ := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
			t.(interface{ Interrupt() }).Interrupt()
			return nil
		}, patterns.Limits{})
		tunnel := s.open(a, "")
		_, err := tunnel.Receive(t.Context())
		require.ErrorIs(t, err, patterns.ErrInterrupted)
	})
}
