// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

// piece is a chunk.
type piece struct {
	data []byte
	last bool
	slab *slab // that data is in; nil if it came
}

// pieces is a queue of them. Its bound is the credit.
type pieces struct {
	list []piece
	head int // of list: the first that was not taken
}

// keepPieces is the capacity up to which an empty queue keeps its memory.
const keepPieces = 8

func (q *pieces) empty() bool { return q.head == len(q.list) }

func (q *pieces) push(p piece) {
	if q.head > 0 && len(q.list) == cap(q.list) {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	q.list = append(q.list, p)
}

// first returns what pop would; the queue must not be empty.
func (q *pieces) first() piece { return q.list[q.head] }

func (q *pieces) pop() piece {
	p := q.list[q.head]
	q.list[q.head] = piece{}
	if q.head++; q.empty() {
		q.clear()
	}
	return p
}

// clear empties the queue; an idle tunnel keeps next to no memory.
func (q *pieces) clear() {
	if cap(q.list) > keepPieces {
		q.list = nil
	}
	clear(q.list)
	q.list, q.head = q.list[:0], 0
}
