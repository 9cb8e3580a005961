// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"net"
	"os"
	"sync"
	"time"

	"github.com/arke-mesh/arke/internal/deadline"
)

const (
	plainFrame = 64 << 10  // the most that goes in one frame …
	linkFrame  = 256 << 10 // … of a link
	maxCredit  = 1 << 31
)

// outflow is the writing half of a stream.
type outflow struct {
	s        *Stream
	writable chan struct{} // has room for one: look again
	writes   deadline.Deadline

	// Held by who writes: libp2p allows two at a time.
	lock  sync.Mutex
	place *waiter

	// Guarded by conn.mu.
	credit int64 // bytes that the peer allows
	ourEnd bool  // CloseWrite was called
}

// Write implements network.MuxedStream. It returns when the kernel has taken p, or
// has not by the deadline; p then leaves as soon as it does.
func (f *outflow) Write(p []byte) (int, error) { return f.WriteAll(len(p), p) }

// WriteAll is Write of parts, size bytes together.
func (f *outflow) WriteAll(size int, parts ...[]byte) (n int, err error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	out := f.s.conn.out
	for n < size {
		m, err := f.reserve(size - n)
		if err != nil {
			return n, err
		}
		now := parts
		if m < size-n {
			now, parts = split(parts, m)
		}
		mark, err := f.s.conn.put(f.s, head{kindData, 0, uint32(m)}, now...)
		if err != nil {
			return n, err
		}
		out.push()
		n += m
		if !out.taken.wait(f.place, mark, f.writes.Done(), f.s.over) {
			if err := f.broken(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// TryWrite is WriteAll that never waits: false means that it has done nothing, as
// what was written before is still under way, or the peer does not allow it.
func (f *outflow) TryWrite(size int, parts ...[]byte) (bool, error) {
	if size > linkFrame || !f.lock.TryLock() {
		return false, nil
	}
	defer f.lock.Unlock()
	c := f.s.conn
	if c.out.load() > 0 {
		return false, nil
	}
	c.mu.Lock()
	err := f.unwritable()
	if err != nil || f.credit < int64(size) {
		c.mu.Unlock()
		return false, err
	}
	f.credit -= int64(size)
	c.mu.Unlock()
	if _, err := c.put(f.s, head{kindData, 0, uint32(size)}, parts...); err != nil {
		return false, err
	}
	c.out.push()
	return true, nil
}

// reserve waits until what was written before has left and the peer allows at
// least one byte, and returns how many of want may be written.
func (f *outflow) reserve(want int) (int, error) {
	c := f.s.conn
	if !c.out.taken.wait(f.place, c.out.mark(), f.writes.Done(), f.s.over) {
		if err := f.broken(); err != nil {
			return 0, err
		}
		return 0, os.ErrDeadlineExceeded
	}
	frame := plainFrame
	if f.s.link {
		frame = linkFrame
	}
	for {
		c.mu.Lock()
		err := f.unwritable()
		if n := min(int64(want), int64(frame), f.credit); n > 0 && err == nil {
			f.credit -= n
			c.mu.Unlock()
			return int(n), nil
		}
		c.mu.Unlock()
		if err != nil {
			return 0, err
		}
		select {
		case <-f.writable:
		case <-f.writes.Done():
			return 0, os.ErrDeadlineExceeded
		case <-f.s.over:
		case <-c.done:
		}
	}
}

// unwritable is why nothing can be written. conn.mu is held.
func (f *outflow) unwritable() error {
	if err := f.s.gone(); err != nil {
		return err
	}
	if f.ourEnd {
		return net.ErrClosed
	}
	return nil
}

// broken is why a wait has ended early, nil if it was for the deadline.
func (f *outflow) broken() error {
	f.s.conn.mu.Lock()
	defer f.s.conn.mu.Unlock()
	return f.s.gone()
}

// CloseWrite implements network.MuxedStream.
func (f *outflow) CloseWrite() error {
	c := f.s.conn
	c.mu.Lock()
	err := f.s.gone()
	over := f.ourEnd || err != nil
	f.ourEnd = true
	c.mu.Unlock()
	if !over {
		c.control(f.s, head{kindEnd, 0, 0})
	}
	return err
}

// SetWriteDeadline implements network.MuxedStream.
func (f *outflow) SetWriteDeadline(t time.Time) error {
	return f.writes.Set(t)
}
