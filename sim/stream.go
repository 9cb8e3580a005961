// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

// stream is one end of a stream. Guarded by Network.mu.
type stream struct {
	c        *conn
	end      int
	id       uint64 // by the opener's count and which end it is
	outbound bool
	other    *stream
	heard    func(at time.Duration, data []byte) // the tap of what is sent here, or nil

	inbound

	out      []byte // written in this step
	opening  bool   // the other end has not been told of the stream
	closing  bool   // CloseWrite in this step
	resetBy  *uint32
	credit   int     // to give in this commit
	flying   int     // bytes written and not yet credited
	parcel   *parcel // waits for the path's bottleneck
	closed   bool
	writeErr error
	writable *sync.Cond
	writeBy  deadline

	dirty bool // is in Network.dirty
}

// inbound is the reader's part of a stream.
type inbound struct {
	unread   []byte // arrived
	ended    bool   // and nothing will follow
	readErr  error
	consumed int // bytes read and not yet credited to the sender
	readable *sync.Cond
	readBy   deadline
}

var _ overlay.Stream = (*stream)(nil)

// openStream opens a stream on c at p's end.
func (c *conn) openStream(p *process) *stream {
	end := c.endOf(p)
	c.opened[end]++
	id := c.opened[end]<<1 | uint64(end)
	here := &stream{c: c, end: end, id: id, outbound: true, opening: true}
	there := &stream{c: c, end: 1 - end, id: id, other: here}
	here.other = there
	for _, s := range []*stream{here, there} {
		s.readable, s.writable = sync.NewCond(&c.n.mu), sync.NewCond(&c.n.mu)
		s.readBy = deadline{s: s, kind: kindReader}
		s.writeBy = deadline{s: s, kind: kindWriter}
		s.listen()
	}
	c.streams[end] = append(c.streams[end], here)
	here.touch()
	return here
}

// touch has the stream committed when the step is over.
func (s *stream) touch() {
	if !s.dirty {
		s.dirty = true
		s.c.n.send(s)
	}
}

// Read implements overlay.Stream.
func (s *stream) Read(b []byte) (int, error) {
	s.c.n.mu.Lock()
	defer s.c.n.mu.Unlock()
	defer s.readBy.release()
	for {
		switch {
		case s.readErr != nil:
			return 0, s.readErr
		case len(s.unread) > 0:
			count := copy(b, s.unread)
			if s.unread = s.unread[count:]; len(s.unread) == 0 {
				s.unread = nil
			}
			s.consume(count)
			return count, nil
		case s.ended:
			return 0, io.EOF
		case len(b) == 0:
			return 0, nil
		case s.readBy.over():
			return 0, os.ErrDeadlineExceeded
		}
		s.readBy.hold()
		s.readable.Wait()
	}
}

// consume counts bytes as read, and credits the sender with half a window at
// a time.
func (s *stream) consume(count int) {
	s.consumed += count
	if s.consumed >= s.c.n.cfg.Window/2 && s.c.open[s.end] {
		s.credit += s.consumed
		s.consumed = 0
		s.touch()
	}
}

// Write implements overlay.Stream. It waits while a whole window is under way,
// or while what was written before waits for the path's bottleneck, and then
// takes all of b: the buffer below the writer holds one Write, besides what is in the
// queue before the bottleneck.
func (s *stream) Write(b []byte) (int, error) {
	s.c.n.mu.Lock()
	defer s.c.n.mu.Unlock()
	defer s.writeBy.release()
	for {
		switch {
		case s.writeErr != nil:
			return 0, s.writeErr
		case s.closed:
			return 0, io.ErrClosedPipe
		case s.writeBy.over():
			return 0, os.ErrDeadlineExceeded
		case s.flying < s.c.n.cfg.Window && s.parcel == nil && (len(s.out) == 0 || !s.c.path(s.end).narrow()):
			s.flying += len(b)
			s.out = append(s.out, b...)
			if len(b) > 0 {
				s.touch()
			}
			return len(b), nil
		}
		s.writeBy.hold()
		s.writable.Wait()
	}
}

// Hangup implements overlay.Stream. It closes newer connections, too: where two goroutines
// end two connections in one step, the trace would depend on which comes first.
func (s *stream) Hangup() {
	s.c.n.mu.Lock()
	defer s.c.n.mu.Unlock()
	s.c.ends[s.end].breakAll(s.c.ends[1-s.end].host)
}

