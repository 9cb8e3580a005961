// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"context"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// Waiter is a goroutine that publishes, and waits for a link: for room in its
// lane, or for what happens to it next.
type Waiter struct {
	id     uint64
	peer   peer.ID
	link   env.Link
	inLane bool // its lane has no room; else there is no session
	size   int
	ctx    context.Context //nolint:containedctx // ends with the wait
	wake   context.CancelFunc
}

// Stand notes that somebody waits for the way to r. The owner's lock is held.
func (f *Fanout) Stand(ctx context.Context, r *Receiver, size int) *Waiter {
	h := f.Hop(r)
	w := &Waiter{id: f.IDs.Add(1), peer: r.Peer, link: h.Link, inLane: h.Waiting.Len() == 0 && h.Link.Session() != 0, size: size}
	w.ctx, w.wake = context.WithCancel(ctx)
	f.Waiters.all = append(f.Waiters.all, w)
	return w
}

// Waiters is those of one owner, whose lock guards it.
type Waiters struct{ all []*Waiter }

// Away takes out who has waited.
func (ws *Waiters) Away(w *Waiter) {
	w.wake()
	ws.all = slices.DeleteFunc(ws.all, func(o *Waiter) bool { return o == w })
}

// Of returns who waits for p.
func (ws *Waiters) Of(p peer.ID) (out []*Waiter) {
	for _, w := range ws.all {
		if w.peer == p {
			out = append(out, w)
		}
	}
	return out
}

// Wake has those who wait look again.
func Wake(b *env.Base, ws []*Waiter) {
	for _, w := range ws {
		b.Cfg.Exec.Wake(overlay.ExecKey{Name: "pubsub.room", N: w.id}, w.wake)
	}
}

// Wait returns when there may be room, or ctx ends. Others who wait for the lane
// come next when the caller calls done.
func (w *Waiter) Wait(ctx context.Context, b *env.Base) (done func(), err error) {
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
		case <-b.Ctx.Done():
		}
	}
	if err = ctx.Err(); b.Ctx.Err() != nil {
		err = overlay.ErrClosed
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// Race is a goroutine that publishes, and waits for the first of several links.
type Race struct {
	Waiters []*Waiter
	over    chan struct{} // closed when one is first

	mu    sync.Mutex
	ended bool   // guarded by mu; who comes now is not needed
	done  func() // guarded by mu; of the first one
}

// Run returns when one of the links may have room, or ctx ends, as waiter.wait
// does. Each is waited for on a worker; if there is but one, or no worker is free,
// the first one here.
func (r *Race) Run(ctx context.Context, b *env.Base) (done func(), err error) {
	if len(r.Waiters) == 1 {
		return r.Waiters[0].Wait(ctx, b)
	}
	r.over = make(chan struct{})
	started := false
	for _, w := range r.Waiters {
		if b.Work(overlay.ExecKey{Name: "pubsub.race", N: w.id}, func() { r.await(ctx, b, w) }) {
			started = true
		}
	}
	if !started {
		return r.Waiters[0].Wait(ctx, b)
	}
	select {
	case <-r.over:
	case <-ctx.Done():
		err = ctx.Err()
	case <-b.Ctx.Done():
		err = overlay.ErrClosed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.done != nil {
		return r.done, nil
	}
	return nil, err
}

// await waits for one of the links.
func (r *Race) await(ctx context.Context, b *env.Base, w *Waiter) {
	done, err := w.Wait(ctx, b)
	r.mu.Lock()
	first := err == nil && !r.ended && r.done == nil
	if first {
		r.done = done
	}
	r.mu.Unlock()
	switch {
	case first:
		b.Cfg.Exec.Wake(overlay.ExecKey{Name: "pubsub.room", N: w.id}, func() { close(r.over) })
	case err == nil:
		done()
	}
}
