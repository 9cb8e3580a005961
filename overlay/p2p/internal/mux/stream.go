// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"net"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
)

// Stream is one stream of a connection. It implements network.MuxedStream. One
// goroutine may read while another writes; the other methods may be called
// concurrently.
type Stream struct {
	inflow  // Read, Drive
	outflow // Write, WriteAll, TryWrite, CloseWrite

	// Immutable.
	conn     *Conn
	link     bool
	outbound bool          // opened here
	over     chan struct{} // closed with err

	// Written with conn.writing and conn.mu held.
	id uint32 // 0 = the peer does not know it yet

	// Guarded by conn.mu.
	closed bool  // Close was called, and the peer still writes
	err    error // why it was ended: a reset, or Close
}

var _ network.MuxedStream = (*Stream)(nil)

func newStream(c *Conn, id uint32, link bool) *Stream {
	s := &Stream{conn: c, id: id, link: link, over: make(chan struct{})}
	window := plainWindow
	if link {
		window = linkWindow
	}
	s.inflow = inflow{s: s, readable: make(chan struct{}, 1), window: window, allowed: window}
	s.outflow = outflow{s: s, writable: make(chan struct{}, 1), place: newWaiter(), credit: int64(window)}
	return s
}

// Link says whether it is the stream of a link.
func (s *Stream) Link() bool { return s.link }

// Outbound says that this side has opened it.
func (s *Stream) Outbound() bool { return s.outbound }

// opening is the frame that a stream begins with.
func (s *Stream) opening() head {
	h := head{kindOpen, s.id, 0}
	if s.link {
		h.n = 1
	}
	return h
}

// gone is why nothing can be read or written any more, nil if it can. conn.mu is
// held, as below.
func (s *Stream) gone() error {
	if s.err != nil {
		return s.err
	}
	return s.conn.err
}

// end ends both directions, the first time.
func (s *Stream) end(err error) {
	if s.err != nil {
		return
	}
	s.err = err
	s.conn.keep(-cap(s.buf.b))
	s.buf = buffer{}
	close(s.over)
	_ = s.reads.Set(time.Time{})
	_ = s.writes.Set(time.Time{})
	s.interrupt()
}

// interrupt has a Read that is under way look again.
func (s *Stream) interrupt() {
	if s.conn.lead == s {
		_ = s.conn.secure.SetReadDeadline(time.Unix(1, 0))
	}
	signal(s.readable)
	signal(s.writable)
}

// Close implements network.MuxedStream.
func (s *Stream) Close() error {
	err := s.CloseWrite()
	c := s.conn
	c.mu.Lock()
	reset := false
	if s.err == nil {
		if c.streams[s.id] == s {
			s.closed = true
			c.closed++
			if reset = c.closed > maxClosed; reset || s.theirEnd {
				c.forget(s)
			}
		}
		s.end(net.ErrClosed)
	}
	c.mu.Unlock()
	if reset {
		c.control(s, head{kindReset, 0, 0})
	}
	return err
}

// Reset implements network.MuxedStream.
func (s *Stream) Reset() error { return s.ResetWithError(0) }

// ResetWithError implements network.MuxedStream.
func (s *Stream) ResetWithError(code network.StreamErrorCode) error {
	c := s.conn
	c.mu.Lock()
	told := s.id != 0 && c.streams[s.id] == s && c.err == nil
	s.end(&network.StreamError{ErrorCode: code})
	c.forget(s)
	c.mu.Unlock()
	if told {
		c.control(s, head{kindReset, 0, uint32(code)})
	}
	return nil
}

// SetDeadline implements network.MuxedStream.
func (s *Stream) SetDeadline(t time.Time) error {
	_ = s.SetReadDeadline(t)
	return s.SetWriteDeadline(t)
}
