// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/link"
)

// ways are the configurations in which everything has to work.
var ways = map[string][]func(*node.Config){"plain": nil, "sealed": {sealed}}

// bothWays plays f in each of them.
func bothWays(t *testing.T, f func(t *testing.T, s *stage, change []func(*node.Config))) {
	t.Helper()
	for name, change := range ways {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) { f(t, s, change) })
		})
	}
}

func TestATunnelCarriesMessagesBothWaysAndEndsInGoodOrder(t *testing.T) {
	// This test opens a tunnel, gets every message back whole, whatever its
	// size, closes its direction and sees both sides end without an error,
	// with nothing left of it at either node.
	bothWays(t, func(t *testing.T, s *stage, change []func(*node.Config)) {
		var info patterns.TunnelInfo
		a, b := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
			info = t.Info()
			return echo(ctx, t)
		}, patterns.Limits{}, change...)
		tunnel, err := a.OpenTunnel(t.Context(), "pipe", patterns.Message{
			Headers: patterns.Headers{{Key: "k", Value: "v"}}, Body: []byte("hello"),
		})
		require.NoError(t, err)
		for _, size := range []int{0, 1, 1000, 64 << 10, 65<<10 + 1, 1 << 20} {
			sent := pattern(size, size)
			done := make(chan error)
			go func() { done <- tunnel.Send(t.Context(), sent) }()
			got, err := tunnel.Receive(t.Context())
			require.NoError(t, err)
			require.True(t, bytes.Equal(sent, got), size)
			require.NoError(t, <-done)
		}
		require.NoError(t, tunnel.CloseSend())
		require.ErrorIs(t, tunnel.Send(t.Context(), nil), patterns.ErrClosed)
		_, err = tunnel.Receive(t.Context())
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, done(t, tunnel))
		require.NoError(t, tunnel.Close())

		require.Equal(t, "hello", string(info.Open.Body))
		require.Equal(t, "v", info.Open.Headers.Get("k"))
		require.Equal(t, a.Self().String(), info.Peer)
		require.Equal(t, b.Self().String(), tunnel.Info().Peer)
		require.Equal(t, info.Member, tunnel.Info().Member)
		requireNothingLeft(t, a, b)
	})
}

// requireNothingLeft checks that a second later no tunnel has a place, memory or a
// counter at any of the nodes.
func requireNothingLeft(t *testing.T, nodes ...*node.Node) {
	t.Helper()
	time.Sleep(time.Second)
	for _, n := range nodes {
		s := n.Status()
		require.Zero(t, s.Tunnels)
		for name := range s.Drops {
			require.NotContains(t, name, "tunnel.")
		}
	}
}

func TestEachSideMayGoOnAfterTheOtherHasEnded(t *testing.T) {
	// This test has the opener end its direction first: what the member sends
	// afterwards comes whole, and then the end.
	play(t, func(t *testing.T, s *stage) {
		a, b := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
			if _, err := t.Receive(ctx); err != io.EOF {
				return fmt.Errorf("the end, not %v", err)
			}
			for i := range 50 {
				if err := t.Send(ctx, pattern(10_000, i)); err != nil {
					return err
				}
			}
			return nil
		}, patterns.Limits{})
		tunnel := s.open(a, "")
		require.NoError(t, tunnel.CloseSend())
		for i := range 50 {
			got, err := tunnel.Receive(t.Context())
			require.NoError(t, err)
			require.True(t, bytes.Equal(pattern(10_000, i), got))
		}
		_, err := tunnel.Receive(t.Context())
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, done(t, tunnel))
		requireNothingLeft(t, a, b)
	})
}

func TestAResetTellsTheOtherSideCodeAndText(t *testing.T) {
	// This test resets from either side, by a handler's error and by its
	// panic, and looks at what both sides get.
	bothWays(t, resets)
}

