// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// This test checks that a connection that breaks is a delay: both sides tell that
// the peer is suspect, then that it is heard again, and what is sent meanwhile, or
// was under way, arrives in the same session.
func TestBrokenConnectionIsADelay(t *testing.T) {
	between(t, func(t *testing.T, net *memNet, a, b *node) {
		net.delay = 5 * time.Millisecond
		l := a.wait(high)
		first := l.Session()
		time.Sleep(time.Second)
		for _, breaks := range []*node{a, b} {
			a.send(high, "under way")
			breaks.transport.open()[0].Reset(7)
			synctest.Wait()
			require.True(t, l.Suspect())
			require.True(t, l.Up())
			a.send(high, "while it is broken")
			time.Sleep(time.Second)
			require.False(t, l.Suspect())
		}
		require.Equal(t, first, l.Session())
		require.Equal(t, []string{"under way", "while it is broken", "under way", "while it is broken"}, b.bodies())
		want := []overlay.PeerEventType{
			overlay.LinkUp, overlay.LinkSuspect, overlay.LinkRecovered, overlay.LinkSuspect, overlay.LinkRecovered,
		}
		require.Equal(t, want, a.types(high))
		require.Equal(t, want, b.types(low))
		for i := range want {
			require.Equal(t, b.transport.Addrs()[0], a.eventsOf(high)[i].Addr, "what the connection shows")
			require.Equal(t, a.transport.Addrs()[0], b.eventsOf(low)[i].Addr, "what the connection shows")
		}
		require.Empty(t, a.Drops())
		require.Empty(t, b.Drops())
	})
}

// This test checks that the session ends soon when the process is gone, that what
// waits is dropped and counted, and that nothing can be sent until the next one.
func TestSessionEndsWithTheProcess(t *testing.T) {
	between(t, func(t *testing.T, net *memNet, a, b *node) {
		l := a.wait(high)
		synctest.Wait()
		s := a.transport.open()[0]
		s.out.freeze()
		var receipts []overlay.Receipt
		for i := range 10 { // the first is in flight, a second write waits for it, the others are queued
			r, err := l.Send(overlay.LaneRPC, kindA, fmt.Append(nil, i))
			require.NoError(t, err)
			receipts = append(receipts, r)
			synctest.Wait()
		}
		began := time.Now()
		require.NoError(t, b.Close())
		for l.Up() {
			time.Sleep(time.Millisecond)
		}
		require.Less(t, time.Since(began), 100*time.Millisecond)
		synctest.Wait()
		require.Equal(t, overlay.LinkDown, a.last(high).Type)
		require.ErrorIs(t, a.last(high).Err, overlay.ErrLost)
		require.Equal(t, map[string]uint64{"link_lost": 8}, a.Drops())
		for i, r := range receipts {
			require.Equal(t, i >= 2, l.Withdraw(r), "it was never sent")
		}
		_, err := l.Send(overlay.LaneRPC, kindA, nil)
		require.ErrorIs(t, err, overlay.ErrLinkDown)
		_, err = l.SendWait(t.Context(), overlay.LaneRPC, kindA, nil)
		require.ErrorIs(t, err, overlay.ErrLinkDown)

		startNode(t, net, high)
		first := receipts[0].Session
		require.Greater(t, a.wait(high).Session(), first)
	})
}

// This test checks that a peer that lost its stream, which this side has not
// noticed, can open another one at once.
func TestPeerThatLostItsStreamMayComeBackAtOnce(t *testing.T) {
	for name, outbound := range map[string]bool{"it had opened the old one": false, "we had opened the old one": true} {
		t.Run(name, func(t *testing.T) {
			facing(t, func(t *testing.T, a *node, r *raw) {
				var old *rawStream
				if outbound {
					a.Link(high).Open(nil)
					synctest.Wait()
					old = r.incoming()
					old.expect(wire.KindHello)
					old.control(wire.KindHello, r.hello())
				} else {
					old = r.greet(low)
				}
				synctest.Wait()
				first := a.Link(high).Session()
				require.NotZero(t, first)

				fresh := r.greet(low)
				synctest.Wait()
				require.Greater(t, a.Link(high).Session(), first)
				require.ErrorIs(t, old.end(), errReset)
				a.send(high, "x")
				require.Equal(t, "x", string(fresh.expect(kindA)))
			})
		})
	}
}

