// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
)

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
	f.waiters.all = append(f.waiters.all, w)
	return w
}

// waiters is those of one owner, whose lock guards it.
type waiters struct{ all []*waiter }

// away takes out who has waited.
func (ws *waiters) away(w *waiter) {
	w.wake()
	ws.all = slices.DeleteFunc(ws.all, func(o *waiter) bool { return o == w })
}

// of returns who waits for p.
func (ws *waiters) of(p peer.ID) (out []*waiter) {
	for _, w := range ws.all {
		if w.peer == p {
			out = append(out, w)
		}
	}
	return out
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

// race is a goroutine that publishes, and waits for the first of several links.
type race struct {
	waiters []*waiter
	over    chan struct{} // closed when one is first

	mu    sync.Mutex
	ended bool   // guarded by mu; who comes now is not needed
	done  func() // guarded by mu; of the first one
}

// run returns when one of the links may have room, or ctx ends, as waiter.wait
// does. Each is waited for on a worker; if there is but one, or no worker is free,
// the first one here.
func (r *race) run(ctx context.Context, b *base) (done func(), err error) {
	if len(r.waiters) == 1 {
		return r.waiters[0].wait(ctx, b)
	}
	r.over = make(chan struct{})
	started := false
	for _, w := range r.waiters {
		if b.work(overlay.ExecKey{Name: "pubsub.race", N: w.id}, func() { r.await(ctx, b, w) }) {
			started = true
		}
	}
	if !started {
		return r.waiters[0].wait(ctx, b)
	}
	select {
	case <-r.over:
	case <-ctx.Done():
		err = ctx.Err()
	case <-b.ctx.Done():
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
func (r *race) await(ctx context.Context, b *base, w *waiter) {
	done, err := w.wait(ctx, b)
	r.mu.Lock()
	first := err == nil && !r.ended && r.done == nil
	if first {
		r.done = done
	}
	r.mu.Unlock()
	switch {
	case first:
		b.cfg.Exec.Wake(overlay.ExecKey{Name: "pubsub.room", N: w.id}, func() { close(r.over) })
	case err == nil:
		done()
	}
}
