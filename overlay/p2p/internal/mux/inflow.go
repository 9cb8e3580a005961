// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"io"
	"net"
	"os"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/arke-mesh/arke/internal/deadline"
)

// How many bytes of a stream may have come that nobody has read; of a link's that
// drives, driveWindow.
const (
	plainWindow = 32 << 10
	linkWindow  = 1 << 20
	driveWindow = 16 << 20
)

// inflow is the reading half of a stream. Its fields are guarded by conn.mu but for
// those that say otherwise.
type inflow struct {
	s        *Stream
	readable chan struct{} // has room for one: look again
	reads    deadline.Deadline

	// Owned by the reader; set by who yields the lead to it while it waits.
	leading bool

	buf      buffer
	window   int  // allowed is raised to it when half of it was read
	allowed  int  // bytes that the peer may still send
	driving  bool // see Drive
	waiting  bool // the reader, for readable
	theirEnd bool // the peer writes no more
	deaf     bool // CloseRead was called
	readBy   time.Time
}

// Drive says whether the stream's reader is in Read, or will be soon, from here on:
// then it reads the connection itself. Only who reads may call it.
func (f *inflow) Drive(on bool) {
	c := f.s.conn
	c.mu.Lock()
	f.driving = on
	more := 0
	if on && f.window < driveWindow && f.s.gone() == nil {
		more = driveWindow - f.window
		f.window = driveWindow
		f.allowed += more
	}
	c.mu.Unlock()
	f.allow(more)
	if !on && f.leading {
		c.giveBack(f.s)
	}
}

// Read implements network.MuxedStream.
func (f *inflow) Read(p []byte) (int, error) {
	for {
		if f.leading {
			n, again, err := f.take(p)
			if again {
				continue
			}
			return n, err
		}
		n, wait, err := f.stored(p)
		if !wait {
			return n, err
		}
		late := false
		select {
		case <-f.readable:
		case <-f.reads.Done():
			late = true
		case <-f.s.conn.done:
		}
		if f.leave(); late && !f.leading {
			return 0, os.ErrDeadlineExceeded
		}
	}
}

// leave notes that the reader does not wait.
func (f *inflow) leave() {
	f.s.conn.mu.Lock()
	defer f.s.conn.mu.Unlock()
	f.waiting = false
}

// stored reads what was put into the buffer, or says why nothing will be, or that
// one has to wait.
func (f *inflow) stored(p []byte) (n int, wait bool, err error) {
	c := f.s.conn
	c.mu.Lock()
	if f.s.err == nil && (f.buf.len() > 0 || len(p) == 0) {
		before := cap(f.buf.b)
		n = f.buf.take(p)
		c.keep(cap(f.buf.b) - before)
		more := f.consumed()
		c.mu.Unlock()
		f.allow(more)
		return n, false, nil
	}
	defer c.mu.Unlock()
	switch {
	case f.s.err != nil:
		return 0, false, f.s.err
	case f.deaf:
		return 0, false, net.ErrClosed
	case f.theirEnd:
		return 0, false, io.EOF
	case c.err != nil:
		return 0, false, c.err
	}
	f.waiting = true
	return 0, true, nil
}

// store puts what has come into the buffer, unless nobody will read it. A stream for
// which there is no room is over.
func (f *inflow) store(p []byte) {
	c := f.s.conn
	c.mu.Lock()
	if f.s.err != nil || f.deaf {
		c.mu.Unlock()
		return
	}
	if grown := f.buf.grown(len(p)); c.keep(grown - cap(f.buf.b)) {
		f.buf.put(p, grown)
		signal(f.readable)
		c.mu.Unlock()
		return
	}
	f.s.end(&network.StreamError{ErrorCode: network.StreamResourceLimitExceeded})
	c.forget(f.s)
	c.mu.Unlock()
	c.control(f.s, head{kindReset, 0, uint32(network.StreamResourceLimitExceeded)})
}