// This test checks that Shutdown sends what is queued, on all lanes, then says
// goodbye, and that the peer learns that it was on purpose.
func TestShutdownFlushesAndSaysGoodbye(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		net.delay = 5 * time.Millisecond // one write at a time is under way: less than a batch may take
		a, b := newNode(t, net, low), startNode(t, net, high)
		require.NoError(t, a.Start(t.Context()))
		l := a.wait(high)
		want := 0
		for i := range 400 {
			lane := overlay.Lane(i % 4)
			size := 10_000
			if lane == overlay.LaneBulk {
				size = 20_000 + i*100 // some in fragments
			}
			if _, err := l.Send(lane, kindB, make([]byte, size)); err == nil {
				want++
			}
		}
		require.Greater(t, want, 200)
		require.NoError(t, a.Shutdown(t.Context()))
		require.NoError(t, a.exec.Close())
		synctest.Wait()
		require.Len(t, b.bodies(), want)
		require.Equal(t, overlay.LinkDown, b.last(low).Type)
		require.ErrorIs(t, b.last(low).Err, overlay.ErrGoodbye)
		require.ErrorIs(t, a.last(high).Err, overlay.ErrClosed)
		_, err := l.Send(overlay.LaneRPC, kindA, nil)
		require.ErrorIs(t, err, overlay.ErrClosed)
		_, err = l.Wait(t.Context(), nil)
		require.ErrorIs(t, err, overlay.ErrClosed)
		require.NoError(t, a.Close(), "again")
	})
}

// This test checks that Shutdown has what the node has sent to itself handled, such as
// the answers of its own members to its own requests. A node that was never started
// has nothing to wait for.
func TestShutdownHandlesWhatTheNodeHasSentToItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newNode(t, newMemNet(), low)
		a.onGot = func(*overlay.Link, frame) { time.Sleep(time.Millisecond) } // it has work
		require.NoError(t, a.Start(t.Context()))
		for i := range 100 {
			a.send(low, fmt.Sprint(i))
		}
		require.NoError(t, a.Shutdown(t.Context()))
		require.NoError(t, a.exec.Close())
		require.Len(t, a.bodies(), 100)
		_, err := a.Link(low).Send(overlay.LaneRPC, kindA, nil)
		require.ErrorIs(t, err, overlay.ErrClosed)

		began := time.Now()
		idle := newNode(t, newMemNet(), high)
		idle.send(high, "never read")
		require.NoError(t, idle.Shutdown(t.Context()))
		require.NoError(t, idle.exec.Close())
		require.Zero(t, time.Since(began))
	})
}

// This test checks that a peer that hangs holds Shutdown up for as long as its
// context allows, and for five seconds at most.
func TestShutdownDoesNotWaitForAPeerThatHangs(t *testing.T) {
	for _, limit := range []time.Duration{time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			net := newMemNet()
			a := newNode(t, net, low)
			startNode(t, net, high)
			require.NoError(t, a.Start(t.Context()))
			a.wait(high)
			synctest.Wait()
			a.transport.open()[0].out.freeze()
			a.send(high, "x")
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			began := time.Now()
			err := a.Shutdown(ctx)
			require.Equal(t, min(limit, 5*time.Second), time.Since(began))
			require.Equal(t, limit < 5*time.Second, err != nil)
			require.NoError(t, a.exec.Close())
		})
	}
}

// This test checks that a peer which is suspect already does not hold Shutdown
// up at all.
func TestShutdownDoesNotWaitForASuspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		a := newNode(t, net, low)
		startNode(t, net, high)
		require.NoError(t, a.Start(t.Context()))
		l := a.wait(high)
		defer l.Hold()()
		a.freeze()
		time.Sleep(2 * time.Second)
		require.True(t, l.Suspect())
		began := time.Now()
		require.NoError(t, a.Shutdown(t.Context()))
		require.Zero(t, time.Since(began))
		require.NoError(t, a.exec.Close())
	})
}

// This test checks that SendWait blocks while the lane is full, goes on as
// soon as there is room, and ends with its context or the session;
// and that Send's refusals are counted.
func TestSlowReaderBlocksSendWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		a, b := startNode(t, net, low, func(c *overlay.Config) { c.LaneBytes[overlay.LanePub] = 1000 }), startNode(t, net, high)
		l := a.wait(high)
		synctest.Wait()
		s := a.transport.open()[0]
		s.out.freeze()
		want := []string{}
		body := func(i int) []byte { return fmt.Appendf(nil, "%0300d", i) }
		for i := range 5 {
			r, err := l.Send(overlay.LanePub, kindA, body(i))
			synctest.Wait()
			if i < 3 { // sent or not: nothing is acknowledged
				require.NoError(t, err)
				require.Equal(t, l.Session(), r.Session)
				want = append(want, string(body(i)))
				continue
			}
			require.ErrorIs(t, err, overlay.ErrLaneFull)
		}
		require.Equal(t, map[string]uint64{"lane_full_pub": 2}, a.Drops())
		_, err := l.Send(overlay.LaneRPC, kindB, nil)
		require.NoError(t, err, "other lanes have room of their own")

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err = l.SendWait(ctx, overlay.LanePub, kindA, body(99))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))

		sent := make(chan error)
		for i := 3; i < 6; i++ {
			go func() {
				_, err := l.SendWait(t.Context(), overlay.LanePub, kindA, body(i))
				sent <- err
			}()
			synctest.Wait()
			want = append(want, string(body(i)))
		}
		s.out.thaw()
		for range 3 {
			require.NoError(t, <-sent)
		}
		synctest.Wait()
		var got []string
		for _, s := range b.bodies() {
			if s != "" {
				got = append(got, s)
			}
		}
		require.ElementsMatch(t, want, got)
		require.Equal(t, want[:3], got[:3])

		s.out.freeze()
		for i := range 3 {
			_, err := l.SendWait(t.Context(), overlay.LanePub, kindA, body(i))
			require.NoError(t, err)
			synctest.Wait()
		}
		go func() {
			_, err := l.SendWait(t.Context(), overlay.LanePub, kindA, body(0))
			sent <- err
		}()
		synctest.Wait()
		require.NoError(t, b.Close())
		require.ErrorIs(t, <-sent, overlay.ErrLinkDown)
	})
}

