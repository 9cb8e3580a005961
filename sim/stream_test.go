// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"bytes"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim"
)

// exact is a network without jitter, for tests that assert times.
func exact() sim.Config {
	return sim.Config{Latency: sim.Latency{Base: 10 * time.Millisecond}, Window: 1 << 10}
}

// about fails unless d is want, up to the few nanoseconds by which steps are
// kept apart.
func about(t *testing.T, want, d time.Duration) {
	t.Helper()
	require.InDelta(t, float64(want), float64(d), float64(time.Microsecond))
}

// This test checks that bytes arrive whole and in order, one latency after
// they were written, and that the ends know who they talk to.
func TestStreamKeepsOrder(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		a, b, here, there := two(t, n)
		require.Equal(t, b.Transport.Self(), here.Remote())
		require.Equal(t, a.Transport.Self(), there.Remote())
		require.Equal(t, b.Transport.Addrs()[0], here.RemoteAddr())
		require.True(t, here.Outbound())
		require.False(t, there.Outbound())

		var sent bytes.Buffer
		n.Go("write", func() {
			for i := range 300 {
				chunk := bytes.Repeat([]byte{byte(i)}, 1+i%50)
				sent.Write(chunk)
				if _, err := here.Write(chunk); err != nil {
					panic(err)
				}
				clear(chunk) // the caller keeps it
			}
			here.CloseWrite()
		})
		got, err := io.ReadAll(there)
		require.NoError(t, err)
		require.Equal(t, sent.Bytes(), got)
	})
}

// This test checks the latency of one delivery, and that what is written in
// one step is one delivery.
func TestWritesOfOneStepArriveTogether(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		_, _, here, there := two(t, n)
		begin := time.Now()
		for _, word := range []string{"one ", "two ", "three"} {
			say(t, here, word)
		}
		hear(t, there, "one two three")
		about(t, 10*time.Millisecond, time.Since(begin))
	})
}

// This test checks half-close: the other direction goes on.
func TestStreamHalfClose(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		_, _, here, there := two(t, n)
		say(t, here, "question")
		require.NoError(t, here.CloseWrite())
		dumb(t, here)

		hearAll(t, there, "question")
		say(t, there, "answer")
		require.NoError(t, there.Close())
		hearAll(t, here, "answer")
	})
}

// This test checks that a reset carries its code to the peer, ends both
// directions at both ends, and drops what was not read.
func TestStreamReset(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		_, _, here, there := two(t, n)
		say(t, here, "lost")
		time.Sleep(50 * time.Millisecond)
		require.NoError(t, here.Reset(42))
		_, err := here.Read(make([]byte, 1))
		require.Error(t, err)
		dumb(t, here)

		time.Sleep(50 * time.Millisecond)
		_, err = there.Read(make([]byte, 1))
		var reset *network.StreamError
		require.ErrorAs(t, err, &reset)
		require.EqualValues(t, 42, reset.ErrorCode)
		require.True(t, reset.Remote)
		_, err = there.Write([]byte("x"))
		require.ErrorAs(t, err, &reset)
		require.NoError(t, there.Reset(1), "resetting again does nothing")
	})
}

// This test checks that a reset wakes a blocked reader and a blocked writer.
func TestResetEndsBlockedCalls(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		_, _, here, there := two(t, n)
		result := make(chan error, 2)
		n.Go("read", func() {
			_, err := there.Read(make([]byte, 1))
			result <- err
		})
		n.Go("write", func() {
			for {
				if _, err := there.Write(make([]byte, 512)); err != nil {
					result <- err
					return
				}
			}
		})
		time.Sleep(time.Second)
		require.Empty(t, result)
		require.NoError(t, here.Reset(7))
		require.Error(t, <-result)
		require.Error(t, <-result)
	})
}

// This test checks that a writer stops at the window and goes on when the
// reader reads: what is under way is bounded.
func TestWriterWaitsForReader(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		_, _, here, there := two(t, n)
		var written atomic.Int64
		n.Go("write", func() {
			for range 100 {
				if _, err := here.Write(make([]byte, 100)); err != nil {
					panic(err)
				}
				written.Add(100)
			}
			here.CloseWrite()
		})
		time.Sleep(time.Second)
		require.EqualValues(t, 1100, written.Load(), "the window of 1 KiB and the write that passed it")
		got, err := io.ReadAll(there)
		require.NoError(t, err)
		require.Len(t, got, 10_000)
	})
}

// This test checks that a closed end does not hold up the sender: what
// arrives there is thrown away.
func TestClosedReaderDoesNotBlockTheWriter(t *testing.T) {
	sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
		_, _, here, there := two(t, n)
		require.NoError(t, there.Close())
		_, err := there.Read(make([]byte, 1))
		require.Error(t, err)
		for range 100 {
			_, err := here.Write(make([]byte, 100))
			require.NoError(t, err)
		}
	})
}

// This test checks that deadlines end waiting calls at their time, past ones
// at once, and that a stream is as good as before when they are lifted.
func TestStreamDeadlines(t *testing.T) {
	const d = 300 * time.Millisecond
	full := make([]byte, 1<<10)
	cases := []struct {
		name string
		set  func(overlay.Stream, time.Time) error
		call func(overlay.Stream) error
	}{
		{"read", overlay.Stream.SetReadDeadline, func(s overlay.Stream) error {
			_, err := s.Read(make([]byte, 1))
			return err
		}},
		{"write", overlay.Stream.SetWriteDeadline, func(s overlay.Stream) error {
			_, err := s.Write(full)
			return err
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			sim.Run(t, exact(), func(t *testing.T, n *sim.Network) {
				_, _, here, there := two(t, n)
				_, err := here.Write(full)
				require.NoError(t, err)

				begin := time.Now()
				require.NoError(t, c.set(here, begin.Add(d)))
				require.ErrorIs(t, c.call(here), os.ErrDeadlineExceeded)
				about(t, d, time.Since(begin))
				require.ErrorIs(t, c.call(here), os.ErrDeadlineExceeded, "it stays")

				// Extended by another goroutine while the call waits.
				begin = time.Now()
				require.NoError(t, c.set(here, begin.Add(d)))
				n.Go("extend", func() {
					time.Sleep(d / 2)
					if err := c.set(here, begin.Add(2*d)); err != nil {
						panic(err)
					}
				})
				require.ErrorIs(t, c.call(here), os.ErrDeadlineExceeded)
				about(t, 2*d, time.Since(begin))

				// Moved into the past to end the call.
				require.NoError(t, c.set(here, time.Time{}))
				begin = time.Now()
				n.Go("end", func() {
					time.Sleep(d)
					if err := c.set(here, time.Now().Add(-time.Hour)); err != nil {
						panic(err)
					}
				})
				require.ErrorIs(t, c.call(here), os.ErrDeadlineExceeded)
				about(t, d, time.Since(begin))

				require.NoError(t, c.set(here, time.Time{}))
				say(t, there, "x")
				_, err = there.Read(full)
				require.NoError(t, err)
				require.NoError(t, c.call(here))
			})
		})
	}
}
