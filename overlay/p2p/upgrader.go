// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/transport"
	manet "github.com/multiformats/go-multiaddr/net"

	"github.com/arke-mesh/arke/internal/budget"
	"github.com/arke-mesh/arke/overlay/p2p/internal/mux"
)

// upgrader turns TCP connections into multiplexed connections with admitted
// peers. Unlike libp2p's it negotiates neither security nor multiplexer, which
// saves two round trips on every dial: both are fixed in the TLS handshake.
type upgrader struct {
	secure *securer
	limits *limits
	door   *doorkeeper
	held   *budget.Budget[peer.ID] // bytes
	apart  *budget.Budget[peer.ID] // bytes of peers without a certificate that lets them in
	counts *counters
	// accept takes over a link's stream that p has opened.
	accept func(s *mux.Stream, c *muxedConn)
	// routes says whether p takes part in routing, by the certificate that it has shown.
	routes func(p peer.ID, certificate []byte) bool
}

func newUpgrader(h *Host, s *securer, l *limits, door *doorkeeper, accept func(*mux.Stream, *muxedConn),
	routes func(peer.ID, []byte) bool,
) *upgrader {
	return &upgrader{
		secure: s, limits: l, door: door, held: h.held, apart: budget.New[peer.ID](uncertifiedHeld),
		counts: h.counters, accept: accept, routes: routes,
	}
}

// What a connection's streams may keep unread costs no share up to unreadOwn bytes, as
// much as one of libp2p's may have; beyond that unreadStep more at a time.
const (
	unreadOwn  = 32 << 10
	unreadStep = 128 << 10
)

// unread is what a connection keeps of what nobody has read.
type unread struct {
	*budget.Holding[peer.ID]
	counts *counters
}

// Take implements mux.Unread.
func (u unread) Take(n int) bool {
	ok := u.Holding.Take(n)
	if !ok {
		u.counts.add(countUnread)
	}
	return ok
}

// dialled has a connection to p that was dialled. It takes over raw and scope.
func (u *upgrader) dialled(ctx context.Context, t transport.Transport, raw manet.Conn, p peer.ID,
	scope network.ConnManagementScope,
) (transport.CapableConn, error) {
	setOptions(raw)
	c, err := u.secure.connect(ctx, raw, p, alpnLink)
	if err != nil {
		scope.Done()
		return nil, err
	}
	return u.multiplex(t, raw, c, true, scope)
}

// accepted is dialled for a connection that was accepted. It takes over the guest's.
// Before the greeting is checked it counts nowhere but at the door.
func (u *upgrader) accepted(ctx context.Context, t transport.Transport, g *guest) (_ transport.CapableConn, err error) {
	defer func() {
		if err != nil {
			_ = g.conn.Close()
		}
	}()
	hello, mark, err := u.secure.readGreeting(g)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithDeadline(ctx, g.by)
	defer cancel()
	if err := g.greeted(ctx, mark); err != nil {
		return nil, err
	}
	raw, err := manet.WrapNetConn(g.conn)
	if err != nil {
		return nil, fmt.Errorf("p2p: accept: %w", err)
	}
	scope, err := u.limits.OpenConnection(network.DirInbound, true, raw.RemoteMultiaddr())
	if err != nil {
		return nil, err
	}
	setOptions(raw)
	c, err := u.secure.accept(ctx, raw, hello, g)
	if err != nil {
		scope.Done()
		return nil, err
	}
	return u.multiplex(t, raw, c, false, scope)
}

// multiplex has the streams of a connection begin.
func (u *upgrader) multiplex(t transport.Transport, raw manet.Conn, c *secureConn, dialled bool,
	scope network.ConnManagementScope,
) (transport.CapableConn, error) {
	if scope.PeerScope() == nil {
		if err := scope.SetPeer(c.remote); err != nil {
			c.Close()
			scope.Done()
			return nil, err
		}
	}
	x := &muxedConn{ConnMultiaddrs: raw, ConnSecurity: c, secure: c, upgrader: u, transport: t, scope: scope}
	held := u.held
	if !x.examine() {
		held = u.apart
	}
	x.Conn = mux.New(c, c.below, dialled, unread{held.Holding(c.remote, unreadOwn, unreadStep), u.counts}) // swarm accepts
	if held == u.apart && !dialled {
		u.limits.setApart(scope, sourceOf(raw.RemoteAddr()), func() { _ = x.Close() })
	}
	return x, nil
}

// muxedConn is what swarm gets of a connection. The streams of links are not
// swarm's: they need no negotiation, and nothing between them and the connection.
type muxedConn struct {
	*mux.Conn
	network.ConnMultiaddrs
	network.ConnSecurity
	secure    *secureConn
	upgrader  *upgrader
	transport transport.Transport
	scope     network.ConnManagementScope
	retired   atomic.Bool // another one is to take its place
	routing   atomic.Bool // libp2p's own streams may be opened and taken, see routes.go
	linked    bool        // the peer has opened a link's stream; AcceptStream's
	watching  atomic.Pointer[time.Timer]
}

// IsClosed implements network.MuxedConn. A retired connection carries what it
// carries, and swarm takes it for nothing new.
func (c *muxedConn) IsClosed() bool { return c.retired.Load() || c.Conn.IsClosed() }

var _ transport.CapableConn = (*muxedConn)(nil)

// AcceptStream implements network.MuxedConn.
func (c *muxedConn) AcceptStream() (network.MuxedStream, error) {
	for {
		s, err := c.Accept()
		switch {
		case err != nil:
			return s, err
		case s.Link() && c.linked && !c.routing.Load():
			c.upgrader.counts.add(countApartStream)
			_ = s.ResetWithError(network.StreamResourceLimitExceeded)
		case s.Link():
			c.linked = true
			c.upgrader.accept(s, c)
		case c.routing.Load():
			return s, nil
		default:
			c.upgrader.counts.add(countNoRoute)
			_ = s.ResetWithError(network.StreamResourceLimitExceeded)
		}
	}
}

// Transport implements transport.CapableConn.
func (c *muxedConn) Transport() transport.Transport { return c.transport }

// Scope implements network.ConnScoper.
func (c *muxedConn) Scope() network.ConnScope { return c.scope }

// Close implements network.MuxedConn.
func (c *muxedConn) Close() error {
	defer c.released()
	return c.Conn.Close()
}

// CloseWithError implements network.MuxedConn.
func (c *muxedConn) CloseWithError(code network.ConnErrorCode) error {
	defer c.released()
	return c.Conn.CloseWithError(code)
}

func (c *muxedConn) released() {
	if t := c.watching.Load(); t != nil {
		t.Stop()
	}
	c.scope.Done()
}

// As gives out this connection and those below, which Host needs.
func (c *muxedConn) As(target any) bool {
	switch t := target.(type) {
	case **muxedConn:
		*t = c
	case **mux.Conn:
		*t = c.Conn
	case **secureConn:
		*t = c.secure
	default:
		return false
	}
	return true
}
