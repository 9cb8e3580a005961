// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/transport"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// Sockets is a network in place of the machine's TCP. Everything above it,
// from the greeting on, stays as it is in production.
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

// machine is the TCP of this machine.
//
// Pitfall "simultaneous dials": libp2p's transport shares ports. Then two nodes that
// dial each other make one TCP connection with two openers, which fails on LANs; and
// two programs could listen at one port unnoticed.
type machine struct{}

// Dial implements Sockets.
func (machine) Dial(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err == nil {
		noLinger(c)
	}
	return c, err
}

// Listen implements Sockets.
func (machine) Listen(addr string) (net.Listener, error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadAddress, err)
	}
	family := "tcp6" // each listener has a family of its own
	if at.Addr().Unmap().Is4() {
		family = "tcp4"
	}
	// Options are for who has greeted: for the others each costs as much as all we
	// do about them.
	var off error
	quick := net.ListenConfig{KeepAlive: -1, Control: func(_, _ string, c syscall.RawConn) error {
		off = sift(c)
		return nil
	}}
	quick.SetMultipathTCP(false) // a listener of which has no sieve, and is slower
	l, err := quick.Listen(context.Background(), family, addr)
	if err != nil {
		return nil, err
	}
	return &sieved{l, off}, nil
}

// noLinger has Close discard what was not sent, and leave nothing in the kernel.
func noLinger(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// tcpTransport dials and listens for swarm.
//
// That of libp2p converts the addresses of every connection that it accepts, and sets
// options on it, before anybody has asked who it is: half of what a stranger cost.
type tcpTransport struct {
	owner    *Host
	upgrader *upgrader
	limits   network.ResourceManager
}

var _ transport.Transport = (*tcpTransport)(nil)

// Dial implements transport.Transport.
func (t *tcpTransport) Dial(ctx context.Context, addr ma.Multiaddr, p peer.ID) (transport.CapableConn, error) {
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

func (t *tcpTransport) dial(ctx context.Context, addr ma.Multiaddr, p peer.ID,
	scope network.ConnManagementScope,
) (transport.CapableConn, error) {
	if err := scope.SetPeer(p); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, t.owner.cfg.DialTimeout)
	defer cancel()
	raw, err := dialRaw(ctx, t.owner.cfg.Sockets, addr)
	if err != nil {
		return nil, err
	}
	return t.upgrader.dialled(ctx, t, raw, p, scope)
}

// Listen implements transport.Transport.
func (t *tcpTransport) Listen(addr ma.Multiaddr) (transport.Listener, error) {
	at, err := toTCPAddr(addr)
	if err != nil {
		return nil, err
	}
	l, err := t.owner.cfg.Sockets.Listen(at.String())
	if err != nil {
		return nil, err
	}
	bound, err := manet.FromNetAddr(l.Addr())
	if err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("p2p: listener: %w", err)
	}
	sifted(t.owner, l)
	return newListener(t, l, bound), nil
}

// CanDial implements transport.Transport.
func (t *tcpTransport) CanDial(addr ma.Multiaddr) bool {
	_, err := toTCPAddr(addr)
	return err == nil
}

// Protocols implements transport.Transport.
func (t *tcpTransport) Protocols() []int { return []int{ma.P_TCP} }

// Proxy implements transport.Transport.
func (t *tcpTransport) Proxy() bool { return false }

// dialRaw opens a connection to addr without a handshake.
func dialRaw(ctx context.Context, via Sockets, addr ma.Multiaddr) (manet.Conn, error) {
	at, err := toTCPAddr(addr)
	if err != nil {
		return nil, err
	}
	c, err := via.Dial(ctx, at.String())
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
