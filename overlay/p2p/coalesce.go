// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"net"
	"sync"

	pool "github.com/libp2p/go-buffer-pool"
)

// TLS 1.3 adds this much to each record of at most maxRecord bytes.
const (
	maxRecord      = 16 << 10
	recordOverhead = 5 + 1 + 16 // header, inner type, tag
)

// coalescer sits between TLS and TCP. TLS makes one write for each record of
// 16 KiB; while held, they are gathered and leave in one system call.
//
// TLS may write on its own account while another goroutine's Write is under
// way (an alert, a key update), so order is kept by mu: nothing overtakes what
// has been gathered.
type coalescer struct {
	net.Conn

	// Guarded by mu. It is held during writes below, as TLS holds a lock of
	// its own there; Close does not take it.
	mu     sync.Mutex
	held   bool
	ended  bool
	gather []byte
}

// Write implements net.Conn for TLS.
func (c *coalescer) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held {
		c.gather = append(c.gather, p...)
		return len(p), nil
	}
	return c.pass(p)
}

// pass writes to the connection below. It needs mu.
func (c *coalescer) pass(p []byte) (int, error) {
	if c.ended {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// hold begins to gather the records of size bytes.
func (c *coalescer) hold(size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = true
	c.gather = pool.Get(size + (size/maxRecord+1)*recordOverhead)[:0]
}

// release writes what was gathered.
func (c *coalescer) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = false
	_, err := c.pass(c.gather)
	pool.Put(c.gather)
	c.gather = nil
	return err
}

// end ends the TCP stream after what was written; the peer reads EOF. What is
// written after it disappears: an error would have yamux close the connection,
// with a reset, although the peer is still reading.
func (c *coalescer) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
