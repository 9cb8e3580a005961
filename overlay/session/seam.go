// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
)

// Conn is what a session runs over: a reliable, ordered stream of bytes. One
// goroutine may read while another writes.
type Conn interface {
	io.Reader
	// Write sends p whole or fails. The caller keeps p.
	io.Writer
	// CloseWrite ends this direction; the peer reads io.EOF after the last byte.
	CloseWrite() error
	// Reset ends both directions at once: a Read or Write that is under way
	// returns. Where the stream below can, it tells the peer code.
	Reset(code uint32) error
}

// Owned is a Conn that is all but the session's own, and lets it save copies and
// hand-overs.
type Owned interface {
	Conn
	// WriteAll is Write of what parts are together, size bytes. It may change parts,
	// but not what is in them.
	WriteAll(size int, parts ...[]byte) (int, error)
	// TryWrite writes the first n bytes, as much as can be written without waiting;
	// the caller has the rest written by WriteAll.
	TryWrite(size int, parts ...[]byte) (n int, err error)
	// Unsent bounds what is taken from us before the line has taken it, in bytes. It
	// is a wish, and follows the speed of the line.
	Unsent(bytes int)
	// Drive says whether the reader is in Read, or will be soon, from here on: then
	// nothing need be read ahead for it. The reader calls it.
	Drive(on bool)
}

// Carrier is a connection that carries a session, or is to: Hellos are read from
// Frames before Run is called.
type Carrier struct {
	Conn
	Frames *wire.FrameReader

	own     Owned // Conn, if it is one
	heard   func(n int)
	session atomic.Pointer[Session]
}

// NewCarrier returns c as sessions use it. Nobody else may read from c. heard, if
// not nil, is told how many bytes have come. bodies is memory for long frames of
// tunnels; it may be nil.
func NewCarrier(c Conn, bodies *wire.Bodies, heard func(n int)) *Carrier {
	r := &Carrier{Conn: c, heard: heard}
	r.own, _ = c.(Owned)
	r.Frames = wire.NewFrameReader(r)
	r.Frames.Share(bodies)
	return r
}

// Read reads from the connection and notes that the peer is alive.
func (r *Carrier) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	if n > 0 {
		if r.heard != nil {
			r.heard(n)
		}
		if s := r.session.Load(); s != nil {
			s.pulse.sign()
		}
	}
	return n, err
}

// drive has read, which reads until the end, read.
func (r *Carrier) drive(read func() error) error {
	if r.own != nil {
		r.own.Drive(true)
		defer r.own.Drive(false)
	}
	return read()
}

// NetConn makes a net.Conn a Conn, and a socket an Owned one.
func NetConn(c net.Conn) Conn {
	if s := NewSocket(c, nil, nil); s != nil {
		return s
	}
	return netConn{c}
}

type netConn struct{ net.Conn }

// CloseWrite implements Conn.
func (c netConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil // the peer sees the end with Close
}

// Reset implements Conn.
func (c netConn) Reset(uint32) error { return c.Close() }

// Clock tells and waits. Labels name timers in the simulator, where
// simultaneous ones fire in the order of (node, label, sequence).
type Clock interface {
	// Now includes a monotonic reading; only differences are meaningful.
	Now() time.Time
	// AfterFunc calls f once, on a goroutine of its own, after d.
	AfterFunc(label string, d time.Duration, f func()) Timer
}

// Timer is a pending call of Clock.AfterFunc.
type Timer interface {
	// Stop prevents the call if it has not begun, and says so. It does not
	// wait for one that has.
	Stop() bool
}

// ExecKey orders simultaneous work in the simulator. Name is a constant of
// the caller, N an id that the core decided (a request's, a member's).
type ExecKey struct {
	Name string
	N    uint64
}

// Waker runs a function that signals a goroutine and must not block. Production
// runs it at once on the calling goroutine; the simulator queues it, so that two
// goroutines never wake in the same step.
type Waker interface {
	Wake(key ExecKey, f func())
}

// Jitter is a source of random numbers.
type Jitter interface {
	// IntN returns a number in [0, n); n must be positive.
	IntN(n int) int
}
