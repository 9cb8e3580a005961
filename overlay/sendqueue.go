// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import "github.com/arke-mesh/arke/internal/wire"

// batchLimit is the most that is handed to the stream in one Write, in bytes.
// While it is under way nothing overtakes it.
const batchLimit = 256 << 10

// What lane bulk carries in single frames is tunnels: many senders that wait for
// room, each with little, and that would leave none for large messages. So it
// has a bound, and an order of waiting, of its own.
const (
	laneSingles  = Lane(laneCount) // an account beside the lanes; never a chunk's lane
	accountCount = laneCount + 1
	singlesBytes = 512 << 10 // two batches
)

// accountOf is where a message of n bytes waits for room.
func accountOf(lane Lane, n int) Lane {
	if lane == LaneBulk && single(lane, n) {
		return laneSingles
	}
	return lane
}

// frameSlack is how much longer than MaxFrameBody a frame of lane bulk may be,
// in bytes, so that 64 KiB of a tunnel fit with what is around them.
const frameSlack = 64

// single says whether a message of n bytes travels in one frame.
func single(lane Lane, n int) bool {
	return n <= MaxFrameBody || lane == LaneBulk && n <= MaxFrameBody+frameSlack
}

// sendQueue holds what one session has yet to send: four lanes of encoded
// frames, each bounded in bytes. take hands them out by priority. It has no
// lock, goroutine or clock; the link's mutex guards it.
type sendQueue struct {
	limits [accountCount]int
	pool   *chunkPool
	lanes  [accountCount]laneQueue
	bulk   bulkQueue
}

// laneQueue is one lane. The chunks of lane bulk are in sendQueue.bulk.
type laneQueue struct {
	bytes   int // encoded bytes queued, or promised to a message on its way in
	chunks  chunkList
	waiting []*roomWaiter // in the order of arrival
	visitor *roomWaiter   // looks whether there is room; the others wait until it has
	visit   int           // bytes that may still be taken before those who wait, while visitor looks
}

// roomWaiter is a sender that waits for room in a lane.
type roomWaiter struct {
	size    int
	visits  bool // it is promised nothing, but that nobody behind it comes first
	granted bool
	place   func()        // if there is one: called under the lock when granted, and puts the message where it belongs
	ready   chan struct{} // closed by the shell when granted, or when the session ended …
	tell    func()        // … or, if there is one, this is called instead
}

// wake is the shell's.
func (w *roomWaiter) wake() {
	if w.tell != nil {
		w.tell()
		return
	}
	close(w.ready)
}

func newSendQueue(limits [laneCount]int, maxMessage int, pool *chunkPool) *sendQueue {
	q := &sendQueue{pool: pool, bulk: bulkQueue{maxTotal: 2 * maxMessage}}
	copy(q.limits[:], limits[:])
	q.limits[laneSingles] = min(limits[LaneBulk], singlesBytes)
	return q
}

// reserve promises size bytes of the lane, or says that it is full. Room is
// given in order: nobody overtakes a sender that waits, except with what a
// visitor before it came for: it can't be told from others who send. An empty
// lane takes any size, else a message larger than the lane could never be sent.
func (q *sendQueue) reserve(lane Lane, size int) bool {
	if !q.hasRoom(lane, size) {
		return false
	}
	q.lanes[lane].bytes += size
	q.lanes[lane].visit -= size
	return true
}

// hasRoom says whether reserve would promise size bytes now.
func (q *sendQueue) hasRoom(lane Lane, size int) bool {
	ln := &q.lanes[lane]
	taken := len(ln.waiting) > 0 && (ln.visitor == nil || ln.visit <= 0)
	return !taken && q.fits(ln, lane, size)
}

func (q *sendQueue) fits(ln *laneQueue, lane Lane, size int) bool {
	return ln.bytes == 0 || ln.bytes+size <= q.limits[lane]
}

// unreserve gives back what reserve, or a grant, promised.
func (q *sendQueue) unreserve(lane Lane, size int) { q.lanes[lane].bytes -= size }

