// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"sync"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/arke-mesh/arke/overlay"
)

// notifier tells the handler what happens with peers, in order for each of
// them, without ever making libp2p wait.
//
// Pitfall "event bus": a slow subscriber stalls dials and identify, and its
// connectedness event does not fire while a second connection with the same
// peer stands, which simultaneous dials often leave. So the bus is not used:
// connections are counted here. Pitfall "Notifiee.Connected runs on the dial
// path": it only counts, and starts a goroutine.
type notifier struct {
	handler  overlay.TransportHandler
	counters *counters
	// onUp and onDown tell the router first, so that the handler finds a table
	// that is up to date. They are called with mu held and must not block.
	onUp, onDown func(peer.ID)
	// examine says of a new connection whether its peer takes part in routing: else
	// neither the router nor the handler hears of the peer, only of its streams.
	examine func(network.Conn) bool

	// Guarded by mu.
	mu    sync.Mutex
	peers map[peer.ID]*notified
	conns map[network.Conn]*notifiedConn

	// Lifecycle.
	wg sync.WaitGroup // handler calls
}

type notified struct {
	peerState
	running bool // a goroutine makes the calls
}

type notifiedConn struct {
	counted bool
	routing bool
}

var _ network.Notifiee = (*notifier)(nil)

func newNotifier(h overlay.TransportHandler, c *counters, onUp, onDown func(peer.ID), examine func(network.Conn) bool) *notifier {
	return &notifier{
		handler: h, counters: c, onUp: onUp, onDown: onDown, examine: examine,
		peers: make(map[peer.ID]*notified),
		conns: make(map[network.Conn]*notifiedConn),
	}
}

// Connected implements network.Notifiee.
func (n *notifier) Connected(_ network.Network, c network.Conn) {
	routing := n.examine(c)
	n.mu.Lock()
	n.conns[c] = &notifiedConn{routing: routing}
	n.mu.Unlock()
	var conn *secureConn
	if c.Stat().Direction == network.DirOutbound && c.As(&conn) {
		// Whoever we dialled may still refuse us.
		conn.whenConfirmed(func() { n.confirmed(c) })
		return
	}
	n.confirmed(c)
}

// confirmed counts c, unless it is gone.
func (n *notifier) confirmed(c network.Conn) {
	p := c.RemotePeer()
	n.mu.Lock()
	conn := n.conns[c]
	if conn == nil || conn.counted {
		n.mu.Unlock()
		return
	}
	conn.counted = true
	s := n.state(p)
	s.connUp(conn.routing)
	if conn.routing && s.routing == 1 {
		n.onUp(p)
	}
	n.run(p, s)
	n.mu.Unlock()
}

// Disconnected implements network.Notifiee.
func (n *notifier) Disconnected(_ network.Network, c network.Conn) {
	p := c.RemotePeer()
	n.mu.Lock()
	conn := n.conns[c]
	delete(n.conns, c)
	var stale []overlay.Stream
	if conn != nil && conn.counted {
		s := n.state(p)
		stale = s.connDown(conn.routing)
		if conn.routing && s.routing == 0 {
			n.onDown(p)
		}
		n.run(p, s)
	}
	n.mu.Unlock()
	n.drop(countStreamStale, stale...)
}

// stream takes over an incoming link stream.
func (n *notifier) stream(x overlay.Stream) {
	p := x.Remote()
	n.mu.Lock()
	s := n.state(p)
	reason, kept := countStreamStale, false
	if s.conns > 0 {
		reason, kept = countStreamBacklog, s.offer(x)
	}
	n.run(p, s)
	n.mu.Unlock()
	if !kept {
		n.drop(reason, x)
	}
}

func (n *notifier) drop(reason counter, streams ...overlay.Stream) {
	for _, x := range streams {
		n.counters.add(reason)
		_ = x.Reset(uint32(network.StreamResourceLimitExceeded))
	}
}

// state needs mu.
func (n *notifier) state(p peer.ID) *notified {
	s := n.peers[p]
	if s == nil {
		s = &notified{}
		n.peers[p] = s
	}
	return s
}

// run sees to it that the calls for p are made. It needs mu.
func (n *notifier) run(p peer.ID, s *notified) {
	if s.running {
		return
	}
	s.running = true
	n.wg.Go(func() { n.calls(p, s) })
}

// calls makes the calls for p until there are none left.
func (n *notifier) calls(p peer.ID, s *notified) {
	for {
		n.mu.Lock()
		call, x := s.next()
		if call == callNone {
			s.running = false
			if s.idle() {
				delete(n.peers, p)
			}
			n.mu.Unlock()
			return
		}
		n.mu.Unlock()
		switch call {
		case callUp:
			n.handler.PeerUp(p)
		case callDown:
			n.handler.PeerDown(p)
		case callStream:
			n.handler.HandleStream(x)
		}
	}
}

// Listen implements network.Notifiee.
func (*notifier) Listen(network.Network, ma.Multiaddr) {}

// ListenClose implements network.Notifiee.
func (*notifier) ListenClose(network.Network, ma.Multiaddr) {}