// This test checks that Close ends those who wait.
func TestCloseEndsThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := newMemNet()
		a := startNode(t, net, low)
		a.transport.hang = make(chan struct{})
		ended := make(chan error)
		for range 3 {
			go func() {
				_, err := a.Link(high).Wait(t.Context(), nil)
				ended <- err
			}()
		}
		synctest.Wait()
		go a.Close()
		for range 3 {
			require.ErrorIs(t, <-ended, overlay.ErrClosed)
		}
	})
}

// This test checks that a lane of higher priority overtakes what is queued on
// lower ones, and that large messages share lane bulk.
func TestLanesHavePriorities(t *testing.T) {
	linked(t, func(t *testing.T, a, b *node, l *overlay.Link) {
		s := a.transport.open()[0]
		s.out.freeze()
		name := func(n string, size int) []byte { return append([]byte(n), make([]byte, size)...) }
		for _, m := range []struct {
			lane overlay.Lane
			body []byte
		}{
			{overlay.LaneBulk, name("in flight", 0)},
			{overlay.LaneBulk, name("1 MB", 1e6)},
			{overlay.LaneBulk, name("0.5 MB", 5e5)},
			{overlay.LaneBulk, name("bulk", 10)},
			{overlay.LanePub, name("pub", 60_000)},
			{overlay.LaneRPC, name("rpc", 10)},
			{overlay.LaneCtl, name("ctl", 10)},
		} {
			_, err := l.Send(m.lane, kindA, m.body)
			require.NoError(t, err)
			synctest.Wait()
		}
		s.out.thaw()
		synctest.Wait()
		var order []string
		for _, body := range b.bodies() {
			var n int
			for n < len(body) && body[n] != 0 {
				n++
			}
			order = append(order, body[:n])
		}
		// The first batch of bulk, up to 256 KiB, was in the writer's hands.
		require.Equal(t, []string{"in flight", "ctl", "rpc", "pub", "bulk", "0.5 MB", "1 MB"}, order)
	})
}

// This test has a peer call that goes on with a session which it had with this node's last
// start, and has received in that: it gets a new session, in which all arrives, as what it
// has of the old one says nothing of that.
func TestWhoGoesOnWithTheLastStartGetsANewSession(t *testing.T) {
	facing(t, func(t *testing.T, a *node, r *raw) {
		h := r.hello()
		h.Fresh, h.Received = false, []uint64{3, 5, 0, 9}
		s := r.dial(low)
		s.control(wire.KindHello, h)
		var answer wire.Hello
		require.NoError(t, wire.DecodeControl(s.expect(wire.KindHello), &answer))
		require.NotEqual(t, h.GetSession(), answer.GetSession())
		require.Empty(t, answer.GetReceived())
		synctest.Wait()
		require.True(t, a.Link(high).Up())
		a.send(high, "x")
		require.Equal(t, "x", string(s.expect(kindA)))
		require.Equal(t, []overlay.PeerEventType{overlay.LinkUp}, a.types(high))
	})
}

// This test has a node call a peer, be started anew, and call again: it proposes another
// session, which the peer can't take for the first one.
func TestEachStartProposesOtherSessions(t *testing.T) {
	facing(t, func(t *testing.T, a *node, r *raw) {
		proposal := func(n *node) uint64 {
			n.Link(high).Open(nil)
			synctest.Wait()
			var m wire.Hello
			require.NoError(t, wire.DecodeControl(r.incoming().expect(wire.KindHello), &m))
			return m.GetSession()
		}
		first := proposal(a)
		require.NoError(t, a.Close())
		require.NotEqual(t, first, proposal(startNode(t, r.transport.net, low)))
	})
}
