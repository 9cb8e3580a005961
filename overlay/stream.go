// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// stream is a stream of the transport as a session uses it. Closing it is up to
// whoever made it.
type stream struct {
	*session.Carrier
	l      *Link
	s      Stream
	sample session.Sample // what the Hello exchange says about the peer's clock
}

func newStream(l *Link, s Stream) *stream {
	return &stream{Carrier: session.NewCarrier(connOf(s, l), &l.o.bodies, l.heardBytes), l: l, s: s}
}

// connOf returns s as a session uses it.
func connOf(s Stream, l *Link) session.Conn {
	if own, ok := s.(session.Owned); ok {
		return ownedConn{own, l}
	}
	return linkConn{s, l}
}

// ownedConn is linkConn for a stream that is the connection.
type ownedConn struct {
	session.Owned
	l *Link
}

// Reset implements session.Conn.
func (c ownedConn) Reset(code uint32) error { return resetFor(c.l, c.Owned, code) }

// linkConn is a stream as a session uses it.
type linkConn struct {
	Stream
	l *Link
}

// Reset implements session.Conn.
func (c linkConn) Reset(code uint32) error { return resetFor(c.l, c.Stream, code) }

// resetFor resets a stream of l. What hangs is the connection below it: the next dial must
// not use it again.
func resetFor(l *Link, s session.Conn, code uint32) error {
	if code == codeSilent {
		l.o.transport.Disconnect(l.peer)
	}
	return s.Reset(code)
}

// limit gives the stream an end that does not depend on the peer, until unlimit.
func (st *stream) limit(d time.Duration) {
	end := st.l.o.clock.Now().Add(d)
	st.s.SetReadDeadline(end)
	st.s.SetWriteDeadline(end)
}

func (st *stream) unlimit() {
	st.s.SetReadDeadline(time.Time{})
	st.s.SetWriteDeadline(time.Time{})
}

// say writes a frame past the session.
func (l *Link) say(st *stream, frame []byte) error {
	if _, err := st.s.Write(frame); err != nil {
		return fmt.Errorf("%w: write: %w", ErrLost, err)
	}
	l.wrote(ByLane{LaneCtl: uint64(len(frame))})
	return nil
}

// streamError says what an error of reading a stream means.
func streamError(err error) error {
	if errors.Is(err, wire.ErrMalformed) || errors.Is(err, wire.ErrFrameTooLarge) {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return fmt.Errorf("%w: read: %w", ErrLost, err)
}

// handle gives a message to whoever wants its kind.
func (l *Link) handle(k wire.Kind, body []byte) (kept bool) {
	if h := l.o.handlers[k]; h != nil {
		return h(l, body)
	}
	l.o.drops.add(dropReason(session.DropUnknownKind), 1)
	return false
}

// gatedClock is the clock of what belongs to the overlay: Close waits for what its
// timers do, and they do nothing afterwards.
type gatedClock struct{ o *Overlay }

// Now implements Clock.
func (c gatedClock) Now() time.Time { return c.o.clock.Now() }

// AfterFunc implements Clock.
func (c gatedClock) AfterFunc(label string, d time.Duration, f func()) Timer {
	return c.o.after(label, d, f)
}
