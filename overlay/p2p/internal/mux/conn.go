// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
)

// Bounds of what peers can make this side keep.
const (
	maxStreams = 1024    // that the peer has opened
	maxBacklog = 64      // of them, that nobody has accepted yet
	maxClosed  = 256     // closed here and not by the peer
	maxUnsent  = 4 << 20 // bytes that wait below when a frame of ours is added
)

// Conn multiplexes one connection. It implements network.MuxedConn but for
// As. All methods may be called concurrently, but see Accept.
type Conn struct {
	// Immutable after New.
	secure net.Conn // encrypts, above out
	out    *QueuedConn
	unread Unread
	first  uint32 // of our stream ids: 1 for the dialler, 2

	vitals   // Ping, Quiet
	receiver receiver

	// Held while a frame is written into the queue.
	writing sync.Mutex

	// Guarded by mu.
	mu       sync.Mutex
	streams  map[uint32]*Stream
	ours     uint32 // the next id of ours
	theirs   uint32 // the last id of the peer's
	accepted int    // streams that the peer has opened
	closed   int    // streams that only the peer still writes to
	lead     *Stream
	kept     int // bytes that unread was asked for, until err
	err      error

	// Lifecycle. done is closed with err.
	backlog chan *Stream
	done    chan struct{}
}

// Unread is what one connection may keep of what its peer has sent and nobody has read,
// in bytes of memory. Methods do not block.
type Unread interface {
	// Take says whether there may be so many more; there are from here on.
	Take(n int) bool
	// Give returns bytes that were taken.
	Give(n int)
}

// New multiplexes secure, whose records go through out, and takes both over. Accept
// reads. What unread refuses costs the peer the stream; what was taken is given back by
// the end of the connection.
func New(secure net.Conn, out *QueuedConn, dialler bool, unread Unread) *Conn {
	c := &Conn{
		secure: secure, out: out, unread: unread, first: 2, streams: make(map[uint32]*Stream),
		backlog: make(chan *Stream, maxBacklog), done: make(chan struct{}),
	}
	if dialler {
		c.first = 1
	}
	c.ours = c.first
	c.receiver = receiver{c: c, back: make(chan struct{}, 1)}
	out.begin(func(err error) { c.fail(fmt.Errorf("mux: write: %w", err)) })
	c.vitals.begin(c)
	return c
}

// OpenStream implements network.MuxedConn. Nothing is sent yet.
func (c *Conn) OpenStream(context.Context) (network.MuxedStream, error) { return c.open(false) }

// OpenLink opens the stream of a link.
func (c *Conn) OpenLink() (*Stream, error) { return c.open(true) }

func (c *Conn) open(link bool) (*Stream, error) {
	if err := c.cause(); err != nil {
		return nil, err
	}
	s := newStream(c, 0, link)
	s.outbound = true
	return s, nil
}

// announce gives a stream of ours its id: the peer sees them in order.
func (c *Conn) announce(s *Stream) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := s.gone(); err != nil {
		return err
	}
	if c.ours < c.first {
		return errors.New("mux: no stream ids are left")
	}
	s.id = c.ours
	c.streams[s.id] = s
	c.ours += 2
	return nil
}

// Accept returns the next stream that the peer has opened. It is what reads the
// connection: nothing comes on it while nobody is in Accept, and it must not be called
// concurrently.
func (c *Conn) Accept() (*Stream, error) {
	for {
		select {
		case s := <-c.backlog:
			return s, nil
		default:
		}
		if s, err := c.receiver.lead(c.backlog); s != nil {
			return s, nil
		} else if err != nil {
			c.receiver.fail(err)
			return nil, c.cause()
		}
	}
}

// AcceptStream implements network.MuxedConn.
func (c *Conn) AcceptStream() (network.MuxedStream, error) { return c.Accept() }

// Close implements network.MuxedConn. It does not wait for anything.
func (c *Conn) Close() error { return c.CloseWithError(0) }

// CloseWithError implements network.MuxedConn.
func (c *Conn) CloseWithError(code network.ConnErrorCode) error {
	if code != 0 {
		c.control(nil, head{kindGoAway, 0, uint32(code)})
	}
	c.fail(&network.ConnError{ErrorCode: code, TransportError: net.ErrClosed})
	return nil
}

// IsClosed implements network.MuxedConn.
func (c *Conn) IsClosed() bool { return c.cause() != nil }

// GoAway tells the peer, behind everything that was written, that nothing will
// follow, and ends the byte stream. The peer reads what came, and closes.
func (c *Conn) GoAway() {
	c.control(nil, head{kindGoAway, 0, 0})
	c.out.end()
}

// Done is closed when the connection is.
func (c *Conn) Done() <-chan struct{} { return c.done }

func (c *Conn) cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// fail ends the connection because of err, the first time.
func (c *Conn) fail(err error) {
	if err == io.EOF { // no stream has ended by that
		err = errHungUp
	}
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	c.unread.Give(c.kept)
	c.kept = 0
	close(c.done)
	c.mu.Unlock()
	c.vitals.stop()
	_ = c.secure.Close()
}

