// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
)

// endless is a channel that has left chunks of size bytes to send.
type endless struct {
	session.Place
	id   uint64
	size int
	left int
}

func (e *endless) Next() session.Frame {
	if e.left == 0 {
		return nil
	}
	e.left--
	return &session.TunnelData{ID: e.id, Last: true, Chunk: make([]byte, e.size)}
}

// frames cuts what was written into frames.
func frames(t *testing.T, c *conn) []session.Frame {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	r := session.NewReader(bytes.NewReader(bytes.Join(c.writes, nil)), session.MaxFrame)
	var all []session.Frame
	for {
		k, body, err := r.Next()
		if err != nil {
			return all
		}
		f, err := session.Decode(k, body)
		require.NoError(t, err)
		all = append(all, f)
	}
}

// This test checks that channels take turns of at most 64 KiB, that all they
// have comes in their order, and that one that is ready twice is served once.
func TestChannelsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session.NewSender(1<<20, session.MaxFrame)
		r := session.NewRota(s)
		c := &conn{}
		big, small := &endless{id: 1, size: 60 << 10, left: 20}, &endless{id: 2, size: 100, left: 3000}
		for range 2 {
			r.Ready(big)
			r.Ready(small)
		}
		done := run(s, c)
		synctest.Wait()
		s.Finish()
		require.NoError(t, <-done)
		count, turn := map[uint64]int{}, map[uint64]int{}
		last := uint64(0)
		for _, f := range frames(t, c) {
			d := f.(*session.TunnelData)
			if d.ID != last {
				turn[d.ID] = 0
			}
			last = d.ID
			count[d.ID]++
			turn[d.ID] += len(d.Chunk)
			if count[1] < 20 && count[2] < 3000 {
				require.LessOrEqual(t, turn[d.ID], 64<<10+60<<10)
			}
		}
		require.Equal(t, map[uint64]int{1: 20, 2: 3000}, count)
		require.Zero(t, s.Queued())
	})
}

// This test checks that a frame that is queued does not wait for more than one
// write of what channels have, and that they leave the queue's room to others.
func TestChannelsGoBehindTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session.NewSender(1000, session.MaxFrame)
		r := session.NewRota(s)
		c := &conn{gate: make(chan struct{})}
		done := run(s, c)
		bulk := &endless{id: 1, size: 64 << 10, left: 100}
		r.Ready(bulk)
		synctest.Wait()
		require.Equal(t, 98, bulk.left, "no more than a write takes is asked for")
		for token := range uint64(3) {
			require.NoError(t, s.Send(&session.Ping{Token: token}))
		}
		c.gate <- struct{}{}
		synctest.Wait()
		close(c.gate)
		synctest.Wait()
		s.Finish()
		require.NoError(t, <-done)
		all := frames(t, c)
		require.Len(t, all, 103)
		for i := range 3 {
			require.Equal(t, &session.Ping{Token: uint64(i)}, all[2+i])
		}
	})
}

// counted is a channel that counts what it has given and what was written of it.
type counted struct {
	endless
	given, free int
}

func (c *counted) Next() session.Frame {
	f := c.endless.Next()
	if f != nil {
		c.given++
	}
	return f
}

// This test checks that a channel is told that its bytes are free when the
// connection has taken them, and not before.
func TestChannelsAreToldWhatIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session.NewSender(1<<20, session.MaxFrame)
		r := session.NewRota(s)
		channel := &counted{endless: endless{id: 1, size: 60 << 10, left: 10}}
		r.OnWritten(func() { channel.free = channel.given })
		c := &conn{gate: make(chan struct{})}
		done := run(s, c)
		r.Ready(channel)
		synctest.Wait()
		require.Equal(t, 3, channel.given)
		require.Zero(t, channel.free, "the first write is under way")
		close(c.gate)
		synctest.Wait()
		require.Equal(t, 10, channel.given)
		require.Equal(t, 10, channel.free)
		s.Finish()
		require.NoError(t, <-done)
	})
}

// This test checks that the chunks which come have their own bytes until they are
// given back, and that those are used again, also by the bytes of the chunk alone.
func TestReusedChunksAreApart(t *testing.T) {
	const count = 200
	var stream []byte
	for i := range count {
		stream = append(stream, encoded(t, &session.TunnelData{ID: 1, Last: true, Chunk: bytes.Repeat([]byte{byte(i)}, session.MaxChunk-i)})...)
	}
	r := session.NewReader(bytes.NewReader(stream), session.MaxFrame)
	places := map[*byte]bool{}
	var f session.TunnelData
	var kept []byte
	for i := range count {
		_, body, err := r.Next()
		require.NoError(t, err)
		require.NoError(t, f.Decode(body))
		require.Equal(t, bytes.Repeat([]byte{byte(i)}, session.MaxChunk-i), f.Chunk)
		if i == 0 {
			kept = f.Chunk
			continue
		}
		places[&body[:cap(body)][cap(body)-1]] = true
		r.Reuse(f.Chunk)
	}
	require.Equal(t, make([]byte, session.MaxChunk), kept)
	require.Less(t, len(places), count*3/4) // all but one, were it not for the race detector
	r.Reuse(make([]byte, 100))              // which is of no use
}

// This test checks that a chunk costs no allocation to decode.
func TestAChunkIsDecodedInPlace(t *testing.T) {
	_, body, err := session.NewReader(bytes.NewReader(encoded(t, &session.TunnelData{ID: 7, Last: true, Chunk: []byte("x")})), session.MaxFrame).Next()
	require.NoError(t, err)
	var f session.TunnelData
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if f.Decode(body) != nil {
			panic("BUG: it is well-formed")
		}
	}))
	require.Equal(t, session.TunnelData{ID: 7, Last: true, Chunk: []byte("x")}, f)
	require.ErrorIs(t, f.Decode(body[:5]), session.ErrMalformed)
	require.ErrorIs(t, f.Decode(append(body[:8:8], 0)), session.ErrMalformed, "an empty chunk in the middle of a message")
}

// This test checks that a body that was given back is used for one of about its
// length, and not for a small one that somebody may keep.
func TestARecycledBodyIsUsedAgain(t *testing.T) {
	var stream []byte
	for _, size := range []int{60 << 10, 10, 50 << 10} {
		stream = append(stream, encoded(t, &session.TunnelData{ID: 1, Last: true, Chunk: make([]byte, size)})...)
	}
	r := session.NewReader(bytes.NewReader(stream), session.MaxFrame)
	_, first, err := r.Next()
	require.NoError(t, err)
	r.Recycle(first)
	_, small, err := r.Next()
	require.NoError(t, err)
	require.Less(t, cap(small), 1000)
	_, again, err := r.Next()
	require.NoError(t, err)
	require.Same(t, &first[0], &again[0])
	require.Len(t, again, 50<<10+9)
}
