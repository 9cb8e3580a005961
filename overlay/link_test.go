// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
)

// Peer ids, in their order.
const (
	low  peer.ID = "A-low"
	high peer.ID = "B-high"
)

// This test checks that a link comes up on demand, carries frames both ways
// and tells both sides.
func TestLinkOpensOnDemand(t *testing.T) {
	between(t, func(t *testing.T, _ *memNet, a, b *node) {
		require.Zero(t, a.Link(high).Session())
		_, err := a.Link(high).Send(overlay.LaneRPC, kindA, nil)
		require.ErrorIs(t, err, overlay.ErrLinkDown)

		l := a.wait(high)
		require.True(t, l.Up())
		require.Equal(t, l.Session(), a.send(high, "there"))
		synctest.Wait()
		b.send(low, "back")
		synctest.Wait()

		require.Equal(t, []string{"there"}, b.bodies())
		require.Equal(t, []string{"back"}, a.bodies())
		require.Equal(t, []overlay.PeerEventType{overlay.LinkUp}, a.types(high))
		require.Equal(t, []overlay.PeerEventType{overlay.LinkUp}, b.types(low))
		require.Len(t, a.transport.open(), 1)
		status := a.Links()
		require.Len(t, status, 1)
		require.Equal(t, "up", status[0].State)
		require.Equal(t, "/mem/B-high", status[0].Addr)
	})
}

// This test checks that a dial that fails is told to those who wait and to
// the subscribers, and that the next one may succeed.
func TestFailedDialIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		a := startNode(t, net, low)
		_, err := a.Link(high).Wait(t.Context(), nil)
		require.ErrorIs(t, err, errRefused)
		synctest.Wait()
		e := a.last(high)
		require.Equal(t, overlay.DialFailed, e.Type)
		require.ErrorIs(t, e.Err, errRefused)

		startNode(t, net, high)
		a.wait(high)
		require.Equal(t, []overlay.PeerEventType{overlay.DialFailed, overlay.LinkUp}, a.types(high))
	})
}

// This test checks that Wait ends with its context, and that the dial goes on.
func TestWaitEndsWithItsContext(t *testing.T) {
	between(t, func(t *testing.T, _ *memNet, a, _ *node) {
		a.transport.hang = make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := a.Link(high).Wait(ctx, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		close(a.transport.hang)
		synctest.Wait()
		require.True(t, a.Link(high).Up())
	})
}

// This test checks that a dial that hangs is given up after five seconds.
func TestHangingDialIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		a := startNode(t, net, low)
		a.transport.hang = make(chan struct{})
		began := time.Now()
		_, err := a.Link(high).Wait(t.Context(), nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 5*time.Second, time.Since(began))
	})
}

// This test checks that two nodes that dial each other at the same time use
// one stream in the end, without losing or reordering a frame and without a
// second session, whichever stream is established first and however the
// deliveries are timed.
func TestCrossingDialsConverge(t *testing.T) {
	for _, delay := range []time.Duration{0, 10 * time.Millisecond} {
		for _, lag := range []time.Duration{-15, -10, -5, -1, 0, 1, 5, 10, 15} {
			t.Run(fmt.Sprintf("delay %v, %v later", delay, lag*time.Millisecond), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					net := newMemNet()
					net.delay = delay
					crossDials(t, net, lag*time.Millisecond)
				})
			})
		}
	}
}

// This test checks the same where each stream has delays of its own, so that
// what is sent later on one arrives earlier than what was sent on another.
func TestCrossingDialsConvergeWhateverTheDelays(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 0))
				net := newMemNet()
				net.delays = func() time.Duration { return time.Duration(rng.IntN(20)) * time.Millisecond }
				crossDials(t, net, time.Duration(rng.IntN(40)-20)*time.Millisecond)
			})
		})
	}
}

