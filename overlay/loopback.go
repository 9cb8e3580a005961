// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"io"
	"time"
)

// selfSession is the session of the link to ourselves: the first number.
const selfSession = 1

// newLoopback returns the link to ourselves. It has the lanes, bounds and
// order of any link, but no stream below: its reader takes what its queue has.
func newLoopback(o *Overlay) *Link {
	l := newLink(o, o.self)
	st := newStream(l, &loopStream{})
	st.s.(*loopStream).st = st
	st.hello.instance = o.instance
	st.admitted = true
	close(st.ready)
	l.sess = &session{
		number: o.nextSession(),
		queue:  newSendQueue(o.cfg.LaneBytes, o.cfg.MaxMessage, &o.chunks),
		parts:  newReassembly(o.cfg.MaxMessage),
		ended:  make(chan struct{}),
	}
	l.number.Store(l.sess.number)
	l.streams, l.sender = []*stream{st}, st
	return l
}

// serveLoopback hands on what this node sends to itself, until the overlay
// closes.
func (o *Overlay) serveLoopback() {
	l := o.loopback
	if err := l.sender.read(); err != nil && !o.leaving() {
		panic("BUG: link to ourselves: " + err.Error())
	}
}

// loopStream is the stream of the link to ourselves: reading takes from the
// queue. Nothing writes.
type loopStream struct {
	Stream // nil: nobody calls the rest

	st    *stream
	batch *chunk
	rest  []byte // of batch
}

// Read implements io.Reader.
func (s *loopStream) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		if !s.advance() {
			return 0, io.EOF
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// advance goes on to the next chunk, and waits for it.
func (s *loopStream) advance() bool {
	l := s.st.l
	if s.batch != nil {
		next := s.batch.next
		l.o.chunks.put(s.batch)
		s.batch = next
	}
	for s.batch == nil {
		var over bool
		if s.batch, _, over = l.next(s.st); over {
			return false
		}
		if s.batch == nil {
			s.st.await()
		}
	}
	s.rest = s.batch.b
	return true
}

// Outbound implements Stream.
func (s *loopStream) Outbound() bool { return true }

// SetReadDeadline and SetWriteDeadline implement Stream.
func (s *loopStream) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements Stream.
func (s *loopStream) SetWriteDeadline(time.Time) error { return nil }

// Reset implements Stream.
func (s *loopStream) Reset(uint32) error { return nil }
