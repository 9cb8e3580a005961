// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay/p2p/internal/mux"
)

const (
	// quietFor is how long a peer may have said nothing before its connection
	// must show that it still works.
	quietFor = 2 * time.Second
	// pongWithin is how long it may take to.
	pongWithin = time.Second
)

// dialPeer returns a connection to p that works, as far as one can know.
//
// Pitfall "a connection is not a path": libp2p uses a connection as long as it
// is not closed. After a partition TCP repeats what was lost at ever longer
// intervals, so for as long again nothing moves, and the multiplexer takes 25 s
// to notice. Whoever wants something of the peer now would wait for that.
func (x caller) dialPeer(ctx context.Context, p peer.ID) (network.Conn, error) {
	for {
		c, err := x.swarm.DialPeer(ctx, p)
		if err != nil || x.answers(ctx, c) {
			return c, err
		}
		x.owner.counters.add(countStale)
		_ = c.Close()
	}
}

// answers asks the peer for a sign of life if it has been quiet. Connections
// that carry a link are not asked: the overlay's heartbeats watch over them,
// and a hung peer keeps its own.
func (x caller) answers(ctx context.Context, c network.Conn) bool {
	var m *mux.Conn
	if !c.As(&m) || m.Quiet() < quietFor || x.carrying.any(c.RemotePeer()) {
		return true
	}
	pong := m.Ping()
	timer := time.NewTimer(pongWithin)
	defer timer.Stop()
	for asked := time.Now(); ; asked = time.Now() {
		select {
		case <-pong:
			return true
		case <-m.Done():
			return false
		case <-ctx.Done():
			return true // nobody knows
		case <-timer.C:
		}
		switch {
		case m.Quiet() < quietFor:
			return true // something has come since
		case time.Since(asked) < pongWithin+pongWithin/2:
			return false
		}
		timer.Reset(pongWithin) // this node itself ran late: the answer may be there, unread
	}
}

// carrying counts the link streams of each peer.
type carrying struct {
	// Guarded by mu.
	mu      sync.Mutex
	streams map[peer.ID]int
}

func newCarrying() *carrying { return &carrying{streams: make(map[peer.ID]int)} }

func (c *carrying) add(p peer.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams[p]++
}

func (c *carrying) remove(p peer.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	release(c.streams, p)
}

func (c *carrying) any(p peer.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams[p] > 0
}
