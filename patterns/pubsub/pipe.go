// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"errors"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// verdict is what became of a frame.
type verdict uint8

const (
	sent verdict = iota // it is in the lane, or will be when the link stands
	full                // there is no room now; nothing was sent
	lost                // the link is lost, or could not be established
)

// pipe is the way out to one peer: its link's lane pub, and, while the link is
// being established, a bounded queue before it.
type pipe struct {
	e    *Engine
	peer peer.ID
	link Link

	mu       sync.Mutex
	release  func()     // guarded by mu; ends the hold
	waiting  []parcel   // guarded by mu; until the link stands
	bytes    int        // guarded by mu; of them
	opening  bool       // guarded by mu
	retry    int64      // guarded by mu; when a dial may be tried again
	losses   uint64     // guarded by mu; how often something may have been lost
	watchers []*watcher // guarded by mu; publishers that wait for the link
	last     int64      // guarded by mu; when it was used
}

// parcel is a frame that waits.
type parcel struct {
	kind wire.Kind
	body []byte
}

// watcher is a publisher that waits for a change of the link.
type watcher struct {
	id      uint64
	changed chan struct{}
}

// pipe returns the way to p.
func (e *Engine) pipe(p peer.ID) *pipe {
	e.mu.Lock()
	q := e.pipes[p]
	fresh := q == nil
	if fresh {
		q = &pipe{e: e, peer: p, link: e.cfg.Links.Link(p)}
		q.last = e.now()
		e.pipes[p] = q
	}
	e.mu.Unlock()
	if fresh {
		e.armSweep()
	}
	return q
}

// rest ends the hold of a link that has not been used for a while, and says for
// how long.
func (q *pipe) rest(now int64) (idle int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 {
		return 0
	}
	idle = now - q.last
	if idle > int64(idleTime) && q.release != nil {
		q.release()
		q.release = nil
	}
	return idle
}

// send puts a frame into the lane. It never blocks. losses identifies the time
// in which nothing was lost on the way.
func (q *pipe) send(addrs []string, k wire.Kind, parts ...[]byte) (v verdict, losses uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last = q.e.now()
	if q.release == nil { // so that a node that hangs is noticed
		q.release = q.link.Hold()
	}
	if len(q.waiting) == 0 && q.link.Session() != 0 {
		_, err := q.link.Send(overlay.LanePub, k, parts...)
		switch {
		case err == nil:
			return sent, q.losses
		case errors.Is(err, overlay.ErrLaneFull):
			return full, q.losses
		case !errors.Is(err, overlay.ErrLinkDown):
			return lost, q.losses
		}
	}
	return q.enqueue(addrs, k, parts), q.losses
}

// enqueue keeps a frame until the link stands, and sees to it that it will.
func (q *pipe) enqueue(addrs []string, k wire.Kind, parts [][]byte) verdict {
	if !q.opening && !q.open(addrs) {
		return lost
	}
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if len(q.waiting) > 0 && (q.bytes+size > maxWaiting || len(q.waiting) >= maxWaitingFrames) {
		return full
	}
	body := make([]byte, 0, size)
	for _, p := range parts {
		body = append(body, p...)
	}
	q.waiting = append(q.waiting, parcel{k, body})
	q.bytes += size
	return sent
}

// open begins to establish the link, unless that has just failed.
func (q *pipe) open(addrs []string) bool {
	if q.link.Session() != 0 {
		return true // it came up meanwhile; its event will be here at once
	}
	if q.e.now() < q.retry {
		return false
	}
	q.opening = true
	q.link.Open(addrs) // reports its result later, never from within
	return true
}

// want has the link established, if it is not.
func (q *pipe) want(addrs []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.link.Session() == 0 && !q.opening {
		q.open(addrs)
	}
}

// up sends what waits.
func (q *pipe) up() {
	q.mu.Lock()
	q.opening, q.retry = false, 0
	for i, p := range q.waiting {
		if _, err := q.link.Send(overlay.LanePub, p.kind, p.body); err != nil {
			q.e.drops.Add(dropUnsent, uint64(len(q.waiting)-i))
			q.losses++
			break
		}
	}
	q.waiting, q.bytes = nil, 0
	woken := q.takeWatchers()
	q.mu.Unlock()
	q.e.wakeAll(woken)
}

// down drops what waits: the link is lost, or could not be established.
func (q *pipe) down(failed bool) {
	q.mu.Lock()
	q.losses++
	if failed {
		q.opening = false
		q.retry = q.e.now() + int64(redialTime)
		q.e.drops.Add(dropUnsent, uint64(len(q.waiting)))
		q.waiting, q.bytes = nil, 0
	}
	woken := q.takeWatchers()
	q.mu.Unlock()
	q.e.wakeAll(woken)
}

func (q *pipe) takeWatchers() []*watcher {
	out := q.watchers
	q.watchers = nil
	return out
}

// hasRoom says whether send would not return full.
func (q *pipe) hasRoom(n int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 && q.link.Session() != 0 {
		return q.link.HasRoom(overlay.LanePub, n) || q.link.Session() == 0
	}
	return len(q.waiting) == 0 || q.bytes+n <= maxWaiting && len(q.waiting) < maxWaitingFrames
}

// waitRoom waits until send may have another verdict than full, or ctx ends.
func (q *pipe) waitRoom(ctx context.Context, n int) error {
	q.mu.Lock()
	if len(q.waiting) == 0 {
		q.mu.Unlock()
		err := q.link.WaitRoom(ctx, overlay.LanePub, n)
		if errors.Is(err, overlay.ErrLinkDown) {
			return nil
		}
		return err
	}
	w := &watcher{id: q.e.ids.Add(1), changed: make(chan struct{})}
	q.watchers = append(q.watchers, w)
	q.mu.Unlock()
	select {
	case <-w.changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-q.e.ctx.Done():
		return overlay.ErrClosed
	}
}

// end lets go of the link.
func (q *pipe) end() {
	q.mu.Lock()
	release := q.release
	q.release = nil
	q.waiting, q.bytes = nil, 0
	woken := q.takeWatchers()
	q.mu.Unlock()
	q.e.wakeAll(woken)
	if release != nil {
		release()
	}
}

// lossCount is what send returns beside its verdict.
func (q *pipe) lossCount() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.losses
}
