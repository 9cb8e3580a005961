// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// This test checks that frames which have come together and are forwarded to another
// session leave it in one write, by the reader, in their order; and that one which has
// come alone does not wait for others.
func TestWhatCameTogetherIsForwardedTogether(t *testing.T) {
	var wg sync.WaitGroup
	defer wg.Wait()
	var rounds session.Rounds
	shared := func(c *session.Config) { c.Rounds = &rounds }
	in, out, far := newEnd(t, &wg, shared), newEnd(t, &wg, shared), newEnd(t, &wg)
	defer out.End()
	defer far.End()
	o := carryOwned(&wg, out, far)
	arrived := 0
	come := func(n int, write func(frames []byte)) {
		t.Helper()
		var frames []byte
		for range n {
			frames = wire.AppendFrame(frames, wire.LaneRPC, wire.KindRequest, fmt.Append(nil, arrived))
			arrived++
		}
		write(frames)
		require.Eventually(t, func() bool { return len(far.got()) == arrived }, time.Minute, time.Millisecond)
	}
	for i := 0; o.tries.Load() == 0; i++ { // the writer waits from here on
		come(1, func([]byte) {
			_, err := out.Send(wire.LaneRPC, wire.KindRequest, fmt.Append(nil, i))
			require.NoError(t, err)
		})
	}
	in.handler = func(lane wire.Lane, k wire.Kind, body []byte) bool {
		_, err := out.Send(lane, k, body)
		require.NoError(t, err)
		return false
	}
	x, y := net.Pipe()
	wg.Go(func() {
		in.errs <- in.Run(session.NewCarrier(session.NetConn(x), nil, nil), session.Greeting{})
		x.Close()
	})
	defer y.Close()
	wg.Go(func() { // an acknowledgement may come
		b := make([]byte, 1<<10)
		for {
			if _, err := y.Read(b); err != nil {
				return
			}
		}
	})
	for _, n := range []int{1, 10, 2, 1, 50} {
		tries, writes, wakes := o.tries.Load(), o.writes.Load(), out.wakes.Load()
		come(n, func(frames []byte) {
			_, err := y.Write(frames)
			require.NoError(t, err)
		})
		require.Equal(t, tries+1, o.tries.Load(), "%d frames are one write", n)
		require.Equal(t, writes, o.writes.Load())
		require.Equal(t, wakes, out.wakes.Load(), "the writer sleeps on")
	}
	for i, body := range far.got() {
		require.Equal(t, fmt.Sprint(i), body)
	}
}

// carrySockets has both sessions go on over sockets: who ends a round writes for a session
// whose other end it may be the one to read, so no write may wait.
func carrySockets(t *testing.T, wg *sync.WaitGroup, a, b *end) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	x, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	y, err := l.Accept()
	require.NoError(t, err)
	ours, theirs := a.Detach(), b.Detach()
	wg.Go(func() {
		defer x.Close()
		a.errs <- a.Run(session.NewCarrier(session.NetConn(x), nil, nil), session.Greeting{Received: theirs})
	})
	wg.Go(func() {
		defer y.Close()
		b.errs <- b.Run(session.NewCarrier(session.NetConn(y), nil, nil), session.Greeting{Received: ours})
	})
}

// This test checks that many sessions which send in the rounds of each other and outside
// of them lose, double and reorder nothing, and that nothing stays where it was held.
func TestRoundsOfManyHoldNothingBack(t *testing.T) {
	var wg sync.WaitGroup
	defer wg.Wait()
	var rounds session.Rounds
	shared := func(c *session.Config) { c.Rounds = &rounds }
	const pairs, each = 4, 2000
	var near, far [pairs]*end
	for i := range pairs {
		near[i], far[i] = newEnd(t, &wg, shared), newEnd(t, &wg, shared)
		defer near[i].End()
		defer far[i].End()
		far[i].handler = func(lane wire.Lane, _ wire.Kind, body []byte) bool {
			_, err := far[(i+1)%pairs].Send(lane, wire.KindReply, body)
			require.NoError(t, err)
			return false
		}
	}
	for i := range pairs {
		carrySockets(t, &wg, near[i], far[i])
	}
	var sending sync.WaitGroup
	for i := range pairs {
		sending.Go(func() {
			for n := range each {
				_, err := near[i].SendWait(t.Context(), wire.LaneRPC, wire.KindRequest, fmt.Append(nil, n))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	sending.Wait()
	for i := range pairs {
		require.Eventually(t, func() bool { return len(near[i].got()) == each }, time.Minute, time.Millisecond)
		for n, body := range near[i].got() {
			require.Equal(t, fmt.Sprint(n), body)
		}
	}
}