// put writes one frame into the queue, before it the opening of a stream that the
// peer does not know yet. taken reaches mark when the kernel has all of it. It does
// not block, nor push.
func (c *Conn) put(s *Stream, h head, parts ...[]byte) (mark uint64, err error) {
	var b [2 * headSize]byte
	heads := b[:0]
	size := headSize
	for _, p := range parts {
		size += len(p)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if s != nil {
		if s.id == 0 {
			if err := c.announce(s); err != nil {
				return 0, err
			}
			heads, size = s.opening().append(heads), size+headSize
		}
		h.stream = s.id
	}
	heads = h.append(heads)
	c.out.hold(size)
	err = seal(c.secure, size, heads, parts)
	return c.out.release(), err
}

// control sends a frame without data, of a stream or of the connection itself. A
// peer that makes us say more than it takes is not served.
func (c *Conn) control(s *Stream, h head) {
	if c.out.load() > maxUnsent {
		c.fail(errors.New("mux: the peer takes nothing"))
		return
	}
	if _, err := c.put(s, h); err == nil {
		c.out.push()
	}
}

// yield gives the lead to the reader of the stream whose data follow, if it
// drives, waits, and has nothing else to read.
func (c *Conn) yield() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.receiver.target
	if s == nil || !s.driving || !s.waiting || s.buf.len() > 0 || s.gone() != nil {
		return false
	}
	c.lead, s.leading = s, true
	if !s.readBy.IsZero() {
		_ = c.secure.SetReadDeadline(s.readBy)
	}
	signal(s.readable)
	return true
}

// giveBack has the connection's own goroutine lead again.
func (c *Conn) giveBack(s *Stream) {
	c.mu.Lock()
	s.leading, c.lead = false, nil
	_ = c.secure.SetReadDeadline(time.Time{})
	c.mu.Unlock()
	c.receiver.back <- struct{}{}
}

// dispatch does what a frame asks for. Of data only left and target are set.
func (c *Conn) dispatch(h head) error {
	switch h.kind {
	case kindPing:
		c.control(nil, head{kindPong, 0, h.n})
		return nil
	case kindPong:
		c.pong(h.n)
		return nil
	case kindGoAway:
		return &network.ConnError{Remote: true, ErrorCode: network.ConnErrorCode(h.n)}
	case kindOpen:
		return c.opened(h)
	}
	c.mu.Lock()
	s := c.streams[h.stream]
	if s == nil && !c.known(h.stream) {
		c.mu.Unlock()
		return fmt.Errorf("%w: stream %d is not open", ErrProtocol, h.stream)
	}
	answer, err := c.arrive(s, h)
	c.mu.Unlock()
	if answer.kind != 0 {
		c.control(nil, answer)
	}
	return err
}

// keep says whether so many bytes more may be kept, or notes that there are fewer. What
// is kept when the connection ends is for its readers, who are told so. mu is held, as
// below.
func (c *Conn) keep(n int) bool {
	switch {
	case c.err != nil || n == 0:
		return true
	case n < 0:
		c.unread.Give(-n)
	case !c.unread.Take(n):
		return false
	}
	c.kept += n
	return true
}

// known says whether there was a stream of that id.
func (c *Conn) known(id uint32) bool {
	if id%2 == c.first%2 {
		return id < c.ours
	}
	return id <= c.theirs
}

// arrive is dispatch for a frame of a stream, nil if it is over.
func (c *Conn) arrive(s *Stream, h head) (answer head, err error) {
	if h.kind == kindData {
		c.receiver.left, c.receiver.target = int(h.n), nil
	}
	if s == nil {
		return head{}, nil // was under way when the stream ended here
	}
	switch h.kind {
	case kindData:
		if s.theirEnd || int64(h.n) > int64(s.allowed) {
			return head{}, fmt.Errorf("%w: %d bytes where %d are allowed", ErrProtocol, h.n, s.allowed)
		}
		s.allowed -= int(h.n)
		if s.closed { // nobody reads that; the peer may stop
			c.forget(s)
			return head{kindReset, s.id, 0}, nil
		}
		c.receiver.target = s
	case kindCredit:
		if s.credit += int64(h.n); s.credit > maxCredit {
			return head{}, fmt.Errorf("%w: credit", ErrProtocol)
		}
		signal(s.writable)
	case kindEnd:
		s.theirEnd = true
		if s.closed {
			c.forget(s)
		}
		signal(s.readable)
	case kindReset:
		s.end(&network.StreamError{ErrorCode: network.StreamErrorCode(h.n), Remote: true})
		c.forget(s)
	}
	return head{}, nil
}

// opened takes a new stream of the peer's.
func (c *Conn) opened(h head) error {
	c.mu.Lock()
	if h.stream%2 == c.first%2 || h.stream <= c.theirs {
		c.mu.Unlock()
		return fmt.Errorf("%w: stream %d opened", ErrProtocol, h.stream)
	}
	c.theirs = h.stream
	s := newStream(c, h.stream, h.n == 1)
	taken := false
	if c.accepted < maxStreams {
		select {
		case c.backlog <- s:
			taken = true
			c.accepted++
			c.streams[s.id] = s
		default:
		}
	}
	c.mu.Unlock()
	if !taken {
		c.control(nil, head{kindReset, h.stream, uint32(network.StreamResourceLimitExceeded)})
	}
	return nil
}

// forget removes a stream. mu is held.
func (c *Conn) forget(s *Stream) {
	if c.streams[s.id] != s {
		return
	}
	delete(c.streams, s.id)
	if !s.outbound {
		c.accepted--
	}
	if s.closed {
		c.closed--
	}
	s.interrupt()
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// timeout says whether err is that of a deadline.
func timeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
