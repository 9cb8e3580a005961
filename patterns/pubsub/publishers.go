// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// publishers is what this node publishes, by group.
type publishers struct {
	*base

	mu     sync.Mutex
	all    map[string]*publisher // guarded by mu
	uplink *uplink               // guarded by mu; nil = nothing is published
	closed bool                  // guarded by mu
}

func newPublishers(b *base) *publishers {
	return &publishers{base: b, all: make(map[string]*publisher)}
}

// use returns the publisher of a group, or nil if the engine is closed. done it
// afterwards.
func (t *publishers) use(group string, root bool) *publisher {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	p := t.all[group]
	if p == nil {
		p = newPublisher(t.base, group, root)
		t.all[group] = p
	}
	p.users++
	return p
}

func (t *publishers) done(p *publisher) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.users--
	p.last = t.now()
}

// find returns the publisher of a group, or nil if there is none.
func (t *publishers) find(group string) *publisher {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[group]
}

// toRoot returns the way to the root group, or nil if the engine is closed.
func (t *publishers) toRoot() *uplink {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.uplink == nil && !t.closed {
		t.uplink = newUplink(t.base)
	}
	if t.uplink != nil {
		t.uplink.last = t.now()
	}
	return t.uplink
}

// each returns the publishers in a fixed order.
func (t *publishers) each() []*publisher {
	t.mu.Lock()
	defer t.mu.Unlock()
	return sorted(t.all, func(p *publisher) string { return p.name })
}

func (t *publishers) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all)
}

// event takes in what happened to a link.
func (t *publishers) event(ev overlay.PeerEvent) {
	for _, p := range t.each() {
		p.event(ev)
	}
	t.mu.Lock()
	u := t.uplink
	t.mu.Unlock()
	if u != nil {
		u.event(ev)
	}
}

// pathLost makes another path, and says whether it is of a session of this node.
func (t *publishers) pathLost(m *wire.PathLost) bool {
	for _, p := range t.each() {
		if p.pathLost(m) {
			return true
		}
	}
	return false
}

// sweep lets go of the groups in which nothing was published for long, and says
// how many are left.
func (t *publishers) sweep(now int64) (count int) {
	for _, p := range t.each() {
		owing := p.tidy()
		t.mu.Lock()
		idle := now - p.last
		over := p.users == 0 && (idle > int64(ghostTime) || idle > int64(idleTime) && !owing)
		if over {
			delete(t.all, p.name)
		}
		t.mu.Unlock()
		if over {
			p.end()
		}
	}
	t.mu.Lock()
	u := t.uplink
	over := u != nil && now-u.last > int64(idleTime)
	if over {
		t.uplink = nil
	}
	count = len(t.all)
	if t.uplink != nil {
		count++
	}
	t.mu.Unlock()
	if over {
		u.end()
	}
	return count
}

// end lets go of everything.
func (t *publishers) end() {
	t.mu.Lock()
	all, u := t.all, t.uplink
	t.all, t.uplink, t.closed = nil, nil, true
	t.mu.Unlock()
	for _, p := range all {
		p.end()
	}
	if u != nil {
		u.end()
	}
}

// listeners is the view of those who listen, and whether it was waited for.
type listeners struct {
	watch Watch
	ready atomic.Bool
}

// await waits until the view can be believed, and a moment for it to be complete.
func (l *listeners) await(ctx context.Context, b *base) error {
	if l.ready.Load() {
		return nil
	}
	_, err := l.watch.Wait(ctx, false)
	switch {
	case err == nil || errors.Is(err, cluster.ErrNoMembers):
	case errors.Is(err, cluster.ErrUnreachable):
		return patterns.ErrUnreachable
	case errors.Is(err, cluster.ErrClosed):
		return patterns.ErrClosed
	default:
		return &patterns.DeadlineError{Cause: err}
	}
	const pause = completeTime / 20
	for waited := pause; !l.watch.View().Complete && waited <= completeTime; waited += pause {
		if !overlay.Sleep(ctx, b.cfg.Clock, "pubsub.sleep", pause) {
			break
		}
	}
	l.ready.Store(true)
	return nil
}

// waiter is a goroutine that publishes, and waits for a link: for room in its
// lane, or for what happens to it next.
type waiter struct {
	id     uint64
	peer   peer.ID
	link   Link
	inLane bool // its lane has no room; else there is no session
	size   int
	ctx    context.Context //nolint:containedctx // ends with the wait
	wake   context.CancelFunc
}

// stand notes that somebody waits for the way to r. The owner's lock is held.
func (f *fanout) stand(ctx context.Context, r *receiver, size int) *waiter {
	h := f.hop(r)
	w := &waiter{id: f.ids.Add(1), peer: r.peer, link: h.link, inLane: h.waiting.Len() == 0 && h.link.Session() != 0, size: size}
	w.ctx, w.wake = context.WithCancel(ctx)
	f.waiters = append(f.waiters, w)
	return w
}

// away takes out who has waited. The owner's lock is held.
func (f *fanout) away(w *waiter) {
	w.wake()
	f.waiters = slices.DeleteFunc(f.waiters, func(o *waiter) bool { return o == w })
}

// waitingFor returns who waits for p. The owner's lock is held.
func (f *fanout) waitingFor(p peer.ID) (ws []*waiter) {
	for _, w := range f.waiters {
		if w.peer == p {
			ws = append(ws, w)
		}
	}
	return ws
}

// wake has those who wait look again.
func (b *base) wake(ws []*waiter) {
	for _, w := range ws {
		b.cfg.Exec.Wake(overlay.ExecKey{Name: "pubsub.room", N: w.id}, w.wake)
	}
}

// wait returns when there may be room, or ctx ends. Others who wait for the lane
// come next when the caller calls done.
func (w *waiter) wait(ctx context.Context, b *base) (done func(), err error) {
	done = func() {}
	switch {
	case w.link.Suspect(): // nobody waits for it
	case w.inLane:
		if d, err := w.link.WaitRoom(w.ctx, overlay.LanePub, w.size); err == nil { // else the next send sees why
			done = d
		}
	default:
		select {
		case <-w.ctx.Done():
		case <-b.ctx.Done():
		}
	}
	if err = ctx.Err(); b.ctx.Err() != nil {
		err = overlay.ErrClosed
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}