// consumed returns how many bytes more the peer is to be allowed, 0 = not yet.
// conn.mu is held.
func (f *inflow) consumed() int {
	more := f.window - f.allowed - f.buf.len()
	if more < f.window/2 || f.theirEnd {
		return 0
	}
	f.allowed += more
	return more
}

func (f *inflow) allow(more int) {
	if more > 0 {
		f.s.conn.control(f.s, head{kindCredit, 0, uint32(more)})
	}
}

// take reads as the one who leads. again says that one has to look once more.
func (f *inflow) take(p []byte) (n int, again bool, err error) {
	in := &f.s.conn.receiver
	if in.left == 0 || in.target != f.s {
		if there, again, err := f.seek(); !there {
			return 0, again, err
		}
	}
	n, err = in.read(p[:min(len(p), in.left)])
	if err != nil {
		again, err = f.failed(err)
		return 0, again, err
	}
	in.left -= n
	if in.left == 0 {
		c := f.s.conn
		c.mu.Lock()
		more := f.consumed()
		c.mu.Unlock()
		f.allow(more)
	}
	return n, false, nil
}

// seek reads up to the next data of the stream, as the one who leads. again says that
// it does not any more.
func (f *inflow) seek() (there, again bool, err error) {
	c := f.s.conn
	in := &c.receiver
	for {
		if err := in.step(); err != nil {
			again, err := f.failed(err)
			return false, again, err
		}
		switch {
		case in.left > 0 && in.target == f.s:
			return true, false, nil
		case in.left == 0 && f.finished():
			c.giveBack(f.s)
			return false, true, nil
		}
	}
}

// finished says whether nothing more can come.
func (f *inflow) finished() bool {
	f.s.conn.mu.Lock()
	defer f.s.conn.mu.Unlock()
	return f.s.gone() != nil || f.theirEnd || f.deaf
}

// failed says what an error of the connection means for who leads. again says that
// it does not any more.
func (f *inflow) failed(err error) (again bool, _ error) {
	c := f.s.conn
	if !timeout(err) {
		c.fail(err)
	} else if !f.finished() {
		return false, os.ErrDeadlineExceeded
	}
	c.giveBack(f.s)
	return true, nil
}

// CloseRead implements network.MuxedStream.
func (f *inflow) CloseRead() error {
	f.s.conn.mu.Lock()
	defer f.s.conn.mu.Unlock()
	f.deaf = true
	f.s.interrupt()
	return nil
}

// SetReadDeadline implements network.MuxedStream.
func (f *inflow) SetReadDeadline(t time.Time) error {
	_ = f.reads.Set(t)
	c := f.s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	f.readBy = t
	if c.lead == f.s && f.s.gone() == nil {
		_ = c.secure.SetReadDeadline(t)
	}
	return nil
}

// buffer holds what came for a stream while nobody read. The zero value is empty.
type buffer struct {
	b    []byte
	from int
}

func (b *buffer) len() int { return len(b.b) - b.from }

// grown is how much memory the buffer has to have for n bytes more.
func (b *buffer) grown(n int) int {
	switch size := cap(b.b); {
	case len(b.b)+n <= size, b.from > len(b.b)/2 && b.len()+n <= size:
		return size
	default:
		return max(b.len()+n, size+size/4)
	}
}

// put adds p, with so much memory as grown has said.
func (b *buffer) put(p []byte, size int) {
	switch {
	case size > cap(b.b):
		b.b, b.from = append(make([]byte, 0, size), b.b[b.from:]...), 0
	case len(b.b)+len(p) > size:
		b.b, b.from = b.b[:copy(b.b, b.b[b.from:])], 0
	}
	b.b = append(b.b, p...)
}

// take copies from the front. An empty buffer keeps little memory.
func (b *buffer) take(p []byte) int {
	n := copy(p, b.b[b.from:])
	if b.from += n; b.from == len(b.b) {
		if b.b, b.from = b.b[:0], 0; cap(b.b) > 4<<10 {
			b.b = nil
		}
	}
	return n
}
