// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

// line is what the queue knows of a caller while requests of it wait.
type line struct {
	n    int   // that wait
	last int64 // the turn of the last one
}

// lines give the requests that wait their order: callers take turns, so that a caller gets
// its demand while that is below an equal share of the member, however much the others
// send. Each request has a turn, one behind the last of its caller, and those of the lowest
// turn come first. That is fair queuing (Nagle, RFC 970) as Golestani computes it ("A
// Self-Clocked Fair Queueing Scheme", INFOCOM 1994): the turn of the request that began last
// is the clock, so that a caller without requests is forgotten at once. The last in this
// order is of the caller with the most that wait; it gives way when the queue is
// full (McKenney, "Stochastic Fairness Queueing", INFOCOM 1990).
type lines struct {
	turn int64 // of the last that began
	of   map[string]*line

	caller string // the last one that had to wait
	others int64  // until then there are several, by what was seen
}

// next is the turn of a caller's next request.
func (l *lines) next(now int64, caller string) int64 {
	if l.caller != caller {
		if l.caller != "" {
			l.others = now + severalTime
		}
		l.caller = caller
	}
	turn := l.turn
	if c := l.of[caller]; c != nil {
		turn = max(turn, c.last)
	}
	return turn + 1
}

// several says whether more than one caller had to wait of late.
func (l *lines) several(now int64) bool { return now < l.others }

func (l *lines) enter(t *ticket) {
	c := l.of[t.caller]
	if c == nil {
		if l.of == nil {
			l.of = make(map[string]*line)
		}
		c = &line{}
		l.of[t.caller] = c
	}
	c.n++
	c.last = t.turn
}

func (l *lines) leave(t *ticket) {
	c := l.of[t.caller]
	if c.last == t.turn {
		c.last--
	}
	if c.n--; c.n == 0 {
		delete(l.of, t.caller)
	}
}

// before returns the ticket behind which one of that turn stands, nil if it is the first,
// and how many are ahead of it. It looks from the nearer end.
func (l *tickets) before(turn int64) (prev *ticket, ahead int) {
	switch {
	case l.n == 0:
		return nil, 0
	case turn-l.first.turn < l.last.turn-turn:
		for t := l.first; t.turn <= turn; t = t.next {
			prev = t
			ahead++
		}
		return prev, ahead
	}
	ahead = l.n
	for prev = l.last; prev != nil && prev.turn > turn; prev = prev.prev {
		ahead--
	}
	return prev, ahead
}

// makeRoom says whether there is room for t. In a full queue the last in the order gives way
// to a request whose turn comes before, so that no caller can fill it. A message that was
// accepted for good stays: then more time of work may wait. What was handed over stays,
// too, as it gives way at the other end: there may be twice as much of it.
func (q *queue) makeRoom(now int64, t *ticket) (v verdict, out []*ticket) {
	for v = q.room(now, t); v != verdictWait; v = q.room(now, t) {
		last := q.waiting.last
		switch {
		case last == nil || last.turn <= t.turn:
			return v, out
		case last.keep && v == refusedTime,
			q.elsewhere && q.waiting.n < 2*q.limits.QueueLength && q.bytes+t.size <= 2*q.limits.QueueBytes:
			return verdictWait, out
		case last.keep || q.elsewhere:
			return v, out
		}
		q.unlink(last)
		out = append(out, last)
	}
	return v, out
}

// callerOf is the node whose turn it is to be served: the other end of the link, since an
// origin block may name any. To a leaf all requests come from its relay, which says where it has them from.
func callerOf(in *arrival, leaf bool) string {
	if o := in.request.Origin; leaf && o != nil {
		return o.Peer
	}
	return string(in.link.Peer())
}
