// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"bytes"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// covering is a Room that notes how much is kept.
type covering struct {
	mu    sync.Mutex
	bytes int
}

func (c *covering) Cover(bytes int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes = bytes
	return true
}

func (c *covering) covered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// loans counts how often each body came back, and makes it something else then.
type loans struct {
	mu   sync.Mutex
	back map[*byte]int
}

func (l *loans) take(body []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.back[&body[0]]++
	clear(body)
}

func (l *loans) count() (all, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.back {
		all, most = all+n, max(most, n)
	}
	return all, most
}

// This test lends a session bodies, some of which stand in line, over a line that breaks
// again and again: the same bytes arrive, once and in order; each body comes back once;
// and when all is acknowledged nothing is counted any more.
func TestWhatIsLentArrivesUnalteredOverALineThatFlaps(t *testing.T) {
	const count, size = 300, 64 << 10
	var room covering
	back := &loans{back: make(map[*byte]int)}
	pair(t, func(t *testing.T, a, b *end) {
		next, intact := 0, true
		b.handler = func(_ wire.Lane, _ wire.Kind, body []byte) bool {
			intact = intact && bytes.Equal(body, append([]byte("head"), bytes.Repeat([]byte{byte(next)}, size)...))
			next++
			return false
		}
		breaks := connect(a, b)
		waits := 0
		for i := range count {
			body := bytes.Repeat([]byte{byte(i)}, size)
			kept, err := session.Lend(a.Session, wire.KindTunnelData, back.take, []byte("head"), body)
			if err == nil {
				require.True(t, kept)
			} else {
				require.ErrorIs(t, err, session.ErrLaneFull)
				waits++
				_, err = session.LendLater(a.Session, wire.KindTunnelData, func(session.Receipt, error) {}, back.take, []byte("head"), body)
				require.NoError(t, err)
			}
			if i%20 == 19 {
				time.Sleep(time.Duration(i) * time.Microsecond)
				breaks()
				<-a.errs
				<-b.errs
				breaks = connect(a, b)
			}
		}
		require.Greater(t, waits, 10)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, count, next)
		require.True(t, intact)
		all, most := back.count()
		require.Equal(t, []int{count, 1}, []int{all, most})
		require.Zero(t, room.covered())
	}, func(c *session.Config) { c.Memory.Room = &room })
}

// This test ends a session that keeps bodies and has others in line: none of them comes
// back, then or later, and nothing is counted any more. What was not kept is the caller's.
func TestWhatIsLentWhenASessionEndsDoesNotComeBack(t *testing.T) {
	const size = 60 << 10
	var room covering
	back := &loans{back: make(map[*byte]int)}
	pair(t, func(t *testing.T, a, b *end) {
		b.handler = func(wire.Lane, wire.Kind, []byte) bool {
			a.End() // it was taken from the connection, and not acknowledged
			return false
		}
		lost := 0
		for range 20 {
			body := make([]byte, size)
			if _, err := session.Lend(a.Session, wire.KindTunnelData, back.take, nil, body); err != nil {
				_, err = session.LendLater(a.Session, wire.KindTunnelData, func(_ session.Receipt, err error) {
					if err == nil {
						return // what was before it was written first, and left room
					}
					require.ErrorIs(t, err, session.ErrDown)
					lost++
				}, back.take, nil, body)
				require.NoError(t, err)
			}
		}
		require.NotZero(t, room.covered())
		connect(a, b)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Positive(t, lost)
		require.Zero(t, room.covered())
		kept, err := session.Lend(a.Session, wire.KindTunnelData, back.take, nil, make([]byte, size))
		require.ErrorIs(t, err, session.ErrDown)
		require.False(t, kept)
		all, _ := back.count()
		require.Zero(t, all)
	}, func(c *session.Config) { c.Memory.Room = &room })
}

// This test proves that a body which is too short to be kept was copied when Lend returns.
func TestAShortBodyIsCopied(t *testing.T) {
	pair(t, func(t *testing.T, a, b *end) {
		body := bytes.Repeat([]byte("x"), wire.LentFrom-1)
		kept, err := session.Lend(a.Session, wire.KindTunnelData, nil, []byte("head"), body)
		require.NoError(t, err)
		require.False(t, kept)
		var took []byte
		_, err = session.LendLater(a.Session, wire.KindTunnelData, func(session.Receipt, error) {}, func(b []byte) { took = b }, []byte("head"), body)
		require.NoError(t, err)
		require.Same(t, &body[0], &took[0], "it is copied, too, as there is room")
		clear(body)
		connect(a, b)
		synctest.Wait()
		want := "head" + string(bytes.Repeat([]byte("x"), wire.LentFrom-1))
		require.Equal(t, []string{want, want}, b.got())
	})
}
