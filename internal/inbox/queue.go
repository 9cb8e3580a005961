// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"github.com/arke-mesh/arke/internal/fifo"
	"github.com/arke-mesh/arke/patterns"
)

// queue is messages that wait, in order. Those that came together share a place, so
// that each costs next to nothing. The zero value is empty.
type queue struct {
	places fifo.Queue[place]
	n      int // messages
	bytes  int // of them
}

// place is a message, or messages that came together, and the gaps that stand before the
// first.
type place struct {
	one    *patterns.Publication
	run    *Run           // in place of one, if not nil
	bytes  int            // of all of them
	before *patterns.Gaps // nil = none
}

// Len returns how many messages wait.
func (q *queue) Len() int { return q.n }

// push puts messages, of so many bytes together, behind all others.
func (q *queue) push(p place) {
	q.places.Push(p)
	q.n++
	if p.run != nil {
		q.n += p.run.Count - 1
	}
	q.bytes += p.bytes
}

// first is where the message is that waits longest; there must be one.
func (q *queue) first() *place { return q.places.First() }

// pop takes out the first message, and the gaps before it; there must be one.
func (q *queue) pop() (p patterns.Publication, before *patterns.Gaps) {
	at := q.first()
	size, before := at.bytes, at.before
	if at.run == nil {
		p = *at.one
	} else {
		p = at.run.next()
	}
	if at.run == nil || at.run.Count == 0 {
		q.places.Pop()
	} else { // the last one takes the rest
		size = min(sizeOf(&p), size)
		at.bytes, at.before = at.bytes-size, nil
	}
	q.n--
	q.bytes -= size
	return p, before
}

// clear forgets all messages.
func (q *queue) clear() { *q = queue{} }

// release gives the memory of an empty queue back.
func (q *queue) release() { q.places.Release() }