// push appends one frame, for which room was reserved. It copies parts.
func (q *sendQueue) push(lane Lane, k wire.Kind, size int, parts [][]byte) {
	list := &q.lanes[lane].chunks
	if lane == laneSingles {
		list = q.bulk.plainChunks()
	}
	c := list.tail
	if c == nil || len(c.b)+size > chunkFill {
		c = q.pool.get()
		list.push(c)
	}
	c.b = wire.AppendFrame(c.b, k, parts...)
	c.frames++
}

// pushMessage appends the fragments of one message, for which room was
// reserved.
func (q *sendQueue) pushMessage(m *bulkMessage) { q.bulk.push(m) }

// queued is how many bytes wait in a lane.
func (q *sendQueue) queued(lane Lane) int {
	n := q.lanes[lane].bytes
	if lane == LaneBulk {
		n += q.lanes[laneSingles].bytes
	}
	return n
}

// empty says that take would return nothing.
func (q *sendQueue) empty() bool {
	for i := range q.lanes {
		if q.lanes[i].chunks.head != nil {
			return false
		}
	}
	return q.bulk.empty()
}

// take removes what shall be sent next, by priority, at most limit bytes
// (more only if the first chunk alone is larger). nil means nothing.
func (q *sendQueue) take(limit int) *chunk {
	var batch chunkList
	room := limit
	for lane := range laneCount {
		for {
			ln := &q.lanes[lane]
			c := ln.chunks.head
			if Lane(lane) == LaneBulk {
				if c = q.bulk.peek(); q.bulk.single() {
					ln = &q.lanes[laneSingles]
				}
			}
			if c == nil {
				break // the next lane
			}
			if len(c.b) > room && batch.head != nil {
				return batch.head // nothing of lower priority may fill the gap
			}
			c.lane = Lane(lane)
			room -= len(c.b)
			ln.bytes -= len(c.b)
			if Lane(lane) == LaneBulk {
				q.bulk.pop()
			} else {
				ln.chunks.pop()
			}
			batch.push(c)
		}
	}
	return batch.head
}

// wait queues up for size bytes of the lane.
func (q *sendQueue) wait(lane Lane, size int) *roomWaiter {
	w := &roomWaiter{size: size, ready: make(chan struct{})}
	ln := &q.lanes[lane]
	ln.waiting = append(ln.waiting, w)
	return w
}

// forget removes a waiter that gave up, granted or not, or a visitor that has
// looked.
func (q *sendQueue) forget(lane Lane, w *roomWaiter) {
	ln := &q.lanes[lane]
	switch {
	case ln.visitor == w:
		ln.visitor = nil
		return
	case w.granted && !w.visits:
		q.unreserve(lane, w.size)
		return
	}
	for i, each := range ln.waiting {
		if each == w {
			ln.waiting = append(ln.waiting[:i], ln.waiting[i+1:]...)
			return
		}
	}
}

// grant promises the room there is to those who wait, and returns whom to
// wake, in order. Usually nobody waits and it costs nothing.
func (q *sendQueue) grant() []*roomWaiter {
	var granted []*roomWaiter
	for lane := range q.lanes {
		ln := &q.lanes[lane]
		for len(ln.waiting) > 0 && ln.visitor == nil && q.fits(ln, Lane(lane), ln.waiting[0].size) {
			w := ln.waiting[0]
			ln.waiting = ln.waiting[1:]
			if w.visits {
				ln.visitor, ln.visit = w, w.size
			} else {
				ln.bytes += w.size
			}
			w.granted = true
			granted = append(granted, w)
		}
	}
	return granted
}

// drop empties the queue. It returns how many messages were in it and all who
// wait; they are not granted.
func (q *sendQueue) drop() (messages int, waiting []*roomWaiter) {
	for c := q.take(batchLimit); c != nil; c = q.take(batchLimit) {
		for each := c; each != nil; each = each.next {
			messages += each.frames
		}
		q.pool.putAll(c)
	}
	for lane := range q.lanes {
		waiting = append(waiting, q.lanes[lane].waiting...)
		q.lanes[lane].waiting = nil
	}
	return messages, waiting
}