// CloseWrite implements overlay.Stream.
func (s *stream) CloseWrite() error {
	s.c.n.mu.Lock()
	defer s.c.n.mu.Unlock()
	if s.writeErr != nil {
		return s.writeErr
	}
	s.closeWrite()
	return nil
}

func (s *stream) closeWrite() {
	if s.closed || s.writeErr != nil {
		return
	}
	s.closed, s.closing = true, true
	s.touch()
	s.wake(&s.writeBy)
	s.settle()
}

// Reset implements overlay.Stream.
func (s *stream) Reset(code uint32) error {
	s.c.n.mu.Lock()
	defer s.c.n.mu.Unlock()
	if s.finished() {
		return nil
	}
	s.out, s.closing = nil, false
	s.resetBy = &code
	s.touch()
	s.fail(&network.StreamError{ErrorCode: network.StreamErrorCode(code)})
	return nil
}

// Close implements overlay.Stream: what was written still arrives, what
// arrives is thrown away.
func (s *stream) Close() error {
	s.c.n.mu.Lock()
	defer s.c.n.mu.Unlock()
	s.closeWrite()
	if s.readErr == nil {
		s.readErr = io.ErrClosedPipe
		s.consume(len(s.unread))
		s.unread = nil
		s.wake(&s.readBy)
	}
	s.settle()
	return nil
}

// fail ends both directions at this end.
func (s *stream) fail(err error) {
	if err == ErrConnLost && s.c.local() {
		s.hangUp()
		return
	}
	if err == ErrConnLost {
		err = &network.StreamError{ErrorCode: network.StreamNoError, Remote: true, TransportError: err}
	}
	if s.readErr == nil {
		s.readErr, s.unread = err, nil
		s.wake(&s.readBy)
	}
	if s.writeErr == nil {
		s.writeErr = err
		s.wake(&s.writeBy)
	}
	s.settle()
}

// wake has whoever blocks at d look again, in an event of its own.
func (s *stream) wake(d *deadline) {
	if d.blocked {
		s.c.n.soon(s.c.key(d.kind, s.end, s.id), d.broadcast)
	}
}

// finished says that neither direction can be used here any more.
func (s *stream) finished() bool {
	return (s.closed || s.writeErr != nil) && (s.ended || s.readErr != nil)
}

// settle forgets a finished stream.
func (s *stream) settle() {
	if !s.finished() {
		return
	}
	list := s.c.streams[s.end]
	if i := slices.Index(list, s); i >= 0 {
		s.c.streams[s.end] = slices.Delete(list, i, i+1)
	}
}

// SetReadDeadline implements overlay.Stream.
func (s *stream) SetReadDeadline(t time.Time) error { return s.setDeadline(&s.readBy, t) }

// SetWriteDeadline implements overlay.Stream.
func (s *stream) SetWriteDeadline(t time.Time) error { return s.setDeadline(&s.writeBy, t) }

func (s *stream) setDeadline(d *deadline, t time.Time) error {
	s.c.n.mu.Lock()
	defer s.c.n.mu.Unlock()
	d.set(t)
	return nil
}

// Remote implements overlay.Stream.
func (s *stream) Remote() peer.ID { return s.c.ends[1-s.end].host.id }

// Certified implements overlay.Stream: connections show no certificates here.
func (s *stream) Certified() bool { return true }

// RemoteAddr implements overlay.Stream.
func (s *stream) RemoteAddr() string {
	s.c.n.mu.Lock()
	defer s.c.n.mu.Unlock()
	return s.c.ends[1-s.end].host.addr
}

// Outbound implements overlay.Stream.
func (s *stream) Outbound() bool { return s.outbound }

// delivery is all that one end of a stream sent in one step.
type delivery struct {
	open  bool    // the stream is new
	data  []byte  //
	end   bool    // CloseWrite
	reset *uint32 // Reset's code
}

// order implements outgoing.
func (s *stream) order() key { return s.c.key(kindData, 1-s.end, s.id) }

