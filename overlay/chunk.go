// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import "sync"

// chunkFill is how many bytes of frames are packed into one chunk; a larger
// frame has a chunk of its own.
const chunkFill = MaxFrameBody

// maxChunk is the capacity up to which a chunk's buffer is kept for reuse.
const maxChunk = 512 << 10

// chunk is a run of whole encoded frames. Chunks are what queues hold and what
// a batch is made of.
type chunk struct {
	b      []byte
	frames int  // messages that end in this chunk, for counting drops
	lane   Lane // set when it is taken
	next   *chunk
}

// chunkPool keeps the buffers of one overlay for reuse, so that sending does
// not allocate and an idle link holds none.
type chunkPool struct{ p sync.Pool }

func (p *chunkPool) get() *chunk {
	if c, ok := p.p.Get().(*chunk); ok {
		return c
	}
	return &chunk{}
}

func (p *chunkPool) put(c *chunk) {
	if cap(c.b) > maxChunk {
		return
	}
	c.b, c.frames, c.next = c.b[:0], 0, nil
	p.p.Put(c)
}

// putAll returns a list of chunks.
func (p *chunkPool) putAll(c *chunk) {
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
