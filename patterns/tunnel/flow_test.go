// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
)

// endless is a reader of n bytes that are not alike, and their hash.
type endless struct {
	left int
	sum  hash.Hash
	next byte
}

func newEndless(n int) *endless { return &endless{left: n, sum: sha256.New()} }

func (r *endless) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	b = b[:min(len(b), r.left)]
	for i := 0; i < len(b); i += 512 {
		b[i] = r.next
		r.next++
	}
	r.left -= len(b)
	r.sum.Write(b)
	return len(b), nil
}

// gauge is a writer that hashes and remembers how much a node had given away at
// most.
type gauge struct {
	sum  hash.Hash
	n    *node.Node
	most int
	wait time.Duration // for each write
}

func (g *gauge) Write(b []byte) (int, error) {
	g.most = max(g.most, g.n.Status().Tunnels.BufferBytes)
	if g.wait > 0 {
		time.Sleep(g.wait)
	}
	return g.sum.Write(b)
}

func TestALargeMessagePassesASmallWindow(t *testing.T) {
	// This test streams one message of 64 MiB through a node whose whole budget
	// is one window of 64 KiB: it arrives whole, and what was received and not
	// read never had more than that.
	bothWays(t, func(t *testing.T, s *stage, change []func(*node.Config)) {
		var g *gauge
		var got int64
		small := func(c *node.Config) { c.TunnelBytes = 88 << 10 } // three quarters are for one usual window
		a := s.node("a", change...)
		b := s.node("b", append(change, small)...)
		s.serve(b, func(ctx context.Context, t patterns.Tunnel) (err error) {
			g = &gauge{sum: sha256.New(), n: b}
			got, err = t.ReceiveTo(ctx, g)
			return err
		}, patterns.Limits{})
		tunnel := s.open(a, "")
		r := newEndless(64 << 20)
		n, err := tunnel.SendFrom(t.Context(), r)
		require.NoError(t, err)
		require.EqualValues(t, 64<<20, n)
		require.NoError(t, tunnel.CloseSend())
		require.NoError(t, done(t, tunnel))
		require.EqualValues(t, 64<<20, got)
		require.Equal(t, r.sum.Sum(nil), g.sum.Sum(nil))
		require.Equal(t, 64<<10, g.most)
	})
}

func TestAMessageBeyondTheLimitStaysForReceiveTo(t *testing.T) {
	// This test sends a message of one byte more than the member takes in one
	// piece: Receive refuses it by name, twice, ReceiveTo has all of it, and
	// the next message comes as if nothing had been.
	play(t, func(t *testing.T, s *stage) {
		const limit = 200_000
		result := make(chan error, 1)
		a, _ := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
			result <- func() error {
				for range 2 {
					if _, err := t.Receive(ctx); !errors.Is(err, patterns.ErrTooLarge) {
						return fmt.Errorf("too large, not %w", err)
					}
				}
				var whole bytes.Buffer
				if _, err := t.ReceiveTo(ctx, &whole); err != nil || !bytes.Equal(whole.Bytes(), pattern(limit+1, 1)) {
					return fmt.Errorf("another message of %d bytes: %w", whole.Len(), err)
				}
				next, err := t.Receive(ctx)
				if err != nil || !bytes.Equal(next, pattern(limit, 2)) {
					return fmt.Errorf("not the next message: %w", err)
				}
				return nil
			}()
			return nil
		}, patterns.Limits{MessageBytes: limit})
		tunnel := s.open(a, "")
		require.NoError(t, tunnel.Send(t.Context(), pattern(limit+1, 1)))
		require.NoError(t, tunnel.Send(t.Context(), pattern(limit, 2)))
		require.NoError(t, <-result)
	})
}

func TestAStalledReaderStopsTheWriter(t *testing.T) {
	// This test has a member that does not read: the opener can send one window
	// and not a byte more, TrySend says so at once and has sent nothing, and
	// both go on when the member reads. Other tunnels of the same link are not
	// held up meanwhile.
	play(t, func(t *testing.T, s *stage) {
		read := make(chan struct{})
		sums := make(chan int, 1)
		a, _ := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
			if string(t.Info().Open.Body) == "echo" {
				return echo(ctx, t)
			}
			<-read
			sum := 0
			_ = receiveAll(ctx, t, func(body []byte) { sum += len(body) })
			sums <- sum
			return nil
		}, patterns.Limits{})
		tunnel := s.open(a, "")
		sent := 0
		for tunnel.TrySend(make([]byte, 1000)) == nil {
			sent += 1000
		}
		require.Equal(t, 65_000, sent)
		require.ErrorIs(t, tunnel.TrySend(make([]byte, 1000)), patterns.ErrWouldBlock)
		require.NoError(t, tunnel.TrySend(make([]byte, 64)), "there is credit for that")
		var late *patterns.DeadlineError
		require.ErrorAs(t, tunnel.Send(within(t, time.Minute), make([]byte, 1000)), &late)

		other := s.open(a, "echo")
		begin := time.Now()
		for i := range 100 {
			require.NoError(t, other.Send(t.Context(), pattern(5000, i)))
			_, err := other.Receive(t.Context())
			require.NoError(t, err)
		}
		require.Less(t, time.Since(begin), 2*time.Second)

		close(read)
		require.NoError(t, tunnel.Send(t.Context(), make([]byte, 100_000)))
		require.NoError(t, tunnel.CloseSend())
		require.Equal(t, 65_064+100_000, <-sums)
	})
}

