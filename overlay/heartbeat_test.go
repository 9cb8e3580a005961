// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
)

// freeze holds back everything between two nodes, as a hung process or a
// partition does.
func (n *node) freeze() {
	for _, s := range n.transport.open() {
		s.in.freeze()
		s.out.freeze()
	}
}

func (n *node) thaw() {
	for _, s := range n.transport.open() {
		s.in.thaw()
		s.out.thaw()
	}
}

// This test checks that a peer that hangs is suspect after 1.2 s, recovers at
// the first byte, and keeps its session.
func TestHungPeerIsSuspectAndRecovers(t *testing.T) {
	between(t, func(t *testing.T, net *memNet, a, _ *node) {
		net.delay = time.Millisecond
		l := a.wait(high)
		defer l.Hold()()
		time.Sleep(10 * time.Second)
		require.False(t, l.Suspect())
		session := l.Session()

		a.freeze()
		began := time.Now()
		for !l.Suspect() {
			time.Sleep(time.Millisecond)
		}
		require.InDelta(t, 1.0, time.Since(began).Seconds(), 0.25, "since the freeze; since the last byte it is 1.2 s")
		require.Equal(t, "suspect", a.Links()[0].State)
		time.Sleep(3 * time.Second)
		a.thaw()
		time.Sleep(5 * time.Millisecond)
		require.False(t, l.Suspect())
		require.Equal(t, session, l.Session())
		require.Equal(t, []overlay.PeerEventType{overlay.LinkUp, overlay.LinkSuspect, overlay.LinkRecovered}, a.types(high))
	})
}

// This test checks the exact moments: suspect 1.2 s after the last byte, the
// connection given up after 10 s, and the session goes on over the next one.
func TestSilentConnectionIsReplaced(t *testing.T) {
	linked(t, func(t *testing.T, a, b *node, l *overlay.Link) {
		defer l.Hold()()
		time.Sleep(123 * time.Millisecond)
		b.send(low, "last byte")
		synctest.Wait()
		began := time.Now()
		a.freeze()
		time.Sleep(1199 * time.Millisecond)
		require.False(t, l.Suspect())
		time.Sleep(2 * time.Millisecond)
		require.True(t, l.Suspect())
		for l.Suspect() {
			time.Sleep(time.Millisecond)
		}
		require.InDelta(t, 10, time.Since(began).Seconds(), 0.002)
		want := []overlay.PeerEventType{overlay.LinkUp, overlay.LinkSuspect, overlay.LinkRecovered}
		require.Equal(t, want, a.types(high))
		require.NotContains(t, b.types(low), overlay.LinkDown)
		require.Len(t, b.transport.open(), 1, "the old connection is closed, too")
	})
}

// This test checks that a session ends 15 s after the last byte if no connection
// carries it, and that the next dial begins another one.
func TestSilentSessionEnds(t *testing.T) {
	linked(t, func(t *testing.T, a, b *node, l *overlay.Link) {
		defer l.Hold()()
		b.send(low, "last byte")
		synctest.Wait()
		began := time.Now()
		a.transport.hang, b.transport.hang = make(chan struct{}), make(chan struct{})
		a.freeze()
		for l.Up() {
			time.Sleep(time.Millisecond)
		}
		require.InDelta(t, 15, time.Since(began).Seconds(), 0.002)
		synctest.Wait()
		require.ErrorIs(t, a.last(high).Err, overlay.ErrSilent)
		require.False(t, l.Suspect())
		close(a.transport.hang)
		a.wait(high)
		close(b.transport.hang)
	})
}

// This test checks that nothing is sent on a link that nobody holds, that
// interest in it starts the heartbeats, and that a suspect link is given up even
// if the interest has ended meanwhile: the next one shall not find a dead link.
func TestOnlyHeldLinksBeat(t *testing.T) {
	linked(t, func(t *testing.T, a, _ *node, l *overlay.Link) {
		a.freeze()
		time.Sleep(time.Hour)
		require.False(t, l.Suspect())
		require.Empty(t, a.Links()[0].Queued)

		release := l.Hold()
		began := time.Now()
		for !l.Suspect() {
			time.Sleep(time.Millisecond)
		}
		require.InDelta(t, 1.2, time.Since(began).Seconds(), 0.002)
		release()
		release()
		for l.Suspect() {
			time.Sleep(time.Millisecond)
		}
		require.InDelta(t, 10, time.Since(began).Seconds(), 0.002, "a suspicion is followed to its end")
		a.thaw()
	})
}

// This test checks that a link which comes up while it is held beats, and one
// that was held before Open is watched from its first moment.
func TestLinkHeldBeforeItIsUpBeats(t *testing.T) {
	between(t, func(t *testing.T, _ *memNet, a, _ *node) {
		l := a.Link(high)
		defer l.Hold()()
		time.Sleep(time.Minute)
		a.wait(high)
		synctest.Wait()
		a.freeze()
		time.Sleep(1300 * time.Millisecond)
		require.True(t, l.Suspect())
	})
}

// This test checks that times on the peer's clock become local times: exactly
// where the way is symmetric, on both sides, though the clocks differ.
func TestLinkTimeTravels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		net.delay = 30 * time.Millisecond
		a := startNode(t, net, low)
		time.Sleep(time.Hour)
		b := startNode(t, net, high)
		require.NotEqual(t, a.LinkTime(time.Now()), b.LinkTime(time.Now()))
		// One after the other: beats that cross are held up by each other. The
		// first exchange had to wait for the Hello.
		for _, l := range []*overlay.Link{a.wait(high), b.Link(low)} {
			release := l.Hold()
			time.Sleep(3 * time.Second)
			release()
		}
		now := time.Now()
		require.WithinDuration(t, now, a.Link(high).LocalTime(b.LinkTime(now)), 0)
		require.WithinDuration(t, now, b.Link(low).LocalTime(a.LinkTime(now)), 0)
		require.InDelta(t, 60*time.Millisecond, a.Links()[0].RTT, float64(15*time.Millisecond))
		require.InDelta(t, 60*time.Millisecond, b.Links()[0].RTT, float64(15*time.Millisecond))
		require.Equal(t, uint64(1), a.LinkTime(time.Time{}))
		a.Link(high).LocalTime(1<<64 - 1) // absurd, but harmless
	})
}
