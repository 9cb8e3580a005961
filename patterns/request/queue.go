// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import "github.com/arke-mesh/arke/patterns"

// place is where a job is, as its member's queue knows it.
type place uint8

const (
	placeNew place = iota
	placeWaiting
	placeRunning
	placeDone // answered, or its answer is under way
)

// ticket is one request in a queue: the part of a job that the queue reads.
type ticket struct {
	job      *job
	size     int   // bytes of body and headers
	deadline int64 // ns on the engine's clock; never = none
	keep     bool  // once it is taken in, it has no deadline any more

	// Owned by the queue.
	place      place
	prev, next *ticket
}

// verdict is what becomes of a request that was offered.
type verdict uint8

const (
	verdictRun verdict = iota
	verdictWait
	refusedDraining
	refusedExpired
	refusedLength // QueueLength requests wait
	refusedBytes  // they have QueueBytes
)

// queue decides which requests a member runs, keeps waiting, or refuses: a pure
// core without a clock or a lock. It keeps Concurrency requests running at
// most, and has nobody wait while fewer are.
type queue struct {
	limits patterns.Limits // never changed

	head, tail *ticket
	waiting    int
	bytes      int // of those that wait
	running    int
	draining   bool
	earliest   int64 // nobody who waits has a deadline before
}

// offer takes a request in, or refuses it. expired are those that have waited
// in vain: they are out, and each gets an answer.
func (q *queue) offer(now int64, t *ticket) (v verdict, expired []*ticket) {
	switch {
	case q.draining:
		return refusedDraining, nil
	case t.deadline <= now:
		return refusedExpired, nil
	case q.running < q.limits.Concurrency:
		q.running++
		t.accepted()
		t.place = placeRunning
		return verdictRun, nil
	}
	if v := q.room(t); v == verdictWait || q.earliest > now {
		if v == verdictWait {
			q.push(t)
		}
		return v, nil
	}
	expired = q.expire(now)
	if v = q.room(t); v == verdictWait {
		q.push(t)
	}
	return v, expired
}

// finish takes in that a running request is over, and returns the one that
// runs in its place, if any.
func (q *queue) finish(now int64) (next *ticket, expired []*ticket) {
	q.running--
	for q.head != nil {
		t := q.head
		q.unlink(t)
		if t.deadline > now {
			q.running++
			t.place = placeRunning
			return t, expired
		}
		expired = append(expired, t)
	}
	return nil, expired
}

// withdraw takes a request out if it waits, and says whether it did: then it
// never runs.
func (q *queue) withdraw(t *ticket) bool {
	if t.place != placeWaiting {
		return false
	}
	q.unlink(t)
	return true
}

// drain refuses everybody from now on.
func (q *queue) drain() { q.draining = true }

// abandon takes out all who wait.
func (q *queue) abandon() (out []*ticket) {
	for q.head != nil {
		out = append(out, q.head)
		q.unlink(q.head)
	}
	return out
}

// idle says whether everything that was accepted is over.
func (q *queue) idle() bool { return q.running == 0 && q.waiting == 0 }

// room says whether t may wait.
func (q *queue) room(t *ticket) verdict {
	switch {
	case q.waiting >= q.limits.QueueLength:
		return refusedLength
	case q.bytes+t.size > q.limits.QueueBytes:
		return refusedBytes
	}
	return verdictWait
}

// expire takes out all whose deadline has passed. It is called when the queue
// is full only, so that it costs the same as what made the queue full.
func (q *queue) expire(now int64) (out []*ticket) {
	q.earliest = never
	for t := q.head; t != nil; {
		next := t.next
		if t.deadline <= now {
			q.unlink(t)
			out = append(out, t)
		} else {
			q.earliest = min(q.earliest, t.deadline)
		}
		t = next
	}
	return out
}

// accepted notes that the ticket is taken in.
func (t *ticket) accepted() {
	if t.keep {
		t.deadline = never
	}
}

func (q *queue) push(t *ticket) {
	t.accepted()
	if q.tail == nil {
		q.head = t
		q.earliest = t.deadline
	} else {
		q.tail.next = t
		t.prev = q.tail
		q.earliest = min(q.earliest, t.deadline)
	}
	q.tail = t
	q.waiting++
	q.bytes += t.size
	t.place = placeWaiting
}

func (q *queue) unlink(t *ticket) {
	if t.prev == nil {
		q.head = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		q.tail = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.prev, t.next = nil, nil
	t.place = placeDone
	q.waiting--
	q.bytes -= t.size
}
