// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conn

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/internal/deadline"
	"github.com/arke-mesh/arke/patterns"
)

// maxMessage is how much of a Write goes into one message, in bytes: one chunk.
const maxMessage = 64 << 10

// Conn is a tunnel as a net.Conn. Methods may be called concurrently; several
// Reads, or several Writes, take turns.
type Conn struct {
	// Immutable.
	tunnel   stream
	accepted bool

	reading sync.Mutex // held by the Read under way
	writing sync.Mutex // held by the Write under way

	read, write deadline.Deadline
	closed      atomic.Bool
}

var _ net.Conn = (*Conn)(nil)

// stream is a tunnel of bytes. Every tunnel of a node or a client is one.
type stream interface {
	patterns.Tunnel
	// SendPart sends the first n bytes of body as a message of its own, so that a
	// deadline never comes in the middle of one.
	SendPart(ctx context.Context, body []byte) (n int, err error)
	// ReadPart copies to b what has come. The rest of a message stays in the tunnel,
	// which knows how much of what came was not read.
	ReadPart(ctx context.Context, b []byte) (n int, err error)
	// Detach lets the handler of the tunnel return without ending it.
	Detach()
}

// New returns a tunnel that was opened here as a net.Conn. Nobody else should use t
// from then on.
func New(t patterns.Tunnel) *Conn { return &Conn{tunnel: t.(stream)} }

// Accept is New for a tunnel that a handler serves. It outlives the handler, so Close
// is due.
func Accept(t patterns.Tunnel) *Conn {
	s := t.(stream)
	s.Detach()
	return &Conn{tunnel: s, accepted: true}
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	switch {
	case c.closed.Load():
		return 0, net.ErrClosed
	case len(b) == 0:
		return 0, nil
	case c.read.Passed():
		return 0, os.ErrDeadlineExceeded
	}
	n, err := c.tunnel.ReadPart(until{c.read.Done()}, b)
	return n, c.judge(err)
}

// Write implements net.Conn.
func (c *Conn) Write(b []byte) (n int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for {
		switch {
		case c.closed.Load():
			return n, net.ErrClosed
		case c.write.Passed():
			return n, os.ErrDeadlineExceeded
		case n == len(b):
			return n, nil
		}
		sent, err := c.tunnel.SendPart(until{c.write.Done()}, b[n:min(len(b), n+maxMessage)])
		if n += sent; err != nil {
			return n, c.judge(err)
		}
		if n == len(b) {
			return n, nil
		}
	}
}

// judge returns an error of the tunnel as users of a net.Conn know it.
func (c *Conn) judge(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		return io.EOF
	case c.closed.Load():
		return net.ErrClosed
	case errors.Is(err, context.DeadlineExceeded):
		return os.ErrDeadlineExceeded
	}
	return err
}

// CloseWrite ends the direction of Write; the other side reads io.EOF after all
// that was written.
func (c *Conn) CloseWrite() error { return c.tunnel.CloseSend() }

// Close implements net.Conn: what was written arrives. What came and was not read is
// dropped, and the other side learns that. A Read or Write under way ends.
func (c *Conn) Close() error {
	c.closed.Store(true)
	c.read.End()
	c.write.End()
	return c.tunnel.Close()
}

// Tunnel returns the tunnel, for its Reset, Done and Err.
func (c *Conn) Tunnel() patterns.Tunnel { return c.tunnel }

// LocalAddr implements net.Conn: CLUSTER/MEMBER at the member, empty at the caller.
func (c *Conn) LocalAddr() net.Addr {
	if i := c.tunnel.Info(); c.accepted {
		return addr(i.Cluster + "/" + i.Member)
	}
	return addr("")
}

// RemoteAddr implements net.Conn: CLUSTER/MEMBER@PEER at the caller, and the caller's
// peer id at the member.
func (c *Conn) RemoteAddr() net.Addr {
	i := c.tunnel.Info()
	if c.accepted {
		return addr(i.Peer)
	}
	return addr(i.Cluster + "/" + i.Member + "@" + i.Peer)
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.read.Set(t) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.write.Set(t) }

// addr is a net.Addr of one end of a tunnel.
type addr string

// Network implements net.Addr.
func (a addr) Network() string { return "arke" }

// String implements net.Addr.
func (a addr) String() string { return string(a) }
