// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
)

// upward is the way of what this node publishes to one forwarder of the root
// group, which passes it on to all nodes with patterns that begin with a
// wildcard. So no publisher has to know them.
type upward struct {
	watch Watch

	mu      sync.Mutex
	spread            // guarded by mu
	to      *receiver // guarded by mu; nil = nobody
	run     uint16    // guarded by mu
	ready   bool      // guarded by mu
	avoid   peer.ID   // guarded by mu; was lost
	lostAt  int64     // guarded by mu; when the last one was lost
	without uint64    // guarded by mu; messages that may be missing since
	since   int64     // guarded by mu; when old and young changed places last
	old     uint64    // guarded by mu; messages of the time before
	young   uint64    // guarded by mu; messages since

	last int64 // guarded by Engine.mu
}

// upwards returns the way, made if there is none.
func (e *Engine) upwards() *upward {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.upward == nil && !e.closed {
		e.upward = &upward{watch: e.cfg.Directory.Watch(clusterOf(rootForwards))}
		e.upward.spread = spread{e: e, source: e.self, session: e.random.Uint64(), group: rootForwards, root: true, lock: &e.upward.mu}
	}
	if e.upward != nil {
		e.upward.last = e.now()
	}
	return e.upward
}

func (u *upward) isReady() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ready
}

func (u *upward) await(ctx context.Context) error {
	if u.isReady() {
		return nil
	}
	if err := u.e.awaitView(ctx, u.watch); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ready = true
	return nil
}

// choose keeps the forwarder as long as it is one. mu is held.
func (u *upward) choose() *receiver {
	v := u.watch.View()
	if u.to != nil && (!v.Known || u.to.pipe(u.e).brokeWithin(recentTime) && !u.again(v)) { // leaveUpward says when it is lost
		return u.to
	}
	var best *receiver
	for _, m := range v.Members {
		if u.to != nil && m.Peer == u.to.peer && m.Incarnation == u.to.incarnation {
			return u.to
		}
		r := &receiver{peer: m.Peer, hash: hashNode(string(m.Peer)) * (u.e.hash | 1), addrs: m.Addrs, incarnation: m.Incarnation}
		if m.Peer == u.e.self {
			r.hash = 0 // the shortest way
		}
		if best == nil || best.peer == u.avoid || r.hash < best.hash && r.peer != u.avoid {
			best = r
		}
	}
	u.change(best)
	return u.to
}

// again says whether the forwarder was started anew: what its earlier life had
// is lost.
func (u *upward) again(v *cluster.View) bool {
	return slices.ContainsFunc(v.Members, func(m *cluster.Member) bool {
		return m.Peer == u.to.peer && m.Incarnation != u.to.incarnation
	})
}

// change takes another forwarder. It is told how much the one before may not
// have passed on: what it got of late, or may still get, which will be late.
func (u *upward) change(to *receiver) {
	if u.to != nil {
		u.avoid, u.without = u.to.peer, max(u.lately(), u.to.pipe(u.e).unconfirmed())
		u.old, u.young, u.lostAt = 0, 0, u.e.now()
	}
	u.to = to
	if to != nil {
		u.run++
		to.run, to.number = u.run, u.recent()
		u.without = 0
	}
}

// recent counts what may be missing since the last forwarder was lost. After a
// while it is more likely that nobody listens.
func (u *upward) recent() uint64 {
	if u.e.now()-u.lostAt > int64(electionTime) {
		return 0
	}
	return u.without
}

// lately counts the messages of the last second or two.
func (u *upward) lately() uint64 {
	u.age()
	return u.old + u.young
}

// age forgets the messages that are not of late any more, unless the link was
// lost since: they may not have arrived.
func (u *upward) age() {
	now := u.e.now()
	if now-u.since <= int64(recentTime) || u.to != nil && u.to.pipe(u.e).brokeWithin(keepTime) {
		return
	}
	if now-u.since > 2*int64(recentTime) {
		u.young = 0
	}
	u.old, u.young, u.since = u.young, 0, now
}

// put sends one copy, and returns where it had no room.
func (u *upward) put(p *publication) *receiver {
	u.mu.Lock()
	defer u.mu.Unlock()
	r := u.choose()
	if r == nil {
		u.without = u.recent() + 1
		return nil
	}
	o := outgoing{topic: p.topic, rank: rank{u.e.cfg.Incarnation, u.e.ranks.Load() + 1}}
	u.prepare(&o, p.what)
	if p.out.patient && r.pipe(u.e).doubtful() || u.direct(r, o.near) == full {
		return r
	}
	u.e.ranks.Add(1)
	u.age()
	u.young++
	return nil
}

// send waits for room.
func (u *upward) send(ctx context.Context, p *publication) error {
	done := func() {}
	for {
		r := u.put(p)
		done()
		if r == nil {
			return nil
		}
		var err error
		if done, err = u.e.pipe(r.peer).waitRoom(ctx, headRoom+len(p.what.body)); err != nil {
			u.giveUp()
			return err
		}
	}
}

func (u *upward) giveUp() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.to != nil {
		u.to.number++
		u.owe(u.to)
	}
	u.e.drops.Inc(dropLane)
}

func (u *upward) wouldBlock(size int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.ready {
		return true
	}
	r := u.choose()
	return r != nil && (r.pipe(u.e).doubtful() || !r.pipe(u.e).hasRoom(size))
}

// leaveUpward takes another forwarder if that one is lost, and tells it what
// may be missing.
func (e *Engine) leaveUpward(p peer.ID) {
	e.mu.Lock()
	u := e.upward
	e.mu.Unlock()
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.to == nil || u.to.peer != p {
		return
	}
	u.change(nil)
	if r := u.choose(); r != nil {
		u.mark(r)
	}
}
