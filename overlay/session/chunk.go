// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"sync"

	"github.com/arke-mesh/arke/internal/wire"
)

// A chunk is small where a lane keeps little, so that a trickle does not hold
// much until it is acknowledged, and large where there is much to send.
const (
	smallChunk = 4 << 10
	largeChunk = wire.MaxFrame + 4<<10
	headChunk  = 32 // of what stands before a loan
)

// chunkFill is how many bytes of frames are packed into one large chunk, but for
// the last frame.
const chunkFill = wire.MaxPayload

// chunk is a run of whole encoded frames, or one frame whose end is a loan. Its capacity
// never changes, so that a frame can be appended while those before it are being written.
type chunk struct {
	b       []byte
	loan    loan    // stands behind b
	first   uint64  // number of its first frame in the lane; 0 = not in the log yet
	frames  uint64  // in it
	account account // whose window it counts in
	message uint64  // of lane bulk: the number of the large message that it is part of; 0 = none
	next    *chunk
}

// last is the number of its last frame.
func (c *chunk) last() uint64 { return c.first + c.frames - 1 }

// size is how many bytes its frames have.
func (c *chunk) size() int { return len(c.b) + len(c.loan.body) }

// room says whether size bytes more fit. Behind a loan nothing does.
func (c *chunk) room(size int) bool { return c.loan.body == nil && len(c.b)+size <= cap(c.b) }

// whole is its frames in one piece, which is a copy if there is a loan.
func (c *chunk) whole() []byte {
	if c.loan.body == nil {
		return c.b
	}
	return slices.Concat(c.b, c.loan.body)
}

// messages counts those that end in it from off on.
func (c *chunk) messages(off int) int {
	if c.loan.body != nil {
		return 1
	}
	return countMessages(c.b[off:])
}

// offset is where frame number n begins, n being in c or the one behind it.
func (c *chunk) offset(n uint64) int {
	at := 0
	for i := c.first; i < n; i++ {
		_, _, size := wire.FirstFrame(c.b[at:])
		at += size
	}
	return at
}

// Pool keeps memory of send queues for reuse, so that sending does not allocate
// and an idle session holds none. The zero value is ready; sessions may share
// one. Methods may be called concurrently.
type Pool struct {
	heads, small, large sync.Pool // of *chunk
	batches             sync.Pool // of *batch
}

// get returns an empty chunk with room for size bytes.
func (p *Pool) get(size int) *chunk {
	pool, capacity := &p.large, largeChunk
	if size <= smallChunk {
		pool, capacity = &p.small, smallChunk
	}
	if c, ok := pool.Get().(*chunk); ok {
		return c
	}
	return &chunk{b: make([]byte, 0, capacity)}
}

// head returns an empty chunk for a frame whose end is a loan.
func (p *Pool) head() *chunk {
	if c, ok := p.heads.Get().(*chunk); ok {
		return c
	}
	return &chunk{b: make([]byte, 0, headChunk)}
}

// put takes a chunk that nobody uses any more, and gives its loan back.
func (p *Pool) put(c *chunk) {
	c.loan.giveBack()
	*c = chunk{b: c.b[:0]}
	switch {
	case cap(c.b) <= headChunk:
		p.heads.Put(c)
	case cap(c.b) <= smallChunk:
		p.small.Put(c)
	default:
		p.large.Put(c)
	}
}

// putAll returns a list of chunks.
func (p *Pool) putAll(c *chunk) {
	for c != nil {
		next := c.next
		p.put(c)
		c = next
	}
}

// chunkList is a queue of chunks. The zero value is empty.
type chunkList struct{ head, tail *chunk }

func (l *chunkList) push(c *chunk) {
	c.next = nil
	if l.tail == nil {
		l.head = c
	} else {
		l.tail.next = c
	}
	l.tail = c
}

func (l *chunkList) pop() *chunk {
	c := l.head
	if l.head = c.next; l.head == nil {
		l.tail = nil
	}
	c.next = nil
	return c
}