func resets(t *testing.T, s *stage, change []func(*node.Config)) {
	a, _ := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
		switch string(t.Info().Open.Body) {
		case "remote error":
			return &patterns.RemoteError{Code: 404, Message: "no such room"}
		case "error":
			return errors.New("tired")
		case "panic":
			panic("help")
		case "refusal":
			return &patterns.Refusal{Cause: patterns.ErrOverloaded}
		}
		_, err := t.Receive(ctx)
		var reset *patterns.TunnelError
		if !errors.As(err, &reset) || reset.Code != 77 || reset.Message != "enough" {
			return fmt.Errorf("a reset, not %v", err)
		}
		<-ctx.Done()
		if !errors.Is(t.Send(ctx, nil), err) {
			return fmt.Errorf("why it ended")
		}
		return nil
	}, patterns.Limits{}, change...)
	for body, want := range map[string]patterns.TunnelError{
		"remote error": {Code: 404, Message: "no such room"},
		"error":        {Code: patterns.CodeUnknown, Message: "tired"},
		"panic":        {Code: patterns.CodePanic, Message: "help"},
	} {
		tunnel := s.open(a, body)
		_, err := tunnel.Receive(t.Context())
		var reset *patterns.TunnelError
		require.ErrorAs(t, err, &reset)
		require.Equal(t, want, *reset)
		require.Equal(t, err, done(t, tunnel))
	}
	tunnel := s.open(a, "refusal")
	_, err := tunnel.Receive(t.Context())
	require.ErrorIs(t, err, patterns.ErrOverloaded)

	tunnel = s.open(a, "")
	require.NoError(t, tunnel.Reset(77, "enough"))
	require.ErrorIs(t, tunnel.Err(), patterns.ErrClosed)
	_, err = tunnel.Receive(t.Context())
	require.ErrorIs(t, err, patterns.ErrClosed)
}

func TestCloseEndsBothDirections(t *testing.T) {
	// This test closes a tunnel whose member neither reads nor stops to send:
	// the member's sends end, so does its context, and nobody is stuck.
	play(t, func(t *testing.T, s *stage) {
		var sendErr error
		var ended bool
		a, b := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
			for sendErr == nil {
				sendErr = t.Send(context.Background(), pattern(1000, 1))
			}
			<-ctx.Done()
			ended = true
			return nil
		}, patterns.Limits{})
		tunnel := s.open(a, "")
		time.Sleep(time.Second)
		require.NoError(t, tunnel.Close())
		require.NoError(t, done(t, tunnel))
		_, err := tunnel.Receive(t.Context())
		require.ErrorIs(t, err, patterns.ErrClosed)
		time.Sleep(time.Second)
		require.ErrorIs(t, sendErr, patterns.ErrUnread)
		require.True(t, ended)
		requireNothingLeft(t, a, b)
	})
}

func TestWhatWasSentBeforeCloseArrives(t *testing.T) {
	// This test sends, closes at once, and finds all of it at the member,
	// behind it the end.
	play(t, func(t *testing.T, s *stage) {
		got, end := make(chan []byte, 21), make(chan error, 1)
		a, b := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
			time.Sleep(time.Second)
			end <- receiveAll(ctx, t, func(body []byte) { got <- body })
			return nil
		}, patterns.Limits{})
		tunnel := s.open(a, "")
		for i := range 20 {
			require.NoError(t, tunnel.Send(t.Context(), pattern(3000, i)))
		}
		require.NoError(t, tunnel.Close())
		require.ErrorIs(t, <-end, io.EOF)
		require.Len(t, got, 20)
		time.Sleep(5 * time.Second)
		require.NoError(t, done(t, tunnel))
		requireNothingLeft(t, a, b)
	})
}

func TestALostPeerInterruptsATunnelAtBothEnds(t *testing.T) {
	// This test crashes the member's node: the opener's receiver, which waits,
	// is told, after it got what had come.
	play(t, func(t *testing.T, s *stage) {
		a, b := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
			if err := t.Send(ctx, []byte("last words")); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		}, patterns.Limits{})
		tunnel := s.open(a, "")
		time.Sleep(time.Second)
		s.net.Crash("b")
		require.NoError(t, b.Close())
		require.ErrorIs(t, done(t, tunnel), patterns.ErrInterrupted)
		receives(t, tunnel, "last words")
		_, err := tunnel.Receive(t.Context())
		require.ErrorIs(t, err, patterns.ErrInterrupted)
		require.ErrorIs(t, tunnel.Send(t.Context(), nil), patterns.ErrInterrupted)
		requireNothingLeft(t, a)
	})
}

