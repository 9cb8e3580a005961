// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
)

// This test checks that Write waits while the connection below takes nothing,
// so that little is queued there, and that everything arrives once it does.
func TestWriteWaitsForTheConnection(t *testing.T) {
	a, b := two(t)
	g := newGate(t, b.Addrs()[0])
	from, to := pair(t, a, b, g.addr)
	g.pause()

	// The kernel takes some, on both sides of the gate; after that one batch
	// is handed on, and no second one.
	taken := p2p.Taken(from)
	written := fill(t, from)
	for {
		begun := time.Now()
		require.NoError(t, from.SetWriteDeadline(begun.Add(200*time.Millisecond)))
		n, err := from.Write(make([]byte, 100))
		if err == nil {
			written += n // the kernel has taken some more
			continue
		}
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Zero(t, n, "not even a small one, although the multiplexer could queue it")
		require.GreaterOrEqual(t, time.Since(begun), 200*time.Millisecond)
		break
	}
	require.LessOrEqual(t, written-int(p2p.Taken(from)-taken), 64<<10, "one batch")

	g.resume()
	require.NoError(t, from.SetWriteDeadline(time.Time{}))
	done := make(chan error, 1)
	go func() {
		_, err := from.Write([]byte("last"))
		if err == nil {
			err = from.CloseWrite()
		}
		done <- err
	}()
	got, err := io.ReadAll(to)
	require.NoError(t, err)
	require.NoError(t, <-done)
	require.Len(t, got, written+len("last"))
	require.Equal(t, "last", string(got[written:]))
}

// This test checks that a peer which does not read its stream stops the
// writer, and that another stream on the same connection is not affected.
func TestSlowReaderStopsItsWriterOnly(t *testing.T) {
	a, b := two(t)
	from, to := pair(t, a, b)
	other, otherTo := pair(t, a, b)
	written := fill(t, from)
	require.Less(t, written, 20<<20, "windows are bounded")

	_, err := other.Write([]byte("x"))
	require.NoError(t, err)
	_, err = io.ReadFull(otherTo, make([]byte, 1))
	require.NoError(t, err)

	require.NoError(t, from.SetWriteDeadline(time.Time{}))
	go func() { _, _ = io.CopyN(io.Discard, to, int64(written)) }()
	_, err = from.Write([]byte("x"))
	require.NoError(t, err)
}

// This test checks that a Write that waits ends when the stream is reset or
// closed here, and when the connection dies.
func TestWaitingWriteEnds(t *testing.T) {
	for name, end := range map[string]func(*node, *node, *gate, overlay.Stream){
		"reset":      func(_, _ *node, _ *gate, s overlay.Stream) { _ = s.Reset(1) },
		"close":      func(_, _ *node, _ *gate, s overlay.Stream) { _ = s.Close() },
		"disconnect": func(a, b *node, _ *gate, _ overlay.Stream) { a.Disconnect(b.Self()) },
		"cut":        func(_, _ *node, g *gate, _ overlay.Stream) { g.cut() },
		"close host": func(a, _ *node, _ *gate, _ overlay.Stream) { _ = a.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := two(t)
			g := newGate(t, b.Addrs()[0])
			from, _ := pair(t, a, b, g.addr)
			g.pause()
			done := make(chan error, 1)
			var writes atomic.Int64
			go func() {
				for {
					if _, err := from.Write(make([]byte, 64<<10)); err != nil {
						done <- err
						return
					}
					writes.Add(1)
				}
			}()
			for before := int64(-1); before != writes.Load(); time.Sleep(100 * time.Millisecond) {
				before = writes.Load() // until one waits
			}
			end(a, b, g, from)
			select {
			case err := <-done:
				require.Error(t, err)
				require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
			case <-time.After(waitLimit):
				require.FailNow(t, "still waits")
			}
		})
	}
}

