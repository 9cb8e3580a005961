// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"sync"

	"github.com/arke-mesh/arke/internal/fifo"
	"github.com/arke-mesh/arke/internal/wire"
)

// shelfSize is how many bytes of publications that wait share memory, and largeShelf where
// several of them came in one frame, or one has a body of 64 KiB and headers beside it.
const (
	shelfSize  = 16 << 10
	largeShelf = wire.MaxPayload + 8<<10
)

// shelf is memory for tails that wait, in the order in which they go.
type shelf struct {
	b    []byte
	left int // tails in it that wait still
}

// shelves is memory for them, shared by the clients of a relay.
type shelves struct{ small, large sync.Pool }

// get returns one with room for n bytes.
func (s *shelves) get(n int) *shelf {
	pool, size := &s.small, shelfSize
	switch {
	case n > largeShelf:
		return &shelf{b: make([]byte, 0, n)}
	case n > shelfSize:
		pool, size = &s.large, largeShelf
	}
	if kept, ok := pool.Get().(*shelf); ok {
		return kept
	}
	return &shelf{b: make([]byte, 0, size)}
}

func (s *shelves) put(x *shelf) {
	size := cap(x.b)
	x.b = x.b[:0]
	switch size {
	case shelfSize:
		s.small.Put(x)
	case largeShelf:
		s.large.Put(x)
	}
}

// queue is publications that wait, first come, first served. Their tails are
// copies: frames are read into the same memory again and again. Not for
// concurrent use.
type queue struct {
	pool    *shelves
	waiting fifo.Queue[waiting]
	last    *shelf // of what was pushed last
}

// waiting is one of them.
type waiting struct {
	wire.LeafPublish
	at *shelf
}

func (q *queue) len() int { return q.waiting.Len() }

// push appends a copy of m.
func (q *queue) push(m *wire.LeafPublish) {
	n := len(m.Tail)
	if q.last == nil || n > cap(q.last.b)-len(q.last.b) {
		q.last = q.pool.get(n)
	}
	s := q.last
	from := len(s.b)
	s.b = append(s.b, m.Tail...)
	s.left++
	w := waiting{*m, s}
	w.Tail = s.b[from:len(s.b):len(s.b)]
	q.waiting.Push(w)
}

// first returns the first one; its tail is good until pop.
func (q *queue) first() *wire.LeafPublish { return &q.waiting.First().LeafPublish }

// pop takes it out, and returns how many bytes it had.
func (q *queue) pop() int {
	w := q.waiting.Pop()
	if w.at.left--; w.at.left == 0 {
		if w.at == q.last { // then nothing waits
			q.last = nil
		}
		q.pool.put(w.at)
	}
	return len(w.Topic) + len(w.Tail)
}
