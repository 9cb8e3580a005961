// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"io"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/budget"
)

// bounded returns both ends of a connection of which one keeps so much unread.
func bounded(t *testing.T, limit int) (from, to *Conn, held *budget.Budget[int]) {
	a, b := sockets(t)
	held = budget.New[int](limit)
	var wg sync.WaitGroup
	out := NewQueuedConn(b, nil)
	to = New(plain{out}, out, false, held.Holding(0, 0, 1))
	wg.Go(func() { receive(to) })
	t.Cleanup(func() {
		_ = to.Close()
		wg.Wait()
		require.Zero(t, held.Used(), "the end gives everything back")
	})
	return over(t, a, true), to, held
}

// This test checks that what a peer sends and nobody reads is kept up to a limit, in
// memory and over all streams, whether they were accepted or not; that the stream that
// goes beyond is reset at both ends, and only that one; and that reading makes room.
func TestWhatNobodyReadsIsBounded(t *testing.T) {
	const limit, each = 1 << 20, 200 << 10
	from, to, held := bounded(t, 2*limit) // who is alone has half
	var open []*Stream
	refused := 0
	for range 12 {
		s, err := from.open(true)
		require.NoError(t, err)
		_, err = s.Write(make([]byte, each))
		require.NoError(t, err)
		<-from.Ping() // all of it has come
		require.LessOrEqual(t, held.Used(), limit)
		if _, err := s.Write([]byte{1}); err != nil {
			var why *network.StreamError
			require.ErrorAs(t, err, &why)
			require.Equal(t, network.StreamResourceLimitExceeded, why.ErrorCode)
			refused++
			continue
		}
		open = append(open, s)
	}
	require.GreaterOrEqual(t, len(open), limit/each*3/4)
	require.Equal(t, 12, refused+len(open))
	require.Greater(t, held.Used(), limit/2)

	for range 12 {
		s, err := accepted(to)
		require.NoError(t, err)
		if n, err := io.ReadFull(s, make([]byte, each)); err == nil {
			require.Equal(t, each, n)
			open = open[1:]
			_, err = io.ReadFull(s, make([]byte, 1))
			require.NoError(t, err)
		}
		require.NoError(t, s.Reset())
	}
	require.Empty(t, open, "whoever was not refused lost nothing")
	require.Eventually(t, func() bool { return held.Used() == 0 }, time.Minute, time.Millisecond)
	s, err := from.open(false)
	require.NoError(t, err)
	_, err = s.Write(make([]byte, plainWindow))
	require.NoError(t, err)
	<-from.Ping()
	require.GreaterOrEqual(t, held.Used(), plainWindow) // the end of the connection gives it back
}

// This test checks what a buffer takes of memory while bytes come and go: never more
// than it says, and what it holds stays whole.
func TestABufferTakesWhatItSays(t *testing.T) {
	var b buffer
	next, want := byte(0), byte(0)
	for i := range 3000 {
		p := make([]byte, (i*37)%5000+1)
		for k := range p {
			p[k], next = next, next+1
		}
		size := b.grown(len(p))
		b.put(p, size)
		require.Equal(t, size, cap(b.b))
		out := make([]byte, (i*53)%6000)
		n := b.take(out)
		for _, got := range out[:n] {
			require.Equal(t, want, got)
			want++
		}
	}
	require.LessOrEqual(t, cap(b.b), 4*max(b.len(), 8<<10))
}