// This test checks that streams carry any sizes in any order whole, in both
// directions at once.
func TestStreamsCarryEverything(t *testing.T) {
	a, b := two(t)
	from, to := pair(t, a, b)
	sums := make(chan [sha256.Size]byte, 4)
	for i, s := range []overlay.Stream{from, to} {
		go func() {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			var all bytes.Buffer
			for range 100 {
				size := rng.IntN(20)
				if rng.IntN(10) == 0 {
					size = rng.IntN(600 << 10)
				}
				p := bytes.Repeat([]byte{byte(rng.Uint32())}, size)
				all.Write(p)
				if _, err := s.Write(p); err != nil {
					t.Error(err)
				}
			}
			if err := s.CloseWrite(); err != nil {
				t.Error(err)
			}
			sums <- sha256.Sum256(all.Bytes())
		}()
		go func() {
			got, err := io.ReadAll(s)
			if err != nil {
				t.Error(err)
			}
			sums <- sha256.Sum256(got)
		}()
	}
	count := make(map[[sha256.Size]byte]int)
	for range 4 {
		count[<-sums]++
	}
	require.Len(t, count, 2, "each side has read what the other one has written")
}

// This test checks that a read deadline ends a read, can be taken back, and
// loses nothing.
func TestReadDeadlineLosesNothing(t *testing.T) {
	network := p2p.NewNetwork(t)
	from, to := pair(t, start(t, network), start(t, network))
	require.NoError(t, to.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
	_, err := to.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, to.SetReadDeadline(time.Time{}))
	_, err = from.Write([]byte("abc"))
	require.NoError(t, err)
	got := make([]byte, 3)
	_, err = io.ReadFull(to, got)
	require.NoError(t, err)
	require.Equal(t, "abc", string(got))
}

// This test checks that a stream that is half-closed before anything was
// written still exists for the peer.
func TestEmptyStreamArrives(t *testing.T) {
	a, b := two(t)
	from, err := a.Open(within(t), b.Self(), b.Addrs())
	require.NoError(t, err)
	require.NoError(t, from.CloseWrite())
	_, err = b.accept().Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

// This test checks that a handler which is slow loses streams of that peer
// beyond a bound, with a reset and a count, and delays nobody else.
func TestSlowHandlerHasABacklog(t *testing.T) {
	network := p2p.NewNetwork(t)
	b := prepare(t, network)
	b.streams = make(chan overlay.Stream) // HandleStream blocks from the first on
	require.NoError(t, b.Start(b))
	a, c := start(t, network), start(t, network)
	open := func() {
		s, err := a.Open(within(t), b.Self(), b.Addrs())
		require.NoError(t, err)
		_, err = s.Write([]byte("x"))
		require.NoError(t, err)
	}
	open()
	require.Eventually(t, func() bool { // in HandleStream
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.events) == 1 && b.busy[a.Self()]
	}, waitLimit, time.Millisecond)
	for range 19 {
		open()
	}
	require.Eventually(t, func() bool { return b.Counters()["stream_backlog"] == 19-8 }, waitLimit, time.Millisecond)
	connect := func() bool {
		_, err := c.Connect(within(t), b.candidate())
		return err == nil
	}
	require.True(t, connect())
	b.want(true, a.Self())
	b.want(true, c.Self())
	for range 8 + 1 {
		require.Equal(t, a.Self(), b.accept().Remote())
	}
}

// This test checks that the limit of streams per peer holds, is counted, and
// is given back.
func TestStreamLimitHoldsPerPeer(t *testing.T) {
	network := p2p.NewNetwork(t)
	b := start(t, network, func(c *p2p.Config) { c.MaxStreamsPerPeer = 16 })
	a := start(t, network)
	var open []overlay.Stream
	for b.Counters()["stream_limit"] == 0 {
		s, err := a.Open(within(t), b.Self(), b.Addrs())
		require.NoError(t, err)
		_, _ = s.Write([]byte("x"))
		open = append(open, s)
		require.Eventually(t, func() bool { // it is let in, or not
			return len(b.streams)+int(b.Counters()["stream_limit"]) >= len(open)
		}, waitLimit, time.Millisecond)
		require.LessOrEqual(t, len(open), 17)
	}
	for _, s := range open {
		require.NoError(t, s.Reset(0))
	}
	for {
		for len(b.streams) > 0 { // a place is given back when both sides are done
			require.NoError(t, b.accept().Close())
		}
		s, err := a.Open(within(t), b.Self(), b.Addrs())
		require.NoError(t, err)
		_, _ = s.Write([]byte("x"))
		require.NoError(t, s.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
		if _, err = s.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			break // it lives
		}
		require.NoError(t, s.Close())
	}
}
