// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/sec"

	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/overlay/p2p/internal/mux"
)

// secureConn is a TLS connection with an admitted peer, as the multiplexer
// sees it. One goroutine writes at a time.
type secureConn struct {
	*tls.Conn
	below        *mux.QueuedConn
	self, remote peer.ID
	key          crypto.PubKey
	shown        shown // by the peer; immutable

	// confirmed is closed at the first byte from the peer: only then do we
	// know that it has admitted us.
	confirmed chan struct{}
	heard     atomic.Bool
	// refused says that the peer hung up before that.
	refused atomic.Bool

	// Guarded by mu.
	mu        sync.Mutex
	onConfirm after.List
}

var _ sec.SecureConn = (*secureConn)(nil)

func newSecureConn(c *tls.Conn, below *mux.QueuedConn, self, remote peer.ID, key crypto.PubKey) *secureConn {
	return &secureConn{
		Conn: c, below: below, self: self, remote: remote, key: key,
		confirmed: make(chan struct{}),
	}
}

// lost notes an error of the connection. One that is not of our making, before
// the peer has said anything, is most likely its refusal: the alert that says
// so does not always get through.
func (c *secureConn) lost(err error) {
	if !c.heard.Load() && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.refused.Store(true)
	}
}

// refusedBy says whether err, of this connection, is the peer's refusal. A write may
// run into it before a read does.
func (c *secureConn) refusedBy(err error) bool {
	if hungUp(err) {
		c.lost(err)
	}
	return c.refused.Load()
}

// Read implements net.Conn.
func (c *secureConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	switch {
	case n > 0 && !c.heard.Load():
		c.confirm()
	case err != nil:
		c.lost(err)
	}
	return n, err
}

func (c *secureConn) confirm() {
	c.mu.Lock()
	first := !c.heard.Swap(true)
	do := c.onConfirm.Take()
	c.mu.Unlock()
	if !first {
		return
	}
	close(c.confirmed)
	do.Run()
}

// whenConfirmed calls f once the peer is known to have admitted us: now, or
// later on the goroutine that reads. f must not block.
func (c *secureConn) whenConfirmed(f func()) {
	c.mu.Lock()
	heard := c.heard.Load()
	if !heard {
		c.onConfirm.Add(f)
	}
	c.mu.Unlock()
	if heard {
		f()
	}
}

// Close implements net.Conn. It never blocks: TLS's own Close would try to
// tell the peer, for up to 5 s, which tells it no more than the end of the
// connection does. Streams have an end of their own.
func (c *secureConn) Close() error { return c.below.Close() }

// LocalPeer implements sec.SecureConn.
func (c *secureConn) LocalPeer() peer.ID { return c.self }

// RemotePeer implements sec.SecureConn.
func (c *secureConn) RemotePeer() peer.ID { return c.remote }

// RemotePublicKey implements sec.SecureConn.
func (c *secureConn) RemotePublicKey() crypto.PubKey { return c.key }

// ConnState implements sec.SecureConn.
func (c *secureConn) ConnState() network.ConnectionState {
	return network.ConnectionState{
		StreamMultiplexer:         alpnLink,
		Security:                  "tls",
		Transport:                 "tcp",
		UsedEarlyMuxerNegotiation: true,
	}
}