func TestAHungPeerIsNoticed(t *testing.T) {
	// This test freezes the member's node without a word: an idle tunnel ends
	// when the silent link is given up, because it has heartbeats run.
	play(t, func(t *testing.T, s *stage) {
		a, _ := s.pair(wait, patterns.Limits{})
		tunnel := s.open(a, "")
		time.Sleep(time.Minute)
		s.net.Pause("b")
		begin := time.Now()
		require.ErrorIs(t, done(t, tunnel), patterns.ErrInterrupted)
		require.Less(t, time.Since(begin), 16*time.Second)
		s.net.Resume("b")
		time.Sleep(time.Second)
	})
}

func TestDeadlinesOfSendAndReceive(t *testing.T) {
	// This test lets a receive and a send run into their deadlines: whole
	// messages stay possible, a message that broke off resets the tunnel, and
	// the beginning of one that Receive has taken waits for the next call.
	play(t, func(t *testing.T, s *stage) {
		a, _ := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
			if string(t.Info().Open.Body) == "drip" {
				reader := io.MultiReader(bytes.NewReader([]byte("slow ")), slowly{time.Second}, bytes.NewReader([]byte("message")))
				_, err := t.SendFrom(ctx, reader)
				return err
			}
			<-ctx.Done()
			return nil
		}, patterns.Limits{})
		tunnel := s.open(a, "")
		var late *patterns.DeadlineError
		_, err := tunnel.Receive(within(t, time.Second))
		require.ErrorAs(t, err, &late)
		require.True(t, late.Timeout())

		for err = nil; err == nil; { // nobody reads
			err = tunnel.Send(within(t, time.Second), pattern(10_000, 1))
		}
		require.ErrorAs(t, err, &late)
		if tunnel.Err() == nil { // not in the middle
			err = tunnel.Send(within(t, time.Second), pattern(1<<20, 1))
			require.ErrorAs(t, err, &late)
		}
		require.ErrorIs(t, tunnel.Err(), patterns.ErrClosed, "in the middle")

		tunnel = s.open(a, "drip")
		_, err = tunnel.Receive(within(t, 500*time.Millisecond))
		require.ErrorAs(t, err, &late)
		receives(t, tunnel, "slow message")
	})
}

// slowly is a reader that ends after a while.
type slowly struct{ d time.Duration }

func (r slowly) Read([]byte) (int, error) {
	time.Sleep(r.d)
	return 0, io.EOF
}

func TestSeveralSendersAndReceiversTakeTurns(t *testing.T) {
	// This test sends large messages from many goroutines at once and receives
	// with many: no two messages mix, none is lost.
	play(t, func(t *testing.T, s *stage) {
		const senders = 10
		a, _ := s.pair(echo, patterns.Limits{})
		tunnel := s.open(a, "")
		errs := make(chan error, senders)
		got := make(chan []byte, senders)
		for i := range senders {
			s.net.Go(fmt.Sprint("send ", i), func() { errs <- tunnel.Send(context.Background(), pattern(200_000, i)) })
			s.net.Go(fmt.Sprint("receive ", i), func() {
				body, err := tunnel.Receive(context.Background())
				if err != nil {
					body = nil
				}
				got <- body
			})
		}
		seen := make(map[int]bool)
		for range senders {
			require.NoError(t, <-errs)
			body := <-got
			for i := range senders {
				if bytes.Equal(body, pattern(200_000, i)) {
					seen[i] = true
				}
			}
		}
		require.Len(t, seen, senders)
	})
}

func TestTunnelsToOneself(t *testing.T) {
	// This test opens a tunnel to a member on the same node.
	play(t, func(t *testing.T, s *stage) {
		a := s.node("a")
		s.serve(a, echo, patterns.Limits{})
		tunnel := s.open(a, "", patterns.WaitForMember())
		require.NoError(t, tunnel.Send(t.Context(), []byte("me")))
		receives(t, tunnel, "me")
		require.NoError(t, tunnel.CloseSend())
		require.NoError(t, done(t, tunnel))
		requireNothingLeft(t, a)
	})
}

