// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// window is how many bytes an end may have sent that the other one has not
	// read, as far as it knows.
	window = 256 << 10
	// acknowledgeEvery is how much an end reads before it says so.
	acknowledgeEvery = window / 4
	// pacedWrite is what is handed to a link with a bandwidth at a time.
	pacedWrite = 16 << 10
)

// end is one end of a connection: a net.Conn with the half-close of TCP.
// Guarded by network.mu.
type end struct {
	net   *network
	proc  *process
	peer  *end
	out   *flow
	local net.Addr

	inbox     [][]byte
	unread    int // bytes read here that the peer has not been told of
	unheard   int // bytes sent that the peer may not have read
	ended     bool
	peerEnded bool
	spilt     bool // the connection is about to die: nothing may block
	closed    bool
	failed    error

	readBy, writeBy    time.Time
	readable, writable *sync.Cond
}

var _ net.Conn = (*end)(nil)

// connect makes both ends of a connection. It needs mu.
func connect(from, to *process, fromPort, toPort uint16) (dialler, acceptor *end) {
	n := from.machine.net
	make := func(p *process, port uint16) *end {
		e := &end{net: n, proc: p, local: p.machine.addr(port), readable: sync.NewCond(&n.mu), writable: sync.NewCond(&n.mu)}
		p.ends[e] = struct{}{}
		return e
	}
	a, b := make(from, fromPort), make(to, toPort)
	a.peer, b.peer = b, a
	a.out = newFlow(n.path(from.machine, to.machine), b)
	b.out = newFlow(n.path(to.machine, from.machine), a)
	return a, b
}

// Read implements net.Conn.
func (e *end) Read(b []byte) (int, error) {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	for {
		switch {
		case e.closed:
			return 0, e.err("read", net.ErrClosed)
		case e.proc.frozen:
			e.wait(e.readable, time.Time{})
		case passed(e.readBy):
			return 0, e.err("read", os.ErrDeadlineExceeded)
		case len(e.inbox) > 0 && len(b) > 0:
			return e.take(b), nil
		case len(b) == 0:
			return 0, nil
		case e.failed != nil:
			return 0, e.err("read", e.failed)
		case e.peerEnded:
			return 0, io.EOF
		default:
			e.wait(e.readable, e.readBy)
		}
	}
}

// take copies what has arrived.
func (e *end) take(b []byte) int {
	n := 0
	for n < len(b) && len(e.inbox) > 0 {
		c := copy(b[n:], e.inbox[0])
		n += c
		if e.inbox[0] = e.inbox[0][c:]; len(e.inbox[0]) == 0 {
			e.inbox[0] = nil
			e.inbox = e.inbox[1:]
		}
	}
	if e.unread += n; e.unread >= acknowledgeEvery {
		e.acknowledge(e.unread)
		e.unread = 0
	}
	return n
}

// acknowledge tells the peer that n bytes were read. It is not a parcel: those
// that get lost do not matter, as the next one says it again.
func (e *end) acknowledge(n int) {
	p := e.out.path
	if p.blocked() {
		time.AfterFunc(p.link.Model().RTO(), func() {
			e.net.mu.Lock()
			defer e.net.mu.Unlock()
			if !e.closed && e.failed == nil {
				e.acknowledge(n)
			}
		})
		return
	}
	time.AfterFunc(p.link.Model().Latency, func() {
		e.net.mu.Lock()
		defer e.net.mu.Unlock()
		e.peer.unheard -= n
		e.peer.writable.Broadcast()
	})
}

// Write implements net.Conn.
func (e *end) Write(b []byte) (int, error) {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	written := 0
	for written < len(b) {
		if e.proc.frozen && !e.closed {
			e.wait(e.writable, time.Time{})
			continue
		}
		if err := e.unwritable(); err != nil {
			return written, e.err("write", err)
		}
		n, at := e.room(len(b) - written)
		if n == 0 {
			by := e.writeBy
			if !at.IsZero() && (by.IsZero() || at.Before(by)) {
				by = at
			}
			e.wait(e.writable, by)
			continue
		}
		e.unheard += n
		e.out.send(kindData, append([]byte(nil), b[written:written+n]...))
		written += n
	}
	return written, nil
}

func (e *end) unwritable() error {
	switch {
	case e.closed:
		return net.ErrClosed
	case passed(e.writeBy):
		return os.ErrDeadlineExceeded
	case e.failed != nil:
		return e.failed
	case e.ended:
		return os.NewSyscallError("write", syscall.EPIPE)
	}
	return nil
}

