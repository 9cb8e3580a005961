// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"container/list"
	"fmt"
	"net"
	"sync"
)

// CopiedBelow is the length below which a Sender copies the trailing bytes of a
// frame. Longer ones are taken from where they are when they are written, and
// must not change until then.
const CopiedBelow = 16 << 10

const (
	// reserve is what the queue holds beyond its limit for frames that must
	// not be lost. It bounds the small frames that a client can cause
	// without reading.
	reserve = 1 << 20
	// fullBuffer is how long a buffer grows. What is queued behind it gets
	// another one: growing a large one copies it again and again.
	fullBuffer = 128 << 10
	// maxWrite bounds one write, so that progress is seen while a large one
	// goes on: somebody who reads must not be taken for somebody who does not.
	// A full buffer leaves in one.
	maxWrite = fullBuffer + CopiedBelow
	// keepBuffer is the largest buffer that is kept while there is nothing to
	// write.
	keepBuffer = 256 << 10
)

// Sender is the queue of frames in front of one connection, bounded in bytes.
// Frames that are queued while a write is under way leave together in the next
// one. All methods may be called concurrently; Run only once.
type Sender struct {
	// Immutable after NewSender.
	limit int
	wake  chan struct{} // has an element if Run has something to look at
	rota  *Rota         // feeds what goes behind the queue; nil = nothing does

	// Guarded by mu.
	mu       sync.Mutex
	maxFrame int
	encoder  encoder       // used within push only; a local one would escape
	segments net.Buffers   // what goes first
	last     []byte        // frames are appended to it; follows segments
	spare    []byte        // the buffer that was last before the latest write
	queued   int           // bytes accepted that the kernel has not taken yet
	fed      int           // of these, the rota's: they take no room from others
	accepted uint64        // bytes, ever
	written  uint64        // of these, what the kernel has taken
	line     list.List     // of *standing: who waits for room
	room     chan struct{} // closed when a TrySend is worth another try; nil = nobody waits
	finish   bool          // Run returns when all is written
	closed   error
}

// NewSender returns an empty queue that holds up to limit bytes, or one frame
// of any size. Frames beyond maxFrame bytes of kind and body are refused.
func NewSender(limit, maxFrame int) *Sender {
	return &Sender{limit: limit, maxFrame: maxFrame, wake: make(chan struct{}, 1)}
}

// SetMaxFrame changes the limit for the frames that follow.
func (s *Sender) SetMaxFrame(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.maxFrame = n
}

// Queued is the number of bytes that wait or are being written.
func (s *Sender) Queued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queued
}

// Send queues f and does not block. The trailing bytes of f belong to the
// Sender if err is nil, see CopiedBelow. Errors are ErrQueueFull, also while
// somebody else waits for room, ErrSenderClosed, ErrFrameTooLarge, and
// ErrFieldTooLarge; nothing was queued then.
func (s *Sender) Send(f Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.push(f, s.limit, inLine)
	return err
}

// TrySend is Send, but does not mind those who wait for room. It returns the
// position of the frame's end as SendWait does, and with ErrQueueFull a channel
// that is closed when it is worth another try.
func (s *Sender) TrySend(f Frame) (end uint64, room <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end, err = s.push(f, s.limit, overtakes)
	if err != ErrQueueFull {
		return end, nil, err
	}
	if s.room == nil {
		s.room = make(chan struct{})
	}
	return 0, s.room, err
}

// SendReserved is Send for frames that must not be lost: there is some room
// for them beyond the limit. ErrQueueFull means that the connection is to be
// given up.
func (s *Sender) SendReserved(f Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.push(f, s.limit+reserve, overtakes)
	return err
}

// Written is the number of bytes that the kernel has taken so far.
func (s *Sender) Written() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written
}

// manners say whether a frame is queued before those that wait for room.
type manners bool

const (
	inLine    manners = false
	overtakes manners = true
)

// push queues f, or returns ErrQueueFull. The caller holds mu.
func (s *Sender) push(f Frame, limit int, m manners) (end uint64, err error) {
	if s.closed != nil || s.finish {
		return 0, ErrSenderClosed
	}
	start := len(s.last)
	s.encoder = encoder{b: s.last}
	err = s.encoder.frame(f)
	head, tail := s.encoder.b, s.encoder.tail
	s.encoder = encoder{}
	s.last = head[:start] // keeps what append has grown
	if err != nil {
		return 0, err
	}
	n := len(head) - start + len(tail)
	switch {
	case n-lengthSize > s.maxFrame:
		return 0, fmt.Errorf("%w: %d bytes, at most %d", ErrFrameTooLarge, n-lengthSize, s.maxFrame)
	case m == inLine && s.line.Len() > 0 || s.queued > s.fed && s.queued-s.fed+n > limit:
		return 0, ErrQueueFull
	}
	switch {
	case len(tail) < CopiedBelow && len(head)+len(tail) >= fullBuffer:
		s.segments = append(s.segments, append(head, tail...))
		s.last, s.spare = s.spare, nil
		if s.last == nil { // it will be full, too
			s.last = make([]byte, 0, fullBuffer+CopiedBelow)
		}
	case len(tail) < CopiedBelow:
		s.last = append(head, tail...)
	default:
		s.segments = append(s.segments, head, tail)
		s.last, s.spare = s.spare, nil
	}
	s.queued += n
	s.accepted += uint64(n)
	s.signal()
	return s.accepted, nil
}

func (s *Sender) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Finish makes Run return when all that is queued is written. Frames sent
// later are refused.
func (s *Sender) Finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish = true
	s.wakeAll()
}

// Close makes Run return at its next look, and every other method with
// ErrSenderClosed. It does not wait, and does not end a write that hangs: the
// owner closes the connection for that.
func (s *Sender) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked()
}

func (s *Sender) closeLocked() {
	if s.closed == nil {
		s.closed = ErrSenderClosed
	}
	s.segments, s.last, s.spare, s.queued = nil, nil, nil, 0
	s.wakeAll()
}

// wakeAll ends all waiting.
func (s *Sender) wakeAll() {
	s.serve(s.line.Len())
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
	s.signal()
}
