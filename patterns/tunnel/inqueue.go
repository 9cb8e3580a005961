// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

// chunk is a part of a message that came.
type chunk struct {
	data []byte
	last bool // of its message
}

// inQueue holds what came and was not read, in order. Its bound is the window.
type inQueue struct {
	chunks []chunk
	head   int // of chunks: the first that was not taken
}

// keepQueue is the capacity up to which an empty queue keeps its memory.
const keepQueue = 8

func (q *inQueue) empty() bool { return q.head == len(q.chunks) }

func (q *inQueue) push(c chunk) {
	if q.head > 0 && len(q.chunks) == cap(q.chunks) {
		n := copy(q.chunks, q.chunks[q.head:])
		clear(q.chunks[n:])
		q.chunks, q.head = q.chunks[:n], 0
	}
	q.chunks = append(q.chunks, c)
}

// peek returns what pop would remove; the queue must not be empty.
func (q *inQueue) peek() chunk { return q.chunks[q.head] }

func (q *inQueue) pop() chunk {
	c := q.chunks[q.head]
	q.chunks[q.head] = chunk{}
	if q.head++; q.empty() {
		q.clear()
	}
	return c
}

// clear empties the queue; an idle tunnel keeps next to no memory.
func (q *inQueue) clear() {
	if cap(q.chunks) > keepQueue {
		q.chunks = nil
	}
	clear(q.chunks)
	q.chunks, q.head = q.chunks[:0], 0
}
