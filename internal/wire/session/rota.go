// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "sync"

const (
	// feedShare is how many bytes of channels may follow, in one write, what
	// is queued: the wait of a frame that is queued next.
	feedShare = 128 << 10
	// turnShare is how many of them are one channel's.
	turnShare = 64 << 10
)

// Channel is one of those that take turns in a Rota. Its implementations embed
// a Place.
type Channel interface {
	placed
	// Next returns the next frame, which is used up before the call after it;
	// nil if there is none now. Only the goroutine of Sender.Run calls it.
	Next() Frame
}

// placed is what embedding a Place gives.
type placed interface{ place() *Place }

var _ placed = (*Place)(nil)

// Place is where a Rota notes that a channel waits for its turn.
type Place struct{ waiting bool }

func (p *Place) place() *Place { return p }

// Rota lets channels take turns in feeding a Sender behind all that is queued.
// Nothing of theirs waits in the Sender: who has nothing to send costs nothing,
// and what the connection does not take stays where it is. All methods may be
// called concurrently.
type Rota struct {
	// Immutable after NewRota.
	sender *Sender

	// Immutable once the Sender runs.
	written func()

	// Owned by Sender.Run.
	current Channel
	left    int // bytes of its turn

	// Guarded by mu.
	mu   sync.Mutex
	line []Channel // who waits, once each; from head on
	head int
}

// NewRota makes a Rota that feeds s. It must be called before s runs.
func NewRota(s *Sender) *Rota {
	r := &Rota{sender: s, written: func() {}}
	s.rota = r
	return r
}

// OnWritten has Sender.Run call f whenever the connection has taken every frame
// that any Next has returned so far, before it asks for more: their bytes are
// free. It must be called before the Sender runs.
func (r *Rota) OnWritten(f func()) { r.written = f }

// Ready says that c.Next may have something to return. It does not block.
func (r *Rota) Ready(c Channel) {
	if r.join(c) {
		r.sender.signal()
	}
}

// join puts c at the end of the line, unless it waits there.
func (r *Rota) join(c Channel) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := c.place()
	if p.waiting {
		return false
	}
	p.waiting = true
	r.line = append(r.line, c)
	return true
}

// pop returns who is first; nil if nobody waits.
func (r *Rota) pop() Channel {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.head == len(r.line) {
		return nil
	}
	c := r.line[r.head]
	r.line[r.head] = nil
	r.head++
	c.place().waiting = false
	switch {
	case r.head == len(r.line):
		r.line, r.head = r.line[:0], 0
	case r.head >= 64 && r.head > len(r.line)/2:
		n := copy(r.line, r.line[r.head:])
		clear(r.line[n:])
		r.line, r.head = r.line[:n], 0
	}
	return c
}

// next returns the next frame of whose turn it is; nil if nobody has one.
func (r *Rota) next() Frame {
	for {
		if r.current == nil {
			if r.current = r.pop(); r.current == nil {
				return nil
			}
			r.left = turnShare
		}
		c := r.current
		f := c.Next()
		if f == nil {
			r.current = nil
			continue
		}
		if r.left -= frameSize(f); r.left <= 0 {
			r.join(c)
			r.current = nil
		}
		return f
	}
}

// frameSize is about what f takes on the connection, bytes.
func frameSize(f Frame) int {
	const small = 32
	switch f := f.(type) {
	case *TunnelData:
		return small + len(f.Chunk)
	case *Publication:
		return small + len(f.From) + len(f.Topic) + HeadersSize(f.Headers) + len(f.Body)
	}
	return small
}
