// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// outage is the part of a pipe that gets over the time in which its link is
// down, or too slow for what has to be sent again. Times are the engine's.
type outage struct {
	addrs   []string
	opening bool
	failed  bool  // no dial has succeeded since the link was lost
	broke   int64 // when the link was lost last; 0 = never
	retry   int64 // when a dial may be tried again
	doubt   int64 // until when a link that was lost just now may come back as if nothing had been; 0 = it is not in doubt
	until   int64 // when what is kept is given up; 0 = it is not
	timer   overlay.Timer
	due     int64 // when the timer fires
}

// watcher is a publisher that waits for a change of the link.
type watcher struct {
	id   uint64
	wake func()
}

// wait has a frame, or a large message, wait for the link.
func (q *pipe) wait(incarnation uint64, k wire.Kind, parts [][]byte) verdict {
	n := sizeOf(parts)
	ok := false
	if n > wire.MaxPayload {
		ok = q.waitLarge(incarnation, n, parts)
	} else {
		ok = q.kept.wait(incarnation, k, parts...)
	}
	if q.link.Session() == 0 {
		if q.until == 0 && !q.kept.empty() {
			q.until = q.e.now() + int64(keepTime)
		}
		q.open()
	}
	q.arm()
	if !ok {
		return full
	}
	return sent
}

// open begins to establish the link, unless that has just failed.
func (q *pipe) open() {
	if q.opening || q.link.Session() != 0 || q.e.now() < q.retry {
		return // if it came up meanwhile, its event will be here at once
	}
	q.opening = true
	q.link.Open(q.addrs) // reports its result later, never from within
}

// want has the link established, if it is not.
func (q *pipe) want(addrs []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addrs = addrs
	q.open()
}

// up takes in that a session of the link has begun, and sends what waits.
func (q *pipe) up(session uint64) {
	q.mu.Lock()
	q.opening, q.failed, q.retry, q.doubt, q.until = false, false, 0, 0, 0
	if q.session != session {
		q.cut()
	}
	q.flush()
	q.arm()
	q.unlockAndWake()
}

// down takes in that a session has ended. It says whether the link may be back
// in a moment.
func (q *pipe) down(session uint64) (doubtful bool) {
	q.mu.Lock()
	defer q.unlockAndWake()
	if q.session != 0 && q.session != session {
		return true // of the one before
	}
	q.cut()
	if q.link.Session() != 0 {
		return true // the next one stands already
	}
	now := q.e.now()
	q.broke = now
	if !q.kept.empty() {
		q.until = now + int64(keepTime)
	}
	if q.release != nil { // it was used of late
		q.doubt = now + int64(doubtTime)
		q.open()
	}
	q.arm()
	return q.doubt != 0
}

// dialFailed takes in that the link could not be established.
func (q *pipe) dialFailed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.opening, q.failed = false, true
	q.retry = q.e.now() + int64(redialTime)
	q.arm()
}

// undoubted takes in that the trees do not lead there any more, or that the
// node is suspect: publishers look again whether they wait for it.
func (q *pipe) undoubted() {
	q.mu.Lock()
	q.doubt = 0
	q.unlockAndWake()
}

// doubtful says whether the link was lost a moment ago, and may be back at
// once.
func (q *pipe) doubtful() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.doubt != 0
}

// brokeWithin says whether the link was lost within the last d: then that the
// peer's lease is gone need not mean that the peer is.
func (q *pipe) brokeWithin(d time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.broke != 0 && q.e.now()-q.broke < int64(d)
}

// arm sets the timer for what is due next. mu is held, as for all below.
func (q *pipe) arm() {
	now, due := q.e.now(), int64(0)
	at := func(t int64) {
		if due == 0 || t < due {
			due = max(t, now)
		}
	}
	if q.doubt > now {
		at(q.doubt)
	}
	if q.until != 0 {
		at(q.until)
		if !q.opening {
			at(q.retry)
		}
	}
	if q.kept.waiting() && q.link.Session() != 0 {
		at(now + int64(flushTime))
	}
	switch {
	case due == 0:
		q.stop()
	case q.timer == nil || due < q.due:
		q.stop()
		q.due = due
		q.timer = q.e.after("pubsub.pipe", time.Duration(due-now), q.tick)
	}
}

func (q *pipe) stop() {
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
}

// tick does what is due.
func (q *pipe) tick() {
	q.mu.Lock()
	q.timer = nil
	now := q.e.now()
	over := q.doubt != 0 && now >= q.doubt
	switch {
	case q.until == 0:
		q.flush()
	case now >= q.until:
		q.giveUp()
	default:
		q.open()
	}
	q.arm()
	q.unlock()
	if over {
		q.e.unreached(q.peer)
		q.undoubted()
	}
}

// giveUp forgets what is kept for a node that can't be reached.
func (q *pipe) giveUp() {
	sent, waiting := q.kept.clear()
	q.kept.forgive()
	q.e.drops.Add(dropUnconfirmed, sent)
	q.e.drops.Add(dropUnsent, waiting)
	q.losses++
	q.until, q.opening, q.failed = 0, false, true
	q.flushed = true
}

// unlock releases mu. Publishers that wait look again if nothing waits any more
// that did.
func (q *pipe) unlock() {
	if q.flushed {
		q.unlockAndWake()
		return
	}
	q.mu.Unlock()
}

// unlockAndWake releases mu, and has all publishers that wait look again.
func (q *pipe) unlockAndWake() {
	woken := q.watchers
	q.watchers, q.flushed = nil, false
	q.mu.Unlock()
	q.e.wakeAll(woken)
}

// hasRoom says whether send would not return full.
func (q *pipe) hasRoom(n int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.failed || q.link.Suspect():
		return true
	case q.kept.waiting() || q.link.Session() == 0:
		return q.kept.fits(n, n/wire.MaxPart+1)
	}
	return q.link.HasRoom(overlay.LanePub, q.first(n)) || q.link.Session() == 0
}

// waitRoom waits until send may have another verdict than full, or ctx ends.
// Others who wait come next when the caller calls done.
func (q *pipe) waitRoom(ctx context.Context, n int) (done func(), err error) {
	done = func() {}
	changed, wake := context.WithCancel(ctx)
	defer wake()
	w := &watcher{id: q.e.ids.Add(1), wake: wake}
	q.mu.Lock()
	inLane := !q.kept.waiting() && q.link.Session() != 0 && q.doubt == 0
	n = q.first(n)
	if q.link.Suspect() {
		wake()
	}
	q.watchers = append(q.watchers, w)
	q.mu.Unlock()
	defer q.forget(w)
	if inLane {
		if d, err := q.link.WaitRoom(changed, overlay.LanePub, n); err == nil { // else the next send sees why
			done = d
		}
	} else {
		select {
		case <-changed.Done():
		case <-q.e.ctx.Done():
		}
	}
	if err = ctx.Err(); q.e.ctx.Err() != nil {
		err = overlay.ErrClosed
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// first is how much of a message of n bytes needs room in the lane at once.
func (q *pipe) first(n int) int {
	if q.peer == q.e.self {
		return n
	}
	return min(n, wire.MaxPayload)
}

func (q *pipe) forget(w *watcher) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, other := range q.watchers {
		if other == w {
			q.watchers = append(q.watchers[:i], q.watchers[i+1:]...)
			return
		}
	}
}