// commit implements outgoing.
func (s *stream) commit() {
	s.dirty = false
	c, to := s.c, s.other
	d := delivery{open: s.opening, data: s.out, end: s.closing, reset: s.resetBy}
	s.opening, s.out, s.closing, s.resetBy = false, nil, false, nil
	if s.heard != nil && len(d.data) > 0 {
		s.heard(time.Duration(c.n.now()), d.data)
	}
	if d.open || len(d.data) > 0 || d.end || d.reset != nil {
		if p := c.path(s.end); p.narrow() {
			p.ship(s, d)
			if s.parcel == nil {
				s.wake(&s.writeBy)
			}
		} else {
			s.dispatch(d)
		}
	}
	if credit := s.credit; credit > 0 {
		s.credit = 0
		c.flows[s.end].send(c.key(kindCredit, to.end, s.id), credit, 0, func() {
			to.flying -= credit
			to.writable.Broadcast()
		})
	}
}

// dispatch gives a delivery to the connection.
func (s *stream) dispatch(d delivery) {
	to := s.other
	s.c.flows[s.end].send(s.c.key(kindData, to.end, s.id), len(d.data), d.sum(), func() { to.receive(d) })
}

func (d *delivery) sum() uint64 {
	h := sumBytes(d.data)
	if d.open {
		h = mix(h, 1)
	}
	if d.end {
		h = mix(h, 2)
	}
	if d.reset != nil {
		h = mix(h, 3+uint64(*d.reset))
	}
	return h
}

// receive takes a delivery at the far end. It wakes the reader, or calls
// HandleStream, but never both and nobody else.
func (s *stream) receive(d delivery) {
	c := s.c
	p := c.ends[s.end]
	if !c.open[s.end] || p.state != stateUp {
		return
	}
	if d.open {
		c.streams[s.end] = append(c.streams[s.end], s)
	}
	switch {
	case d.open && c.local():
		p.enter(s)
	case d.open:
		p.call(c.ends[1-s.end].host.index, func(h overlay.TransportHandler) { h.HandleStream(s) })
	}
	if d.reset != nil {
		s.fail(&network.StreamError{ErrorCode: network.StreamErrorCode(*d.reset), Remote: true})
		return
	}
	if s.readErr != nil {
		s.consume(len(d.data)) // thrown away, but the sender may go on
	} else {
		s.unread = append(s.unread, d.data...)
	}
	s.ended = s.ended || d.end
	s.settle()
	s.readable.Broadcast()
}

// deadline is when a stream's Read or Write stops waiting. Only while
// somebody waits does it have an event in the queue. Guarded by Network.mu.
type deadline struct {
	s       *stream
	kind    kind   // kindReader or kindWriter
	at      int64  // 0 = none
	blocked bool   // a call waits
	event   *event // nil = none queued
}

// set changes the deadline, also for calls that block already.
func (d *deadline) set(t time.Time) {
	d.at = 0
	if !t.IsZero() {
		// Never 0: that would mean none.
		d.at = max(1, d.s.c.ends[d.s.end].clock.instant(t))
	}
	d.disarm()
	if d.blocked {
		d.arm()
	}
}

// over reports whether the deadline has passed.
func (d *deadline) over() bool { return d.at != 0 && d.s.c.n.now() >= d.at }

// hold notes that a call blocks from now on.
func (d *deadline) hold() {
	if !d.blocked {
		d.blocked = true
		d.s.c.n.blocked[d] = struct{}{}
		d.arm()
	}
}

// release notes that it returned.
func (d *deadline) release() {
	if d.blocked {
		d.blocked = false
		delete(d.s.c.n.blocked, d)
		d.disarm()
	}
}

func (d *deadline) arm() {
	if d.at == 0 || d.event != nil {
		return
	}
	n := d.s.c.n
	d.event = n.push(&event{
		at: max(d.at, n.now()), key: d.s.c.key(d.kind, d.s.end, d.s.id),
		apply: d.fire,
	})
}

func (d *deadline) fire() {
	n := d.s.c.n
	n.mu.Lock()
	defer n.mu.Unlock()
	d.event = nil
	d.broadcast()
}

func (d *deadline) disarm() {
	if d.event != nil {
		d.s.c.n.cancel(d.event)
		d.event = nil
	}
}

// broadcast has the blocked call look again.
func (d *deadline) broadcast() {
	if d.kind == kindReader {
		d.s.readable.Broadcast()
	} else {
		d.s.writable.Broadcast()
	}
}