func crossDials(t *testing.T, net *memNet, lag time.Duration) {
	a, b := startNode(t, net, low), startNode(t, net, high)
	var want []string
	for i := range 200 {
		want = append(want, fmt.Sprint(i))
	}
	talk := func(n *node, p peer.ID, wait time.Duration) {
		time.Sleep(wait)
		n.wait(p)
		for _, body := range want {
			n.send(p, body)
			time.Sleep(200 * time.Microsecond)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		talk(b, low, max(0, lag))
	}()
	talk(a, high, max(0, -lag))
	<-done
	time.Sleep(time.Second)

	require.Equal(t, []overlay.PeerEventType{overlay.LinkUp}, a.types(high), a.eventsOf(high))
	require.Equal(t, []overlay.PeerEventType{overlay.LinkUp}, b.types(low), b.eventsOf(low))
	require.Equal(t, want, a.bodies())
	require.Equal(t, want, b.bodies())
	require.Len(t, a.transport.open(), 1)
	require.Empty(t, a.Drops())
	require.Empty(t, b.Drops())
}

// This test checks that a message larger than a frame arrives whole, whether
// its sender waits for room or not, and which ones are too large.
func TestLargeMessagesGoInFragments(t *testing.T) {
	linked(t, func(t *testing.T, a, b *node, l *overlay.Link) {
		large := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
		_, err := l.Send(overlay.LaneRPC, kindB, []byte(large[:100]), nil, []byte(large[100:]))
		require.NoError(t, err)
		_, err = l.SendWait(t.Context(), overlay.LaneBulk, kindB, []byte(large[1:]))
		require.NoError(t, err)
		a.send(high, "small")
		synctest.Wait()
		got := b.bodies()
		require.Len(t, got, 3)
		require.True(t, slices.Contains(got, "small") && slices.Contains(got, large) && slices.Contains(got, large[1:]))

		_, err = l.Send(overlay.LaneRPC, kindB, make([]byte, 16<<20+1))
		require.ErrorIs(t, err, overlay.ErrTooLarge)
		_, err = l.Send(overlay.LaneRPC, kindB, make([]byte, 16<<20))
		require.NoError(t, err, "an empty lane takes any legal size")
		synctest.Wait()
		require.Len(t, b.bodies(), 4)
	})
}

// This test checks that the link to ourselves is always up, delivers in order
// and by fragments too, on a goroutine of its own.
func TestLoopbackLinkIsAlwaysUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startNode(t, newMemNet(), low)
		l := a.Link(low)
		require.Equal(t, uint64(1), l.Session())
		defer l.Hold()()
		l.Open(nil)
		s, err := l.Wait(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, uint64(1), s)
		for i := range 100 {
			require.Equal(t, uint64(1), a.send(low, fmt.Sprint(i)))
		}
		large := strings.Repeat("x", 1<<20)
		_, err = l.Send(overlay.LaneRPC, kindA, []byte(large))
		require.NoError(t, err)
		synctest.Wait()
		got := a.bodies()
		require.Len(t, got, 101)
		for i := range 100 {
			require.Equal(t, fmt.Sprint(i), got[i])
		}
		require.Equal(t, large, got[100])
		now := time.Now()
		require.WithinDuration(t, now, l.LocalTime(a.LinkTime(now)), 0)
		require.Empty(t, a.types(low))
		require.NoError(t, a.Close())
		_, err = l.Send(overlay.LaneRPC, kindA, nil)
		require.ErrorIs(t, err, overlay.ErrClosed)
	})
}

// This test checks that both ends of a link know the other's name, and how far its wall
// clock is ahead, whoever dialled.
func TestLinksTellNamesAndClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		net.delay = 5 * time.Millisecond
		a := startNode(t, net, low, func(c *overlay.Config) { c.Name = "the left one" })
		b := startNode(t, net, high, func(c *overlay.Config) {
			c.Name = "the right one"
			c.Seam.Clock = aheadClock{c.Seam.Clock, 8 * time.Hour}
		})
		a.wait(high)
		time.Sleep(time.Second)
		for n, want := range map[*node]struct {
			name  string
			ahead time.Duration
		}{a: {"the right one", 8 * time.Hour}, b: {"the left one", -8 * time.Hour}} {
			links := n.Links()
			require.Len(t, links, 1)
			require.Equal(t, want.name, links[0].Name)
			require.Equal(t, want.name, n.NameOf(map[string]peer.ID{low.String(): low, high.String(): high}[links[0].Peer]))
			require.NotNil(t, links[0].ClockAhead)
			require.InDelta(t, want.ahead, *links[0].ClockAhead, float64(10*time.Millisecond))
			require.Equal(t, overlay.ClockDiffers, n.Clocks().State)
			require.ErrorContains(t, n.Clocks().Err(), "clock differs by 8h0m0s from 1 of 1 peers")
		}
	})
}

// aheadClock is a clock that somebody has set wrong.
type aheadClock struct {
	overlay.Clock
	by time.Duration
}

func (c aheadClock) Now() time.Time { return c.Clock.Now().Add(c.by) }
