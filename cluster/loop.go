// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// A change of the routing table waits for others: when a node finds the
// network, its table changes for every peer it meets. It waits longer the more
// ids have to be looked at, so that looking takes a small part of the time.
const (
	tableDelay     = 20 * time.Millisecond
	tableDelayEach = 200 * time.Microsecond
)

// loop is the goroutine that owns the cores.
type loop struct {
	c       *Clusters
	control *control
	log     *zap.Logger

	// Owned by run.
	holds   map[peer.ID]func()
	needs   map[peer.ID]func()
	later   []event // how sending went
	timer   overlay.Timer
	timerAt time.Time

	ring chan struct{} // has room for one: something waits in the inbox, or it is time
}

// listen has everything that happens put into the inbox. Before Start.
func (l *loop) listen(n Network) {
	in := l.c.inbox
	for _, k := range []wire.Kind{
		wire.KindRegister, wire.KindRegistered, wire.KindUnregister, wire.KindWatch,
		wire.KindUnwatch, wire.KindSnapshot, wire.KindDelta, wire.KindHint, wire.KindClaims, wire.KindSeen,
	} {
		n.Handle(k, func(from peer.ID, body []byte) {
			m, err := decode(k, body)
			if err != nil {
				in.drops.Inc(dropMalformed)
				return
			}
			in.put(frameEvent{from, m, len(body)})
		})
	}
	n.Subscribe(func(e PeerEvent) { in.put(linkEvent{e}) })
	n.OnChange(func() { l.c.tableChanged() })
}

// wake makes run look at the inbox.
func (l *loop) wake() {
	l.c.seam.Exec.Wake(overlay.ExecKey{Name: "cluster.loop"}, l.nudge)
}

func (l *loop) nudge() {
	select {
	case l.ring <- struct{}{}:
	default: // it will look anyway
	}
}

// run is the control loop. It ends when quit is closed.
func (l *loop) run(quit <-chan struct{}) {
	defer l.end()
	for {
		select {
		case <-quit:
			return
		case <-l.ring:
		}
		l.turn()
	}
}

// turn handles all that is queued and does what follows from it.
func (l *loop) turn() {
	now := l.c.seam.Clock.Now()
	for _, e := range l.c.inbox.take() {
		l.control.step(now, e)
	}
	for {
		for _, a := range l.control.finish(now) {
			l.perform(a)
		}
		if len(l.later) == 0 {
			break
		}
		events := l.later
		l.later = nil
		for _, e := range events {
			l.control.step(now, e)
		}
	}
	if l.c.waiting.Load() > 0 {
		l.control.watcher.showStirs()
	}
	l.c.publishStatus(l.control)
	l.c.sets.Store(int64(len(l.control.finder.sets)))
	l.arm(now)
}

// arm sets the timer for what the cores have planned next. An earlier one that
// is no longer needed may fire: that costs one empty turn.
func (l *loop) arm(now time.Time) {
	next := l.control.next()
	if next.IsZero() || (!l.timerAt.IsZero() && l.timerAt.After(now) && !next.Before(l.timerAt)) {
		return
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	l.timerAt = next
	l.timer = l.c.seam.Clock.AfterFunc("cluster.loop", max(next.Sub(now), 0), l.nudge)
}

// perform does one action.
func (l *loop) perform(a action) {
	switch a := a.(type) {
	case sendAction:
		l.send(a)
	case openAction:
		l.c.cfg.Overlay.Open(a.to, a.addrs)
	case holdAction:
		keep(l.holds, l.c.cfg.Overlay.Hold, a.peer, a.on)
	case needAction:
		keep(l.needs, l.c.cfg.Overlay.Need, a.peer, a.on)
	case lookupAction:
		l.c.lookups.add(a)
	case publishAction:
		l.c.publish(a.name, a.view)
	case registeredAction:
		l.c.registered(a)
	case expireAction:
		l.c.expire(a.name)
	}
}

// keep begins or ends what lasts until it is released.
func keep(releases map[peer.ID]func(), begin func(peer.ID) (release func()), p peer.ID, on bool) {
	if on {
		releases[p] = begin(p)
		return
	}
	releases[p]()
	delete(releases, p)
}

func (l *loop) send(a sendAction) {
	body, err := encode(a.msg)
	if err != nil {
		l.log.Error("control message can't be encoded", zap.Uint8("kind", uint8(a.msg.kind())), zap.Error(err))
		return
	}
	session, err := l.c.cfg.Overlay.Send(a.to, a.msg.kind(), body)
	switch {
	case err != nil:
		l.later = append(l.later, unsentEvent(a))
	case session != l.control.peers.session(a.to):
		l.later = append(l.later, sentEvent{a.to, a.msg, session})
	}
}

// end lets go of everything.
func (l *loop) end() {
	if l.timer != nil {
		l.timer.Stop()
	}
	for _, releases := range []map[peer.ID]func(){l.holds, l.needs} {
		for _, release := range releases {
			release()
		}
	}
}

// Bounds of what waits for the control loop. Beyond half of them a peer has no more than
// its own part, so that a few that send much leave room for those that send little. Only
// frames are bounded: links, lookups and local calls are few by nature, and losing one
// would matter.
const (
	maxInboxFrames  = 1 << 14
	maxInboxBytes   = 32 << 20
	maxInboxPerPeer = 1 << 12
	inboxParts      = 128 // of the other half
)

// queued is what waits of one peer, or of all.
type queued struct{ frames, bytes int }

// room says whether one more frame fits that is so large.
func (q queued) room(size, parts int) bool {
	return q.frames < maxInboxFrames/parts && q.bytes+size <= maxInboxBytes/parts
}

// inbox is the queue of the control loop. Frames beyond its bounds are dropped
// and counted; whoever waits for an answer asks again, and a gap in the deltas
// is noticed.
type inbox struct {
	wake  func() // called after a put into an empty inbox, without locks
	drops drop.Counts[dropReason]

	mu      sync.Mutex // guards what follows
	events  []event
	all     queued
	perPeer map[peer.ID]queued
	table   bool // a tableEvent waits: another one would say nothing new
	closed  bool
}

func newInbox(drops drop.Counts[dropReason], wake func()) *inbox {
	return &inbox{wake: wake, perPeer: make(map[peer.ID]queued), drops: drops}
}

// put adds an event. It reports false once the inbox is closed.
func (b *inbox) put(e event) bool {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false
	}
	if !b.admit(e) {
		b.mu.Unlock()
		return true
	}
	b.events = append(b.events, e)
	first := len(b.events) == 1
	b.mu.Unlock()
	if first {
		b.wake()
	}
	return true
}

