// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// owned is a connection that may be written to without waiting.
type owned struct {
	session.Conn
	tries, writes atomic.Int64
	try           func(size int) (int, error) // how much of each TryWrite works; nil = all
	driven        atomic.Bool
}

func (o *owned) Drive(on bool) { o.driven.Store(on) }

func (o *owned) Unsent(int) {}

func (o *owned) WriteAll(size int, parts ...[]byte) (int, error) {
	o.writes.Add(1)
	return o.put(parts)
}

func (o *owned) put(parts [][]byte) (n int, err error) {
	for _, p := range parts {
		m, err := o.Write(p)
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

func (o *owned) TryWrite(size int, parts ...[]byte) (int, error) {
	o.tries.Add(1)
	n := size
	if o.try != nil {
		var err error
		if n, err = o.try(size); n == 0 || err != nil {
			return 0, err
		}
	}
	var taken [][]byte
	for _, p := range parts {
		m := min(len(p), n)
		taken, n = append(taken, p[:m]), n-m
	}
	return o.put(taken)
}

// carryOwned has both sessions go on over a new connection, a's end of which is the
// one returned.
func carryOwned(wg *sync.WaitGroup, a, b *end) *owned {
	x, y := net.Pipe()
	o := &owned{Conn: session.NetConn(x)}
	carry(wg, a, b, o, session.NetConn(y))
	return o
}

// carry has both sessions go on over a new connection, of which these are their ends.
func carry(wg *sync.WaitGroup, a, b *end, ofA, ofB session.Conn) {
	ours, theirs := a.Detach(), b.Detach()
	wg.Go(func() { a.errs <- a.Run(session.NewCarrier(ofA, nil, nil), session.Greeting{Received: theirs}) })
	wg.Go(func() { b.errs <- b.Run(session.NewCarrier(ofB, nil, nil), session.Greeting{Received: ours}) })
}

// This test checks that a message for an idle connection is written by who sends it,
// that the writer does so where that would wait, or goes on where it did, and that many senders at a time
// lose, double and reorder nothing.
func TestTheFirstSenderWritesItself(t *testing.T) {
	var wg sync.WaitGroup
	defer wg.Wait()
	a, b := newEnd(t, &wg), newEnd(t, &wg)
	defer a.End()
	defer b.End()
	o := carryOwned(&wg, a, b)
	arrived := 0
	send := func() {
		t.Helper()
		_, err := a.Send(wire.LaneRPC, wire.KindRequest, fmt.Append(nil, arrived))
		require.NoError(t, err)
		arrived++
		require.Eventually(t, func() bool { return len(b.got()) == arrived }, time.Minute, time.Millisecond)
	}
	require.Eventually(t, func() bool { // once the writer waits
		send()
		return o.tries.Load() > 0
	}, time.Minute, time.Millisecond)
	wakes, tries := a.wakes.Load(), o.tries.Load()
	send()
	require.Equal(t, tries+1, o.tries.Load())
	require.Equal(t, wakes, a.wakes.Load(), "the writer sleeps on")
	require.True(t, o.driven.Load())

	o.try = func(int) (int, error) { return 0, nil }
	writes := o.writes.Load()
	send()
	require.Greater(t, o.writes.Load(), writes)

	const senders, each = 8, 500
	var turn atomic.Int64
	o.try = func(size int) (int, error) { // all, nothing, or a part
		return []int{size, 0, 1, size / 2, size - 1}[turn.Add(1)%5], nil
	}
	var sending sync.WaitGroup
	for i := range senders {
		sending.Go(func() {
			for n := range each {
				if _, err := a.SendWait(t.Context(), wire.LaneRPC, wire.KindRequest, fmt.Appendf(nil, "%d/%d", i, n)); err != nil {
					t.Error(err)
				}
				if n%50 == 0 {
					time.Sleep(time.Millisecond) // the link is idle
				}
			}
		})
	}
	sending.Wait()
	require.Eventually(t, func() bool { return len(b.got()) == arrived+senders*each }, time.Minute, time.Millisecond)
	next := make([]int, senders)
	for _, body := range b.got()[arrived:] {
		var i, n int
		_, err := fmt.Sscanf(body, "%d/%d", &i, &n)
		require.NoError(t, err)
		require.Equal(t, next[i], n)
		next[i]++
	}
}

// This test checks that a connection which breaks under a sender that writes itself
// is a broken connection like any other: the sender does not notice, and the message
// goes again.
func TestAConnectionBreaksUnderTheSender(t *testing.T) {
	var wg sync.WaitGroup
	defer wg.Wait()
	a, b := newEnd(t, &wg), newEnd(t, &wg)
	defer a.End()
	defer b.End()
	sent := 0
	send := func() {
		_, err := a.Send(wire.LanePub, wire.KindPublish, fmt.Append(nil, sent))
		require.NoError(t, err)
		sent++
	}
	for range 20 {
		o := carryOwned(&wg, a, b)
		var broke atomic.Bool
		o.try = func(int) (int, error) {
			broke.Store(true)
			return 0, errors.New("reset")
		}
		for !broke.Load() {
			send()
			time.Sleep(100 * time.Microsecond)
		}
		require.ErrorIs(t, <-a.errs, session.ErrLost)
		send() // waits for the next connection
		<-b.errs
	}
	carryOwned(&wg, a, b)
	require.Eventually(t, func() bool { return len(b.got()) == sent }, time.Minute, time.Millisecond)
	for i, body := range b.got() {
		require.Equal(t, fmt.Sprint(i), body)
	}
}
