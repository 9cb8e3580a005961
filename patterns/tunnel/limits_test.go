// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
)

// wait is a handler that does nothing until its tunnel is over.
func wait(ctx context.Context, _ patterns.Tunnel) error {
	<-ctx.Done()
	return nil
}

func TestOneTunnelMoreThanTheMemberTakes(t *testing.T) {
	// This test opens one tunnel more than a member's limit: ErrOverloaded, and
	// the member's node counts it; another member gets it if there is one; and
	// when one ends there is room again.
	play(t, func(t *testing.T, s *stage) {
		a, b := s.pair(wait, patterns.Limits{Tunnels: 2})
		first := s.open(a, "")
		s.open(a, "")
		_, err := a.OpenTunnel(t.Context(), "pipe", patterns.Message{})
		require.ErrorIs(t, err, patterns.ErrOverloaded)
		require.EqualValues(t, 1, drops(b, "tunnels"))
		require.Equal(t, 2, b.Status().Tunnels.Served)
		require.Equal(t, 2, a.Status().Tunnels.Opened)

		require.NoError(t, first.Close())
		require.NoError(t, done(t, first))
		time.Sleep(time.Second)
		s.open(a, "")

		s.serve(s.node("c"), wait, patterns.Limits{})
		time.Sleep(time.Second)
		require.Equal(t, s.nodes["c"].Self().String(), s.open(a, "").Info().Peer)
	})
}

func TestTunnelsLeaveWorkersToOthers(t *testing.T) {
	// This test opens one tunnel more than three quarters of a node's workers:
	// ErrOverloaded, counted; a handler that detached its tunnel has none.
	play(t, func(t *testing.T, s *stage) {
		a, b := s.node("a"), s.node("b", func(c *node.Config) { c.Workers = 8 })
		s.serve(b, func(ctx context.Context, t patterns.Tunnel) error {
			if string(t.Info().Open.Body) == "detached" {
				t.(interface{ Detach() }).Detach()
				return nil
			}
			return wait(ctx, t)
		}, patterns.Limits{})
		for range 10 {
			s.open(a, "detached")
			time.Sleep(time.Second)
		}
		for range 6 {
			s.open(a, "")
		}
		_, err := a.OpenTunnel(t.Context(), "pipe", patterns.Message{})
		require.ErrorIs(t, err, patterns.ErrOverloaded)
		require.EqualValues(t, 1, drops(b, "workers"))
		require.Equal(t, 16, b.Status().Tunnels.Served)
	})
}

func TestAMemberWithoutTunnelsSaysSo(t *testing.T) {
	// This test opens a tunnel to a member that has none, and to one whose limit
	// is none.
	play(t, func(t *testing.T, s *stage) {
		a, b := s.pair(wait, patterns.Limits{Tunnels: -1})
		_, err := a.OpenTunnel(t.Context(), "pipe", patterns.Message{})
		require.ErrorIs(t, err, patterns.ErrOverloaded)
		_, err = b.Serve(t.Context(), "requests", patterns.Service{}, patterns.Limits{})
		require.NoError(t, err)
		var remote *patterns.RemoteError
		_, err = a.OpenTunnel(t.Context(), "requests", patterns.Message{})
		require.ErrorAs(t, err, &remote)
		require.Equal(t, patterns.CodeNoMethod, remote.Code)
		_, err = a.OpenTunnel(t.Context(), "nobody", patterns.Message{})
		require.ErrorIs(t, err, patterns.ErrNoMembers)
	})
}

func TestOneTunnelMoreThanANodeMayOpen(t *testing.T) {
	// This test opens one tunnel more than the opener's own node allows:
	// ErrTooMany, counted, and nobody was asked.
	play(t, func(t *testing.T, s *stage) {
		a := s.node("a", func(c *node.Config) { c.MaxTunnels = 2 })
		b := s.node("b")
		s.serve(b, wait, patterns.Limits{})
		s.open(a, "")
		s.open(a, "")
		_, err := a.OpenTunnel(t.Context(), "pipe", patterns.Message{})
		require.ErrorIs(t, err, patterns.ErrTooMany)
		require.EqualValues(t, 1, drops(a, "open"))
		require.Equal(t, 2, b.Status().Tunnels.Served)
	})
}

func TestTheBudgetOfANode(t *testing.T) {
	// This test opens tunnels until the member's node has given its budget away:
	// the first windows are the usual ones, then come small ones, then
	// ErrOverloaded, counted; then the same at the opener's node, where it is
	// ErrTooMany. All of them together never have more than the budget.
	for name, atMember := range map[string]bool{"member": true, "opener": false} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				const budget = 1 << 20
				small := func(c *node.Config) { c.TunnelBytes = budget }
				var a, b *node.Node
				if atMember {
					a, b = s.node("a"), s.node("b", small)
				} else {
					a, b = s.node("a", small), s.node("b")
				}
				s.serve(b, wait, patterns.Limits{})
				opened := 0
				var err error
				for err == nil {
					var tunnel patterns.Tunnel
					if tunnel, err = a.OpenTunnel(t.Context(), "pipe", patterns.Message{}); err == nil {
						opened++
						for tunnel.TrySend(make([]byte, 500)) == nil { // nobody reads
						}
					}
				}
				require.Equal(t, 12+512, opened, "12 windows of 64 KiB, 512 of 512 bytes")
				limited, want := b, patterns.ErrOverloaded
				if !atMember {
					limited, want = a, patterns.ErrTooMany
				}
				require.ErrorIs(t, err, want)
				require.EqualValues(t, 1, drops(limited, "buffer_bytes"))
				require.Equal(t, budget, limited.Status().Tunnels.BufferBytes)
			})
		})
	}
}

