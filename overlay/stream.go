// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"time"

	"github.com/arke-mesh/arke/internal/wire"
)

// stream is one stream of a link, after or during its Hello exchange. One
// goroutine reads it, run; a second one writes, and ends before the first.
type stream struct {
	// Immutable after newStream.
	l        *Link
	s        Stream
	outbound bool
	frames   *wire.FrameReader

	// Set before join, then immutable.
	hello  greeting    // the peer's
	sample clockSample // what the Hello exchange says about the peer's clock

	counts bool // owned by the reader: what is read is a sign of the peer's life

	nudgeFunc func()
	kick      chan struct{} // has room for one: the writer shall look again
	ready     chan struct{} // closed when a session stands that this stream belongs to
	dead      chan struct{} // closed when the stream has failed
	drained   chan struct{} // closed when reading has ended
	written   chan struct{} // closed when the writer has returned

	// Guarded by link.mu.
	admitted  bool // ready is closed, or about to be
	idle      bool // the writer waits for a kick
	farewell  *farewell
	failed    error
	readDone  bool
	writeDone bool
}

// farewell is how a stream's writer ends: with a Goodbye, unless silent, and
// the end of this direction.
type farewell struct {
	code   uint32
	reason string
	silent bool // the peer has said goodbye first
	flush  bool // only when the queue is empty
}

func newStream(l *Link, s Stream) *stream {
	st := &stream{
		l:        l,
		s:        s,
		outbound: s.Outbound(),
		kick:     make(chan struct{}, 1),
		ready:    make(chan struct{}),
		dead:     make(chan struct{}),
		drained:  make(chan struct{}),
		written:  make(chan struct{}),
	}
	st.nudgeFunc = st.nudge
	st.frames = wire.NewFrameReader(st)
	st.frames.Share(&l.o.bodies)
	return st
}

// Read reads from the stream below and notes that the peer is alive.
func (st *stream) Read(p []byte) (int, error) {
	n, err := st.s.Read(p)
	if n > 0 {
		st.l.heardBytes(n)
		if st.counts {
			st.l.sign()
		}
	}
	return n, err
}

// usable says whether the stream can carry a session. Guarded by link.mu, as
// all that follows.
func (st *stream) usable() bool {
	return st.failed == nil && st.farewell == nil && !st.readDone
}

// readable says whether frames may still come.
func (st *stream) readable() bool { return st.failed == nil && !st.readDone }

// facts are what the choice between two streams depends on.
func (st *stream) facts() streamFacts {
	return streamFacts{outbound: st.outbound, instance: st.hello.instance, clock: st.hello.clock}
}

// admit lets the reader hand on what it reads.
func (st *stream) admit() {
	if !st.admitted {
		st.admitted = true
		st.l.wakeLater("overlay/ready", func() { close(st.ready) })
	}
}

// kickLater has the writer look for work.
func (st *stream) kickLater() {
	if st.idle {
		st.idle = false
		st.l.wakeLater("overlay/write", st.nudgeFunc)
	}
}

// nudge wakes the writer; not guarded.
func (st *stream) nudge() {
	select {
	case st.kick <- struct{}{}:
	default:
	}
}

// limit gives the stream an end that does not depend on the peer; not guarded.
func (st *stream) limit() {
	end := st.l.o.clock.Now().Add(drainTimeout)
	st.s.SetReadDeadline(end)
	st.s.SetWriteDeadline(end)
}

// unlimit lifts the time limit of the handshake; not guarded. A stream that has
// joined may have been superseded meanwhile, and keeps that limit.
func (st *stream) unlimit() {
	st.s.SetReadDeadline(time.Time{})
	st.s.SetWriteDeadline(time.Time{})
	st.l.mu.Lock()
	defer st.l.unlock()
	if f := st.farewell; f != nil && !f.flush {
		st.l.later(st.limit)
	}
}

// serve runs a stream that has joined its link, until it is over. Not guarded.
func (st *stream) serve() {
	// The writer begins by Wake: reader and writer must not start in the same
	// step of the simulator, or what goes into the first batch is chance.
	st.l.o.wake("overlay/start", st.l.key, func() {
		if !st.l.o.gate.spawn(st.write) {
			st.l.writeEnded(st, ErrClosed)
			close(st.written)
		}
	})
	st.counts = true
	st.l.readEnded(st, st.read())
	select {
	case <-st.written:
	case <-st.l.o.ctx.Done(): // Wake may have been lost
	}
	st.s.Close()
}
