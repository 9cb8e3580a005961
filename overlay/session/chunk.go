// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"sync"

	"github.com/arke-mesh/arke/internal/wire"
)

// A chunk is small where a lane keeps little, so that a trickle does not hold
// much until it is acknowledged, and large where there is much to send.
const (
	smallChunk = 4 << 10
	largeChunk = wire.MaxFrame + 4<<10
)

// chunkFill is how many bytes of frames are packed into one large chunk, but for
// the last frame.
const chunkFill = wire.MaxPayload

// chunk is a run of whole encoded frames. Its capacity never changes, so that a
// frame can be appended while those before it are being written.
type chunk struct {
	b       []byte
	first   uint64  // number of its first frame in the lane; 0 = not in the log yet
	frames  uint64  // in it
	account account // whose window it counts in
	message uint64  // of lane bulk: the number of the large message that it is part of; 0 = none
	next    *chunk
}

// last is the number of its last frame.
func (c *chunk) last() uint64 { return c.first + c.frames - 1 }

// room says whether size bytes more fit.
func (c *chunk) room(size int) bool { return len(c.b)+size <= cap(c.b) }

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
	small, large sync.Pool // of *chunk
	batches      sync.Pool // of *batch
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

func (p *Pool) put(c *chunk) {
	*c = chunk{b: c.b[:0]}
	if cap(c.b) <= smallChunk {
		p.small.Put(c)
		return
	}
	p.large.Put(c)
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
