// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/transport"
	muxer "github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-yamux/v5"
	manet "github.com/multiformats/go-multiaddr/net"
)

// maxMuxFrame is the largest yamux frame, header included, in bytes: sixteen
// TLS records, which with their overhead fit a buffer of 256 KiB.
const maxMuxFrame = 255 << 10

// muxConfig returns the configuration of yamux for one host.
//
// Pitfall "yamux": its defaults write 64 KiB at a time, begin with a window
// that never grows on a fast network, and print to standard error.
func muxConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.MaxMessageSize = maxMuxFrame
	c.InitialStreamWindowSize = 1 << 20
	c.MaxStreamWindowSize = 16 << 20
	c.MaxIncomingStreams = 1024 // per connection; per peer see limits
	c.ReadBufSize = 0           // TLS buffers
	c.LogOutput = io.Discard
	// Pitfall "yamux, keepalive under load": what does not answer a ping, or
	// take a frame, for this long is closed. Short times close connections of
	// busy machines and slow lines; to notice a hang is the overlay's task. But
	// connections without a link have only this: were they asked every 30 s, as
	// is the default, they would outlive a partition of half a minute, and then
	// be dead for as long again, while TCP backs off.
	c.KeepAliveInterval = 10 * time.Second
	c.ConnectionWriteTimeout = 15 * time.Second
	return c
}

// upgrader turns TCP connections into multiplexed connections with admitted
// peers. Unlike libp2p's it negotiates neither security nor multiplexer, which
// saves two round trips on every dial: both are fixed in the TLS handshake.
type upgrader struct {
	secure     *securer
	mux        *muxer.Transport
	rcmgr      network.ResourceManager
	handshakes *handshakes
}

var _ transport.Upgrader = (*upgrader)(nil)

func newUpgrader(s *securer, rcmgr network.ResourceManager, hs *handshakes) *upgrader {
	return &upgrader{secure: s, mux: (*muxer.Transport)(muxConfig()), rcmgr: rcmgr, handshakes: hs}
}

// Upgrade implements transport.Upgrader. It takes over raw and scope.
func (u *upgrader) Upgrade(ctx context.Context, t transport.Transport, raw manet.Conn,
	dir network.Direction, p peer.ID, scope network.ConnManagementScope,
) (transport.CapableConn, error) {
	setOptions(raw)
	var c *secureConn
	var err error
	if dir == network.DirInbound {
		c, err = u.secure.accept(ctx, raw)
	} else {
		c, err = u.secure.connect(ctx, raw, p, alpnLink)
	}
	if err != nil {
		scope.Done()
		return nil, err
	}
	if scope.PeerScope() == nil {
		if err := scope.SetPeer(c.remote); err != nil {
			c.Close()
			scope.Done()
			return nil, err
		}
	}
	m, err := u.mux.NewConn(c, dir == network.DirInbound, nil)
	if err != nil {
		c.Close()
		scope.Done()
		return nil, err
	}
	return &muxedConn{MuxedConn: m, ConnMultiaddrs: raw, ConnSecurity: c, transport: t, scope: scope}, nil
}

// muxedConn is what swarm gets of a connection.
type muxedConn struct {
	network.MuxedConn
	network.ConnMultiaddrs
	network.ConnSecurity
	transport transport.Transport
	scope     network.ConnManagementScope
}

var _ transport.CapableConn = (*muxedConn)(nil)

// Transport implements transport.CapableConn.
func (c *muxedConn) Transport() transport.Transport { return c.transport }

// Scope implements network.ConnScoper.
func (c *muxedConn) Scope() network.ConnScope { return c.scope }

// Close implements network.MuxedConn.
func (c *muxedConn) Close() error {
	defer c.scope.Done()
	return c.MuxedConn.Close()
}

// CloseWithError implements network.MuxedConn.
func (c *muxedConn) CloseWithError(code network.ConnErrorCode) error {
	defer c.scope.Done()
	return c.MuxedConn.CloseWithError(code)
}

// As gives out the connection below, which Host needs, or what yamux gives.
func (c *muxedConn) As(target any) bool {
	if t, ok := target.(**secureConn); ok {
		*t, ok = c.ConnSecurity.(*secureConn)
		return ok
	}
	return c.MuxedConn.As(target)
}
