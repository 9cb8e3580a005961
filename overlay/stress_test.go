// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// chatter is one side of a stress test: it sends numbered frames and checks
// what it is told and what arrives.
type chatter struct {
	*node
	peer peer.ID

	mu      sync.Mutex
	up      bool
	session uint64 // of the last LinkUp
	sent    uint64
	got     uint64 // last number received
	count   int
	ups     int
	wrong   []string
}

// lateExec wakes later, from another goroutine, as the simulator does.
type lateExec struct{ overlay.Exec }

func (e lateExec) Wake(_ overlay.ExecKey, f func()) { time.AfterFunc(time.Microsecond, f) }

func newChatter(t testing.TB, net *memNet, id, other peer.ID, late bool) *chatter {
	c := &chatter{peer: other}
	c.node = newNode(t, net, id, func(cfg *overlay.Config) {
		if late {
			cfg.Seam.Exec = lateExec{cfg.Seam.Exec}
		}
	})
	c.Subscribe(c.event)
	c.onGot = c.frame
	c.start()
	return c
}

func (c *chatter) fault(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

func (c *chatter) event(e overlay.PeerEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.Type {
	case overlay.LinkUp:
		if c.up || e.Session <= c.session {
			c.fault("up with %d after %d (up: %v)", e.Session, c.session, c.up)
		}
		c.up, c.session = true, e.Session
		c.ups++
	case overlay.LinkDown:
		if !c.up || e.Session != c.session || e.Err == nil {
			c.fault("down of %d, %v, in %d (up: %v)", e.Session, e.Err, c.session, c.up)
		}
		c.up = false
	}
	// A subscriber may call whatever does not block.
	e.Link.Hold()()
	e.Link.Open(nil)
	e.Link.Send(overlay.LaneRPC, 62, nil)
}

func (c *chatter) frame(_ *overlay.Link, f frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := binary.BigEndian.Uint64([]byte(f.body))
	if !c.up {
		c.fault("frame %d without a session", n)
	}
	if n != c.got+1 {
		c.fault("frame %d after %d", n, c.got)
	}
	c.got = n
	c.count++
}

func (c *chatter) frames() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// chat sends until ctx ends; it opens the link whenever that is down.
func (c *chatter) chat(ctx context.Context) {
	l := c.Link(c.peer)
	defer l.Hold()()
	for ctx.Err() == nil {
		c.sent++
		body := binary.BigEndian.AppendUint64(nil, c.sent)
		if _, err := l.Send(overlay.LanePub, kindA, body); err != nil {
			c.sent--
			l.Wait(ctx, nil)
		}
		time.Sleep(4 * time.Millisecond)
	}
}

// This test checks, with random delays, breaks and silences, that one session
// goes through all of them, and that every frame comes, once and in order.
func TestLinksSurviveEverything(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { survive(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func survive(t *testing.T, rng *rand.Rand) {
	net := newMemNet()
	delays := rand.New(rand.NewPCG(rng.Uint64(), 2))
	net.delays = func() time.Duration { return time.Duration(delays.IntN(15)) * time.Millisecond }
	a, b := newChatter(t, net, low, high, rng.IntN(2) == 0), newChatter(t, net, high, low, rng.IntN(2) == 0)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { a.chat(ctx) })
	wg.Go(func() { b.chat(ctx) })
	for range 40 {
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
		side := []*chatter{a, b}[rng.IntN(2)]
		open := side.transport.open()
		if len(open) == 0 {
			continue
		}
		s := open[rng.IntN(len(open))]
		switch rng.IntN(6) {
		case 0, 1:
			s.Reset(1)
		case 2: // only one side notices
			s.in.abort(errReset)
			s.out.freeze()
		case 3:
			s.out.freeze()
			time.AfterFunc(time.Duration(rng.IntN(3000))*time.Millisecond, s.out.thaw)
		case 4:
			side.transport.Disconnect(side.peer)
		case 5:
			s.CloseWrite()
		}
	}
	time.Sleep(30 * time.Second)
	a.wait(high)
	time.Sleep(time.Second)
	before := a.frames() + b.frames()
	time.Sleep(time.Second)
	require.InDelta(t, 500, a.frames()+b.frames()-before, 50, "both are heard again")
	cancel()
	wg.Wait()
	for _, c := range []*chatter{a, b} {
		require.Empty(t, c.wrong, "%v", c.eventsOf(c.peer))
		require.Equal(t, 1, c.ups)
	}
	time.Sleep(time.Minute)
	require.Len(t, a.transport.open(), 1)
}

// FuzzReader feeds a node with bytes after a Hello: it must not panic, and
// must end the stream or go on.
func FuzzReader(f *testing.F) {
	f.Add(wire.AppendFrame(nil, wire.LaneCtl, kindA, []byte("x")))
	f.Add(wire.AppendFrame(nil, wire.LaneCtl, wire.KindFragment, wire.Fragment{Channel: 1, First: true, Kind: kindA, Total: 9, Payload: []byte("x")}.AppendTo(nil)))
	f.Add(wire.AppendFrame(nil, wire.LaneCtl, wire.KindBeat, []byte{8, 1, 16, 1}))
	f.Add(wire.AppendFrame(nil, wire.LaneCtl, wire.KindGoodbye, []byte{8, 8}))
	f.Add(wire.AppendFrame(nil, wire.LaneCtl, wire.KindNotice, []byte{8, 1}))
	f.Fuzz(func(t *testing.T, data []byte) {
		facing(t, func(t *testing.T, a *node, r *raw) {
			s := r.greet(low)
			s.Write(data)
			s.CloseWrite()
			s.end()
			time.Sleep(20 * time.Second) // longer than a session lasts without a connection
			require.False(t, a.Link(high).Up())
		})
	})
}
