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
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/sec"
)

// secureConn is a TLS connection with an admitted peer, as the multiplexer
// sees it. One goroutine writes at a time.
type secureConn struct {
	*tls.Conn
	below        *coalescer
	self, remote peer.ID
	key          crypto.PubKey

	// gauge counts the plaintext that was written.
	gauge *gauge

	// confirmed is closed at the first byte from the peer: only then do we
	// know that it has admitted us.
	confirmed chan struct{}
	heard     atomic.Bool
	// begun is when the handshake was over, last when the peer said something,
	// as a time.Duration since begun.
	begun time.Time
	last  atomic.Int64
	// refused says that the peer hung up before that.
	refused atomic.Bool

	// Guarded by mu.
	mu        sync.Mutex
	onConfirm []func()
}

var _ sec.SecureConn = (*secureConn)(nil)

func newSecureConn(c *tls.Conn, below *coalescer, self, remote peer.ID, key crypto.PubKey) *secureConn {
	return &secureConn{
		Conn: c, below: below, self: self, remote: remote, key: key,
		gauge:     newGauge(),
		confirmed: make(chan struct{}),
		begun:     time.Now(),
	}
}

// Write implements net.Conn: everything in p leaves in one system call.
//
// Pitfall "yamux": it makes one write per frame and coalesces nothing, and TLS
// one per record; so frames are large and records are gathered here.
func (c *secureConn) Write(p []byte) (int, error) {
	n, err := c.write(p)
	if err != nil {
		c.lost(err)
		return n, err
	}
	c.gauge.add(n)
	if isGoAway(p) {
		c.below.end()
	}
	return n, nil
}

// lost notes an error of the connection. One that is not of our making, before
// the peer has said anything, is most likely its refusal: the alert that says
// so does not always get through.
func (c *secureConn) lost(err error) {
	if !c.heard.Load() && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.refused.Store(true)
	}
}

// isGoAway recognises the yamux frame that says that nothing will follow.
// yamux makes one write per frame: version, type, and so on.
func isGoAway(frame []byte) bool { return len(frame) >= 2 && frame[0] == 0 && frame[1] == 3 }

func (c *secureConn) write(p []byte) (int, error) {
	if len(p) <= maxRecord {
		return c.Conn.Write(p)
	}
	c.below.hold(len(p))
	n, err := c.Conn.Write(p)
	if flushErr := c.below.release(); err == nil {
		err = flushErr
	}
	return n, err
}

// Read implements net.Conn.
func (c *secureConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.last.Store(int64(time.Since(c.begun)))
	}
	switch {
	case n > 0 && !c.heard.Load():
		c.confirm()
	case err != nil:
		c.lost(err)
	}
	return n, err
}

// quiet is how long the peer has said nothing.
func (c *secureConn) quiet() time.Duration {
	return time.Since(c.begun) - time.Duration(c.last.Load())
}

func (c *secureConn) confirm() {
	c.mu.Lock()
	first := !c.heard.Swap(true)
	calls := c.onConfirm
	c.onConfirm = nil
	c.mu.Unlock()
	if !first {
		return
	}
	close(c.confirmed)
	for _, f := range calls {
		f()
	}
}

// whenConfirmed calls f once the peer is known to have admitted us: now, or
// later on the goroutine that reads. f must not block.
func (c *secureConn) whenConfirmed(f func()) {
	c.mu.Lock()
	heard := c.heard.Load()
	if !heard {
		c.onConfirm = append(c.onConfirm, f)
	}
	c.mu.Unlock()
	if heard {
		f()
	}
}

// Close implements net.Conn. It never blocks: TLS's own Close would try to
// tell the peer, for up to 5 s, which tells it no more than the end of the
// connection does. Streams have an end of their own.
func (c *secureConn) Close() error {
	c.gauge.close()
	return c.below.Conn.Close()
}

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
