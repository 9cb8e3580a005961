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

// place is messages that came together, and the gaps that stand before the first.
type place struct {
	first  *patterns.Publication
	more   []patterns.Publication // behind it
	bytes  int                    // of all of them
	before *gaps                  // nil = none
}

// Len returns how many messages wait.
func (q *queue) Len() int { return q.n }

// push puts messages, of so many bytes together, behind all others.
func (q *queue) push(p place) {
	q.places.Push(p)
	q.n += 1 + len(p.more)
	q.bytes += p.bytes
}

// first is where the message is that waits longest; there must be one.
func (q *queue) first() *place { return q.places.First() }

// pop takes out the first message, and the gaps before it; there must be one.
func (q *queue) pop() (p *patterns.Publication, before *gaps) {
	at := q.first()
	p, before = at.first, at.before
	size := at.bytes
	if len(at.more) > 0 { // the last one takes the rest, whatever a subscriber has made of them
		size = min(sizeOf(p), at.bytes)
		at.first, at.more, at.bytes, at.before = &at.more[0], at.more[1:], at.bytes-size, nil
	} else {
		q.places.Pop()
	}
	q.n--
	q.bytes -= size
	return p, before
}

// clear forgets all messages.
func (q *queue) clear() { *q = queue{} }

// release gives the memory of an empty queue back.
func (q *queue) release() { q.places.Release() }