func TestTheWindowGrowsWithAReaderThatKeepsUp(t *testing.T) {
	// This test sends as fast as it goes over a long way: the window grows to
	// 4 MiB, and a slow reader's stays as it is.
	play(t, func(t *testing.T, s *stage) {
		a := s.node("a")
		b := s.node("b")
		g := &gauge{sum: sha256.New(), n: b}
		s.serve(b, func(ctx context.Context, t patterns.Tunnel) error {
			_, err := t.ReceiveTo(ctx, g)
			return err
		}, patterns.Limits{})
		tunnel := s.open(a, "")
		_, err := tunnel.SendFrom(t.Context(), newEndless(40<<20))
		require.NoError(t, err)
		require.NoError(t, tunnel.Close())
		require.NoError(t, done(t, tunnel))
		require.Equal(t, 4<<20, g.most)

		g.most, g.wait = 0, 100*time.Millisecond
		tunnel = s.open(a, "")
		_, err = tunnel.SendFrom(t.Context(), newEndless(2<<20))
		require.NoError(t, err)
		require.NoError(t, tunnel.Close())
		require.NoError(t, done(t, tunnel))
		require.LessOrEqual(t, g.most, 128<<10)
	})
}

func TestATunnelNeverWaitsForATimer(t *testing.T) {
	// This test sends several windows over a way of 12 ms there and back, to a reader
	// that keeps up: what that takes is the way's, in windows of 4 MiB, and no
	// credit or acknowledgement waits for the 50 ms after which a timer looks.
	for _, size := range []int{1000, 64 << 10} {
		sim.Run(t, sim.Config{Seed: 1, Window: 16 << 20}, func(t *testing.T, n *sim.Network) {
			s := newStage(t, n)
			a, _ := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
				_ = receiveAll(ctx, t, func([]byte) {})
				return nil
			}, patterns.Limits{})
			tunnel, body := s.open(a, ""), make([]byte, size)
			send := func(sum int) time.Duration {
				began := time.Now()
				for ; sum > 0; sum -= size {
					require.NoError(t, tunnel.Send(t.Context(), body))
				}
				return time.Since(began)
			}
			send(16 << 20) // the window grows
			took := send(32 << 20)
			t.Logf("messages of %d bytes: %v", size, took)
			require.Less(t, took, 250*time.Millisecond)
			require.NoError(t, tunnel.Close())
			require.NoError(t, done(t, tunnel))
		})
	}
}

func TestManySmallMessagesCostCreditBesideTheirBytes(t *testing.T) {
	// This test sends messages of one byte to a member that does not read: what
	// they cost in memory is bounded, too.
	play(t, func(t *testing.T, s *stage) {
		a, _ := s.pair(wait, patterns.Limits{})
		tunnel := s.open(a, "")
		n := 0
		for tunnel.TrySend([]byte{1}) == nil {
			n++
		}
		require.Equal(t, 1024, n)
	})
}

func TestTunnelsShareALink(t *testing.T) {
	// This test has many tunnels send all they can over one slow link: they take
	// turns, so that none has much more through than another one, and a request
	// in between is not held up.
	play(t, func(t *testing.T, s *stage) {
		const tunnels = 8
		a := s.node("a")
		b := s.node("b")
		var got [tunnels]atomic.Int64
		s.serve(b, func(ctx context.Context, t patterns.Tunnel) error {
			i := int(t.Info().Open.Body[0])
			_ = receiveAll(ctx, t, func(body []byte) { got[i].Add(int64(len(body))) })
			return nil
		}, patterns.Limits{})
		var open []patterns.Tunnel
		stop, cancel := context.WithCancel(t.Context())
		for i := range tunnels {
			tunnel := s.open(a, string([]byte{byte(i)}))
			open = append(open, tunnel)
			s.net.Go(fmt.Sprint("send ", i), func() {
				for tunnel.Send(stop, make([]byte, 20_000*(1+i%3))) == nil {
				}
			})
		}
		time.Sleep(2 * time.Second)
		cancel()
		least, most := got[0].Load(), got[0].Load()
		for i := range got {
			least, most = min(least, got[i].Load()), max(most, got[i].Load())
		}
		require.NotZero(t, least)
		require.Less(t, most, 4*least)
		for _, tunnel := range open {
			_ = tunnel.Reset(0, "")
		}
	})
}