func TestATunnelEndsWhenTheLastMessageIsRead(t *testing.T) {
	// This test closes a tunnel before its member reads: the member's context, and the
	// tunnel, do not end before the member has read all.
	bothWays(t, func(t *testing.T, s *stage, change []func(*node.Config)) {
		const count = 20
		early, end := make(chan bool, count), make(chan error, 1)
		a, b := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
			time.Sleep(time.Second)
			for range count {
				early <- ctx.Err() != nil
				if _, err := t.Receive(ctx); err != nil {
					return err
				}
			}
			<-ctx.Done()
			<-t.Done()
			_, err := t.Receive(ctx)
			end <- err
			return nil
		}, patterns.Limits{}, change...)
		tunnel := s.open(a, "")
		for i := range count {
			require.NoError(t, tunnel.Send(t.Context(), pattern(3000, i)))
		}
		require.NoError(t, tunnel.Close())
		require.ErrorIs(t, <-end, io.EOF)
		for range count {
			require.False(t, <-early)
		}
		require.NoError(t, done(t, tunnel))
		requireNothingLeft(t, a, b)
	})
}

func TestTheSenderLearnsWhatWasNotRead(t *testing.T) {
	// This test has a member end in good order after it has read some of three
	// messages. The opener receives what the member has sent, and can't send any more.
	bothWays(t, func(t *testing.T, s *stage, change []func(*node.Config)) {
		a, b := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
			time.Sleep(time.Second)
			for range t.Info().Open.Body[0] - '0' {
				if _, err := t.Receive(ctx); err != nil {
					return err
				}
			}
			return t.Send(ctx, []byte("answer"))
		}, patterns.Limits{}, change...)
		for read, want := range map[string]error{"0": patterns.ErrUnread, "2": patterns.ErrUnread, "3": nil} {
			tunnel := s.open(a, read)
			for i := range 3 {
				require.NoError(t, tunnel.Send(t.Context(), pattern(3000, i)))
			}
			got, err := tunnel.Receive(t.Context())
			require.NoError(t, err)
			require.Equal(t, "answer", string(got))
			_, err = tunnel.Receive(t.Context())
			require.Equal(t, io.EOF, err)
			require.Equal(t, want, done(t, tunnel), read)
			for _, err := range []error{tunnel.Send(t.Context(), nil), tunnel.TrySend(nil)} {
				require.ErrorIs(t, err, patterns.ErrPeerClosed)
				require.NotErrorIs(t, err, patterns.ErrClosed)
			}
			require.NoError(t, tunnel.Close())
			require.ErrorIs(t, tunnel.Send(t.Context(), nil), patterns.ErrClosed)
		}
		requireNothingLeft(t, a, b)
	})
}

func TestAHandlerThatReturnsLeavesNoEndBehind(t *testing.T) {
	// This test goes on to receive after the handler has returned: what was not
	// received then is dropped, and that is an error, not the end.
	play(t, func(t *testing.T, s *stage) {
		left := make(chan patterns.Tunnel, 1)
		a, _ := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
			time.Sleep(time.Second)
			left <- t
			return nil
		}, patterns.Limits{})
		tunnel := s.open(a, "")
		require.NoError(t, tunnel.Send(t.Context(), []byte("unread")))
		require.NoError(t, tunnel.Close())
		member := <-left
		time.Sleep(time.Second)
		_, err := member.Receive(t.Context())
		require.ErrorIs(t, err, patterns.ErrClosed)
	})
}

func TestShutdownSendsWhatWasSentBefore(t *testing.T) {
	// This test shuts a node down right after the last message of a tunnel whose other
	// direction has ended already. The link is slow: all of it comes, and then the end.
	play(t, func(t *testing.T, s *stage) {
		got, end := 0, make(chan error, 1)
		a, _ := s.pair(func(ctx context.Context, t patterns.Tunnel) error {
			if err := t.CloseSend(); err != nil {
				return err
			}
			end <- receiveAll(context.Background(), t, func(body []byte) { got += len(body) })
			return nil
		}, patterns.Limits{})
		tunnel := s.open(a, "")
		_, err := tunnel.Receive(t.Context())
		require.Equal(t, io.EOF, err)
		s.net.SetLink("a", "b", link.Model{Latency: 20 * time.Millisecond, Mbps: 1})
		for i := range 6 {
			require.NoError(t, tunnel.Send(t.Context(), pattern(10_000, i)))
		}
		require.NoError(t, tunnel.CloseSend())
		require.NoError(t, done(t, tunnel))
		require.NoError(t, a.Shutdown(t.Context()))
		require.Equal(t, io.EOF, <-end)
		require.Equal(t, 60_000, got)
	})
}
