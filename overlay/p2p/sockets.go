// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"fmt"
	"net"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/transport"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// Sockets is a network in place of the machine's TCP. Everything above it,
// from the TLS handshake on, stays as it is in production.
//
// Connections are net.Conns whose addresses are *net.TCPAddr; all their methods
// may be called concurrently. Close discards what was not sent, and the peer
// reads a reset, as with a linger of 0. They should have CloseRead and
// CloseWrite, as a *net.TCPConn does: without them Close of a Host resets
// connections that its peers still read from.
//
// Whoever runs hosts in a testing/synctest bubble gives them Sockets whose
// blocked calls wait for channels, conditions and timers of the bubble.
type Sockets interface {
	// Dial connects to "ip:port". It returns when ctx ends, at the latest.
	Dial(ctx context.Context, addr string) (net.Conn, error)
	// Listen accepts connections at "ip:port"; port 0 is any free one.
	Listen(addr string) (net.Listener, error)
}

// newTransport returns what libp2p dials and listens with.
func (x *assembly) newTransport(u transport.Upgrader, limits network.ResourceManager) (transport.Transport, error) {
	h := x.owner
	t, err := tcp.NewTCPTransport(u, limits, nil,
		tcp.WithConnectionTimeout(h.cfg.DialTimeout),
		// Pitfall "simultaneous dials": with port reuse two nodes that dial
		// each other make one TCP connection with two openers, which fails on
		// LANs; and two programs could listen at one port unnoticed.
		tcp.DisableReuseport(),
	)
	if err != nil || h.cfg.Sockets == nil {
		return t, err
	}
	return &socketTransport{tcp: t, owner: h, upgrader: u, limits: limits}, nil
}

// socketTransport is libp2p's TCP transport on Config.Sockets. The original
// takes a dialer too, but no listener, and logs an error for each connection
// that is not the kernel's.
type socketTransport struct {
	tcp      *tcp.TcpTransport // says what can be dialled
	owner    *Host
	upgrader transport.Upgrader
	limits   network.ResourceManager
}

var _ transport.Transport = (*socketTransport)(nil)

// Dial implements transport.Transport.
func (t *socketTransport) Dial(ctx context.Context, addr ma.Multiaddr, p peer.ID) (transport.CapableConn, error) {
	scope, err := t.limits.OpenConnection(network.DirOutbound, true, addr)
	if err != nil {
		return nil, err
	}
	c, err := t.dial(ctx, addr, p, scope)
	if err != nil {
		scope.Done()
		return nil, err
	}
	return c, nil
}

func (t *socketTransport) dial(ctx context.Context, addr ma.Multiaddr, p peer.ID,
	scope network.ConnManagementScope,
) (transport.CapableConn, error) {
	if err := scope.SetPeer(p); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, t.owner.cfg.DialTimeout)
	defer cancel()
	raw, err := t.owner.dialRaw(ctx, addr)
	if err != nil {
		return nil, err
	}
	return t.upgrader.Upgrade(ctx, t, raw, network.DirOutbound, p, scope)
}

// Listen implements transport.Transport.
func (t *socketTransport) Listen(addr ma.Multiaddr) (transport.Listener, error) {
	at, err := toTCPAddr(addr)
	if err != nil {
		return nil, err
	}
	l, err := t.owner.cfg.Sockets.Listen(at.String())
	if err != nil {
		return nil, err
	}
	wrapped, err := manet.WrapNetListener(l)
	if err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("p2p: listener: %w", err)
	}
	return t.upgrader.UpgradeGatedMaListener(t, t.upgrader.GateMaListener(wrapped)), nil
}

// CanDial implements transport.Transport.
func (t *socketTransport) CanDial(addr ma.Multiaddr) bool { return t.tcp.CanDial(addr) }

// Protocols implements transport.Transport.
func (t *socketTransport) Protocols() []int { return t.tcp.Protocols() }

// Proxy implements transport.Transport.
func (t *socketTransport) Proxy() bool { return t.tcp.Proxy() }

// dialRaw opens a connection to addr without a handshake.
func (h *Host) dialRaw(ctx context.Context, addr ma.Multiaddr) (manet.Conn, error) {
	if h.cfg.Sockets == nil {
		var d manet.Dialer
		return d.DialContext(ctx, addr)
	}
	at, err := toTCPAddr(addr)
	if err != nil {
		return nil, err
	}
	c, err := h.cfg.Sockets.Dial(ctx, at.String())
	if err != nil {
		return nil, err
	}
	wrapped, err := manet.WrapNetConn(c)
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("p2p: dial %s: %w", addr, err)
	}
	return wrapped, nil
}
