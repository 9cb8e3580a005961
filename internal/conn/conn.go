// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conn

import (
	"context"
	"errors"
	"fmt"
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
	// Immutable after New.
	tunnel patterns.Tunnel

	reading sync.Mutex // held by the Read under way
	rest    []byte     // guarded by reading; received and not read

	writing sync.Mutex // held by the Write under way

	read, write deadline.Deadline
	closed      atomic.Bool
}

var _ net.Conn = (*Conn)(nil)

// partSender is a tunnel that can send a part of what it is given as a message
// of its own, so that a deadline never comes in the middle of one: at most n
// bytes are sent when SendPart returns n, and all of them go.
type partSender interface {
	SendPart(ctx context.Context, body []byte) (n int, err error)
}

// New returns t as a net.Conn. Nobody else should use t from then on.
func New(t patterns.Tunnel) *Conn {
	return &Conn{tunnel: t}
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
	for len(c.rest) == 0 {
		body, err := c.tunnel.Receive(until{c.read.Done()})
		if err != nil {
			return 0, c.judge(err)
		}
		c.rest = body
	}
	n := copy(b, c.rest)
	if c.rest = c.rest[n:]; len(c.rest) == 0 {
		c.rest = nil
	}
	return n, nil
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
		sent, err := c.send(b[n:min(len(b), n+maxMessage)])
		if n += sent; err != nil {
			return n, c.judge(err)
		}
		if n == len(b) {
			return n, nil
		}
	}
}

// send sends the piece, or a part of it.
func (c *Conn) send(piece []byte) (int, error) {
	if t, ok := c.tunnel.(partSender); ok {
		return t.SendPart(until{c.write.Done()}, piece)
	}
	if err := c.tunnel.Send(until{c.write.Done()}, piece); err != nil {
		return 0, err
	}
	return len(piece), nil
}

// judge returns an error of the tunnel as users of a net.Conn know it.
func (c *Conn) judge(err error) error {
	switch {
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

// Close implements net.Conn: what was written arrives, what comes is dropped. A
// Read or Write under way ends.
func (c *Conn) Close() error {
	c.closed.Store(true)
	c.read.End()
	c.write.End()
	return c.tunnel.Close()
}

// Tunnel returns the tunnel, for its Reset, Done and Err.
func (c *Conn) Tunnel() patterns.Tunnel { return c.tunnel }

// LocalAddr and RemoteAddr implement net.Conn: both are the address of the
// cluster's member.
func (c *Conn) LocalAddr() net.Addr { return addr(c.tunnel.Info()) }

// RemoteAddr is described at LocalAddr.
func (c *Conn) RemoteAddr() net.Addr { return addr(c.tunnel.Info()) }

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

// addr is a net.Addr of a tunnel.
type addr patterns.TunnelInfo

// Network implements net.Addr.
func (a addr) Network() string { return "arke" }

// String implements net.Addr.
func (a addr) String() string { return fmt.Sprintf("%s/%s@%s", a.Cluster, a.Member, a.Peer) }