// room returns how much of a write can be sent now; or 0, and when to look
// again if that is known.
func (e *end) room(size int) (int, time.Time) {
	if e.spilt {
		return size, time.Time{}
	}
	size = min(size, window-e.unheard)
	if size <= 0 {
		return 0, time.Time{}
	}
	l := e.out.path.link
	if !l.Model().Bounded() {
		return size, time.Time{}
	}
	size = min(size, pacedWrite)
	now := e.net.now()
	if at := l.RoomAt(now, size); at > now {
		return 0, e.net.begun.Add(at)
	}
	return size, time.Time{}
}

// receive takes in what has arrived.
func (e *end) receive(p parcel) {
	switch {
	case e.proc.state == silent && e.proc.machine.proc == e.proc:
		return // nobody is there, not even a kernel
	case e.closed || e.proc.state != running:
		if p.kind == kindData || p.kind == kindEnd {
			e.out.send(kindReset, nil)
		}
		return
	case e.failed != nil:
		return
	}
	switch p.kind {
	case kindData:
		e.inbox = append(e.inbox, e.corrupted(p.data))
	case kindEnd:
		e.peerEnded = true
	case kindReset:
		e.fail(os.NewSyscallError("read", syscall.ECONNRESET))
	case kindBroken:
		e.fail(os.NewSyscallError("read", syscall.ETIMEDOUT))
		e.peer.fail(os.NewSyscallError("write", syscall.ETIMEDOUT))
	}
	e.readable.Broadcast()
}

// corrupted flips a bit if that was asked for. TLS will say so to the peer, and
// must not wait for room: it holds a lock meanwhile, which a bubble can't see.
func (e *end) corrupted(data []byte) []byte {
	p := e.peer.out.path
	if p.corrupt > 0 && len(data) > 0 {
		p.corrupt--
		data[len(data)-1] ^= 1
		e.spilt = true
		e.writable.Broadcast()
	}
	return data
}

// fail ends the connection at this end.
func (e *end) fail(err error) {
	if e.failed == nil {
		e.failed = err
	}
	e.out.drop()
	e.readable.Broadcast()
	e.writable.Broadcast()
}

// CloseWrite ends this direction; the peer reads EOF.
func (e *end) CloseWrite() error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	switch {
	case e.closed:
		return e.err("close", net.ErrClosed)
	case e.failed != nil:
		return e.err("close", e.failed)
	case !e.ended:
		e.ended = true
		e.out.send(kindEnd, nil)
		e.writable.Broadcast()
	}
	return nil
}

// CloseRead does nothing: nobody here would notice.
func (e *end) CloseRead() error { return nil }

// Close implements net.Conn: a reset, as with a linger of 0.
func (e *end) Close() error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	if e.closed {
		return e.err("close", net.ErrClosed)
	}
	e.shut()
	return nil
}

// shut closes this end. It needs mu.
func (e *end) shut() {
	if e.closed {
		return
	}
	e.closed = true
	delete(e.proc.ends, e)
	e.out.drop()
	if e.failed == nil && e.proc.state != silent {
		e.out.send(kindReset, nil)
	}
	e.inbox = nil
	e.readable.Broadcast()
	e.writable.Broadcast()
}

// LocalAddr implements net.Conn.
func (e *end) LocalAddr() net.Addr { return e.local }

// RemoteAddr implements net.Conn.
func (e *end) RemoteAddr() net.Addr { return e.peer.local }

// SetDeadline implements net.Conn.
func (e *end) SetDeadline(t time.Time) error {
	_ = e.SetReadDeadline(t)
	return e.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (e *end) SetReadDeadline(t time.Time) error { return e.setDeadline(&e.readBy, e.readable, t) }

// SetWriteDeadline implements net.Conn.
func (e *end) SetWriteDeadline(t time.Time) error { return e.setDeadline(&e.writeBy, e.writable, t) }

func (e *end) setDeadline(by *time.Time, who *sync.Cond, t time.Time) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	*by = t
	who.Broadcast()
	return nil
}

// wait waits for c, or until a time if there is one.
func (e *end) wait(c *sync.Cond, by time.Time) {
	if !by.IsZero() {
		t := time.AfterFunc(time.Until(by), func() {
			e.net.mu.Lock()
			defer e.net.mu.Unlock()
			c.Broadcast()
		})
		defer t.Stop()
	}
	c.Wait()
}

func passed(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }

func (e *end) err(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: e.local, Addr: e.peer.local, Err: err}
}