// admit says whether e is added, and counts it. Under mu.
func (b *inbox) admit(e event) bool {
	switch e := e.(type) {
	case tableEvent:
		if b.table {
			return false
		}
		b.table = true
	case frameEvent:
		own := b.perPeer[e.from]
		if !b.all.room(e.size, 1) || own.frames >= maxInboxPerPeer ||
			!b.all.room(e.size, 2) && !own.room(e.size, 2*inboxParts) {
			b.drops.Inc(dropInboxFull)
			return false
		}
		b.all = queued{b.all.frames + 1, b.all.bytes + e.size}
		b.perPeer[e.from] = queued{own.frames + 1, own.bytes + e.size}
	}
	return true
}

// take returns everything that waits, in order.
func (b *inbox) take() []event {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events, b.all, b.table = nil, queued{}, false
	clear(b.perPeer)
	return events
}

func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.events = true, nil
}

const (
	lookupTime    = 500 * time.Millisecond // one hung peer must not delay what the others say …
	lookupTrips   = 4                      // … unless ways are so long that nobody could have answered
	lookupWorkers = 2
)

// lookups asks the network who is close to cluster ids, on goroutines of its
// own. The queue is bounded by the ids in use: each waits at most once.
type lookups struct {
	clock   overlay.Clock
	exec    overlay.Exec
	closest func(ctx context.Context, key overlay.Key, k int) ([]peer.ID, error)
	trip    func() (longest time.Duration, all bool) // Network.LongestTrip
	done    func(cid security.ClusterID, peers []peer.ID)
	rings   []chan struct{} // one for each worker, with room for one

	mu    sync.Mutex // guards what follows
	queue []lookupAction
	idle  []int // workers that wait for their ring
}

func newLookups(s overlay.Seam, closest func(context.Context, overlay.Key, int) ([]peer.ID, error),
	trip func() (time.Duration, bool), done func(security.ClusterID, []peer.ID),
) *lookups {
	l := &lookups{clock: s.Clock, exec: s.Exec, closest: closest, trip: trip, done: done}
	for i := range lookupWorkers {
		l.rings = append(l.rings, make(chan struct{}, 1))
		l.idle = append(l.idle, i)
	}
	return l
}

// add has the action's id looked up; done is called with the result.
func (l *lookups) add(a lookupAction) {
	l.mu.Lock()
	l.queue = append(l.queue, a)
	worker := -1
	if n := len(l.idle); n > 0 {
		worker = l.idle[n-1]
		l.idle = l.idle[:n-1]
	}
	l.mu.Unlock()
	if worker >= 0 {
		l.exec.Wake(overlay.ExecKey{Name: "cluster.lookup", N: uint64(worker)}, func() { l.rings[worker] <- struct{}{} })
	}
}

// run is one worker; it ends with ctx.
func (l *lookups) run(ctx context.Context, worker int) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.rings[worker]:
		}
		for {
			a, ok := l.take(worker)
			if !ok || ctx.Err() != nil {
				break
			}
			l.look(ctx, a)
		}
	}
}

// take returns the next id, or makes the worker idle.
func (l *lookups) take(worker int) (lookupAction, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.idle = append(l.idle, worker)
		return lookupAction{}, false
	}
	a := l.queue[0]
	l.queue = l.queue[1:]
	return a, true
}

func (l *lookups) look(ctx context.Context, a lookupAction) {
	trip, _ := l.trip()
	ctx, cancel := overlay.WithTimeout(ctx, l.clock, "cluster.lookup", overlay.Patience{Time: lookupTime, Trips: lookupTrips}.Over(trip))
	defer cancel()
	peers, _ := l.closest(ctx, overlay.Key(a.cid), a.count) // what was found until an error counts
	l.done(a.cid, peers)
}
