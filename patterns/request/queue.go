// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"time"

	"github.com/arke-mesh/arke/patterns"
)

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
	back     int64 // ns that the reply travels
	kind     kind
	keep     bool // once it is accepted, it has no deadline any more

	// Owned by the queue.
	place      place
	began      int64 // when it began to run
	prev, next *ticket
}

// left is how long the handler may take if it starts now.
func (t *ticket) left(now int64) int64 { return t.deadline - t.back - now }

// tickets is a list of tickets: an intrusive one, as each is in one list at most.
type tickets struct {
	first, last *ticket
	n           int
}

func (l *tickets) push(t *ticket) {
	if l.last == nil {
		l.first = t
	} else {
		l.last.next, t.prev = t, l.last
	}
	l.last = t
	l.n++
}

func (l *tickets) remove(t *ticket) {
	if t.prev == nil {
		l.first = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		l.last = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.prev, t.next = nil, nil
	l.n--
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
	refusedTime   // it could not end before its deadline
)

// Numbers of overload.
const (
	// standingWait is how long requests wait at most while more comes than can be done,
	// if it is not fewer than standingLeast that wait: so much keeps the handlers busy
	// through pauses of the network and of callers, and is gone soon after the load is.
	standingWait  = int64(100 * time.Millisecond)
	standingLeast = 8
	// probeEvery is how often a member starts what can't end in time, by what it has
	// measured: that may be no longer true.
	probeEvery = int64(time.Second)
)

// didNotRun is the time that a request took that no handler has seen.
const didNotRun = -1

// queue decides which requests a member runs, keeps waiting, or refuses: a pure
// core without a clock or a lock. It keeps Concurrency requests running at
// most, and has nobody wait while fewer are.
//
// It runs only what can end before its deadline, by what handlers took of late (see
// effort), and refuses at once what could not, so that others are asked
// and no handler works for a caller that has given up. Requests are started in
// their order. How many may wait is a matter of time, not of number: a request waits if
// its turn comes soon enough. So a burst is absorbed as far as the deadlines allow.
//
// Once a request had to be refused for that, more comes than can be done. A queue that is
// full of what is just about in time gains nothing then: all wait as long as they can, what
// takes a little longer than expected is late, and when the load falls it takes long to
// be normal again. From CoDel (Nichols and Jacobson, "Controlling Queue Delay", ACM Queue
// 2012) comes the cure: what stands in the queue is bounded by a short time until it has
// been empty, and what is shed is shed at the head. From adaptive LIFO (Maurer, "Fail at
// Scale", ACM Queue 2015) comes the preference for the newest, which have most time left:
// where the head may be late and the newest will not, the head gives way. Strict LIFO is
// not needed, as what waits is bounded by time: it would keep the oldest until they are
// late instead of refusing newcomers at once.
type queue struct {
	limits patterns.Limits // never changed

	waiting  tickets
	bytes    int        // of those that wait
	of       [kinds]int // how many of a kind wait
	running  tickets    // in the order in which they began
	draining bool
	earliest int64 // nobody who waits has a deadline before

	efforts    [kinds]effort
	probeAt    int64 // when what can't end in time is started nevertheless
	overloaded bool  // since the queue was last empty a request was refused for want of time
	patience   int64 // the longest that one accepted since then could wait
}

// offer accepts a request, or refuses it. out are those that have waited in vain: each
// gets an answer.
func (q *queue) offer(now int64, t *ticket) (v verdict, out []*ticket) {
	switch {
	case q.draining:
		return refusedDraining, nil
	case t.deadline <= now:
		return refusedExpired, nil
	case q.running.n < q.limits.Concurrency:
		if !q.worthwhile(now, t) {
			return refusedTime, nil
		}
		t.accepted()
		q.start(now, t)
		return verdictRun, nil
	}
	if !q.inTime(now, t) {
		return refusedTime, q.shed(now, q.waiting.last)
	}
	out = q.shed(now, t)
	v = q.room(t)
	if v != verdictWait && q.earliest <= now {
		out = append(out, q.expire(now)...)
		v = q.room(t)
	}
	if v == verdictWait {
		q.push(t)
	}
	return v, out
}

// finish notes that a running request is over, and how long its handler took, didNotRun if
// none ran. It returns the request that runs in its place, if any.
func (q *queue) finish(now int64, t *ticket, took int64) (next *ticket, out []*ticket) {
	q.running.remove(t)
	t.place = placeDone
	if took != didNotRun {
		q.efforts[t.kind].learn(took)
		q.probeAt = now + probeEvery
	}
	out = q.shed(now, q.waiting.last)
	if next = q.waiting.first; next == nil {
		q.overloaded, q.patience = false, 0
		return nil, out
	}
	q.unlink(next)
	q.start(now, next)
	return next, out
}

// worthwhile says whether a request is started for which there is a place. If nothing
// runs, it is, in any case: otherwise a member that was slow would never learn that it is not.
func (q *queue) worthwhile(now int64, t *ticket) bool {
	if t.left(now) >= q.least(t) {
		return true
	}
	if q.running.n > 0 && now < q.probeAt {
		return false
	}
	q.probeAt = now + probeEvery
	return true
}

// inTime says whether the turn of a request that has to wait comes soon enough.
func (q *queue) inTime(now int64, t *ticket) bool {
	left := t.left(now)
	// It surely ends in time if it takes no longer than the longest of late. Where those
	// are much longer than others, it has a good chance if it keeps half of what it can spare.
	spare := max(left-q.most(t), (left-q.efforts[t.kind].usual())/2)
	if q.wait(now) <= spare {
		q.patience = max(q.patience, spare)
		return true
	}
	if spare > q.patience/2 { // others could not wait much longer
		q.overloaded = true
	}
	return false
}

// shed removes from the head what does not run.
func (q *queue) shed(now int64, newest *ticket) (out []*ticket) {
	for t := q.waiting.first; t != nil && q.givesWay(now, t, newest); t = q.waiting.first {
		q.unlink(t)
		out = append(out, t)
	}
	return out
}

// givesWay says whether the head does not run: it would be late, or, if there is too much
// work, it may be and the newest will not.
func (q *queue) givesWay(now int64, head, newest *ticket) bool {
	left := head.left(now)
	return head.deadline <= now || left < q.least(head) ||
		q.overloaded && left < q.most(head) && newest.left(now) >= q.most(newest)
}

// most is what a handler takes at most, by those that are remembered. What is kept needs
// only begin in time: no caller waits for its end.
func (q *queue) most(t *ticket) int64 {
	if t.keep {
		return 0
	}
	return q.efforts[t.kind].most()
}

// least is what a handler takes at least, by the last ones.
func (q *queue) least(t *ticket) int64 {
	if t.keep {
		return 0
	}
	return q.efforts[t.kind].least()
}

// wait is how long a request that comes now waits, while all places are taken. Those
// that run end one after the other, from the oldest to the youngest, and again when
// those have ended that take their places. If even the youngest runs for longer than any
// that is remembered, handlers have become slow, and nothing else tells that before one ends.
func (q *queue) wait(now int64) int64 {
	if q.probeAt == 0 { // no handler has ended here: none ever does where others have them
		return 0
	}
	places, ahead := int64(q.limits.Concurrency), int64(q.waiting.n)
	t := q.running.first
	for range ahead % places {
		t = t.next
	}
	turn := q.rest(now, t)
	if ahead < places {
		return turn
	}
	each := q.work() / ahead
	youngest := now - q.running.last.began
	if most := q.efforts[q.running.last.kind].most(); most > 0 && youngest > most {
		each = max(each, youngest)
	}
	return turn + ahead/places*each
}

// rest is for how long a request that runs will go on.
func (q *queue) rest(now int64, t *ticket) int64 {
	return max(0, q.efforts[t.kind].usual()-(now-t.began))
}

// work is what those that wait will take, all together.
func (q *queue) work() (sum int64) {
	for k, n := range q.of {
		sum += int64(n) * q.efforts[k].usual()
	}
	return sum
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
	for t := q.waiting.first; t != nil; t = q.waiting.first {
		out = append(out, t)
		q.unlink(t)
	}
	return out
}

// idle says whether everything that was accepted is over.
func (q *queue) idle() bool { return q.running.n == 0 && q.waiting.n == 0 }

// room says whether there is room for t in the queue.
func (q *queue) room(t *ticket) verdict {
	switch {
	case q.waiting.n >= q.limits.QueueLength:
		return refusedLength
	case q.bytes+t.size > q.limits.QueueBytes:
		return refusedBytes
	case q.overloaded && q.waiting.n >= standingLeast && q.work() >= standingWait*int64(q.limits.Concurrency):
		return refusedTime
	}
	return verdictWait
}

// expire takes out all whose deadline has passed. It is called when the queue
// is full only, so that it costs the same as what made the queue full.
func (q *queue) expire(now int64) (out []*ticket) {
	q.earliest = never
	for t := q.waiting.first; t != nil; {
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

// accepted notes that the ticket is accepted.
func (t *ticket) accepted() {
	if t.keep {
		t.deadline = never
	}
}

func (q *queue) start(now int64, t *ticket) {
	t.place, t.began = placeRunning, now
	q.running.push(t)
}

func (q *queue) push(t *ticket) {
	t.accepted()
	if q.waiting.n == 0 {
		q.earliest = t.deadline
	}
	q.earliest = min(q.earliest, t.deadline)
	q.waiting.push(t)
	q.of[t.kind]++
	q.bytes += t.size
	t.place = placeWaiting
}

func (q *queue) unlink(t *ticket) {
	q.waiting.remove(t)
	q.of[t.kind]--
	q.bytes -= t.size
	t.place = placeDone
}