func TestAnOpenerThatGaveUpLeavesNoTunnel(t *testing.T) {
	// This test has the opener's patience end while the member's answer is under
	// way: the member, which has accepted, gives the tunnel up when nobody says
	// a word.
	play(t, func(t *testing.T, s *stage) {
		ended := make(chan error, 1)
		a, b := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
			_, err := t.Receive(ctx)
			ended <- err
			return nil
		}, patterns.Limits{})
		s.open(a, "").Close()
		<-ended
		s.net.CutOneWay([]string{"b"}, []string{"a"})
		_, err := a.OpenTunnel(within(t, 300*time.Millisecond), "pipe", patterns.Message{})
		var late *patterns.DeadlineError
		require.ErrorAs(t, err, &late)
		s.net.Mend([]string{"b"}, []string{"a"})
		require.ErrorIs(t, <-ended, patterns.ErrInterrupted)
		time.Sleep(5 * time.Second)
		require.Zero(t, a.Status().Tunnels)
		require.Zero(t, b.Status().Tunnels.Served)
		require.EqualValues(t, 1, drops(b, "silent_opener"))
	})
}

func TestDrainWaitsForTheHandlers(t *testing.T) {
	// This test shuts a node down while a tunnel is at work: new openings are
	// refused, the handler finishes and returns before Shutdown does, and the
	// opener sees a good end.
	play(t, func(t *testing.T, s *stage) {
		var returned time.Time
		a, b := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
			err := echo(ctx, t)
			returned = time.Now()
			return err
		}, patterns.Limits{})
		tunnel := s.open(a, "")
		result := make(chan time.Time, 1)
		go func() {
			if b.Shutdown(context.Background()) == nil {
				result <- time.Now()
			}
		}()
		time.Sleep(5 * time.Second)
		_, err := a.OpenTunnel(within(t, time.Second), "pipe", patterns.Message{})
		require.Error(t, err)
		require.NoError(t, tunnel.Send(t.Context(), []byte("still here")))
		receives(t, tunnel, "still here")
		require.NoError(t, tunnel.CloseSend())
		require.NoError(t, done(t, tunnel))
		ended := <-result
		require.False(t, returned.IsZero())
		require.False(t, ended.Before(returned))
	})
}

func TestDrainWaitsForTunnelsThatWereOpenedHere(t *testing.T) {
	// This test shuts the opener's node down while its program uses a tunnel,
	// which works on until it has ended; with a bound it is cut then.
	play(t, func(t *testing.T, s *stage) {
		a, _ := s.pair(echo, patterns.Limits{})
		c := s.node("c")
		tunnel := s.open(a, "")
		result := make(chan error, 1)
		go func() { result <- a.Shutdown(context.Background()) }()
		time.Sleep(5 * time.Second)
		require.NoError(t, tunnel.Send(t.Context(), []byte("still here")))
		_, err := tunnel.Receive(t.Context())
		require.NoError(t, err)
		require.Empty(t, result)
		require.NoError(t, tunnel.CloseSend())
		require.NoError(t, done(t, tunnel))
		require.NoError(t, <-result)

		tunnel = s.open(c, "")
		require.ErrorIs(t, c.Shutdown(within(t, 5*time.Second)), context.DeadlineExceeded)
		require.ErrorIs(t, done(t, tunnel), patterns.ErrClosed)
	})
}

func TestADrainThatIsCutShortInterrupts(t *testing.T) {
	// This test bounds the drain of one registration, then of the node: both
	// ends of the tunnel are told, and the handler has returned when Shutdown
	// does.
	play(t, func(t *testing.T, s *stage) {
		a, b := s.node("a"), s.node("b")
		returned := 0
		h := func(ctx context.Context, t patterns.Tunnel) error {
			<-ctx.Done()
			returned++
			return nil
		}
		r := s.serve(b, h, patterns.Limits{})
		tunnel := s.open(a, "")
		require.ErrorIs(t, r.Close(within(t, time.Second)), context.DeadlineExceeded)
		require.ErrorIs(t, done(t, tunnel), patterns.ErrInterrupted)
		require.Equal(t, 1, returned)

		s.serve(b, h, patterns.Limits{})
		tunnel = s.open(a, "", patterns.WaitForMember())
		require.ErrorIs(t, b.Shutdown(within(t, 5*time.Second)), context.DeadlineExceeded)
		require.Equal(t, 2, returned)
		require.ErrorIs(t, done(t, tunnel), patterns.ErrInterrupted)
		require.Zero(t, a.Status().Tunnels)
	})
}

func TestCloseEndsTunnelsAndWaitsForHandlers(t *testing.T) {
	// This test closes both nodes without a word: who waits at a tunnel is told
	// that it is closed, the handler has returned.
	play(t, func(t *testing.T, s *stage) {
		returned := false
		a, b := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
			_, err := t.Receive(context.Background())
			time.Sleep(10 * time.Millisecond)
			returned = true
			return err
		}, patterns.Limits{})
		tunnel := s.open(a, "")
		require.NoError(t, b.Close())
		require.True(t, returned)
		require.ErrorIs(t, done(t, tunnel), patterns.ErrInterrupted)
		require.NoError(t, a.Close())
		_, err := a.OpenTunnel(t.Context(), "pipe", patterns.Message{})
		require.ErrorIs(t, err, patterns.ErrClosed)
	})
}
