// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"context"

	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/internal/waitline"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// waiter is a publisher that waits for room. Each is a goroutine of a program.
type waiter struct {
	waitline.Place
	p     *patterns.Publication
	key   uint64        // in the order of arrival
	ready chan struct{} // closed when it need not wait any more
}

// waiting is who waits for room. The lock of the inbox guards it.
type waiting struct {
	line    waitline.Line
	arrived uint64
	do      after.List // wakes those whose wait is over
}

// any says whether somebody waits.
func (w *waiting) any() bool { return w != nil && !w.line.Passable() }

// over takes out what wakes those whose wait is over.
func (w *waiting) over() (do after.List) {
	if w != nil {
		do = w.do.Take()
	}
	return do
}

// joinLocked has a publisher wait.
func (b *Inbox) joinLocked(p *patterns.Publication, size int) *waiter {
	if b.waiting == nil {
		b.waiting = new(waiting)
	}
	w := &waiter{p: p, key: b.key<<12 | b.waiting.arrived&0xfff, ready: make(chan struct{})}
	b.waiting.arrived++
	end := func() { close(w.ready) }
	w.Place = waitline.Place{
		Size: size, Granted: func() { b.backlog.push(p, size) },
		Wake: func() { b.set.exec.Wake(overlay.ExecKey{Name: "inbox.admit", N: b.key}, end) },
	}
	b.waiting.line.Join(&w.Place)
	return w
}

// admitLocked puts into the backlog what fits now.
func (b *Inbox) admitLocked() {
	if !b.waiting.any() {
		return
	}
	fits := func(size int) bool { ok, _ := b.backlog.room(size); return ok }
	for p := b.waiting.line.Next(fits); p != nil; p = b.waiting.line.Next(fits) {
		p.Granted()
		b.waiting.do.Add(p.Wake)
	}
}

// refuseLocked ends the waiting of all: their messages are not taken.
func (b *Inbox) refuseLocked() {
	if !b.waiting.any() {
		return
	}
	for _, p := range b.waiting.line.Clear() {
		b.waiting.do.Add(p.Wake)
		b.set.drops.Inc(dropLate)
	}
}

// Blocks says whether PutWait would have to wait for room for p now.
func (b *Inbox) Blocks(p *patterns.Publication) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.closing && b.blocksLocked(sizeOf(p))
}

func (b *Inbox) blocksLocked(size int) bool {
	if b.backlog.limits.overflow != patterns.OverflowBlock {
		return false
	}
	ok, _ := b.backlog.room(size)
	return !ok || b.waiting.any()
}

// PutWait is Put for publishers on this node: under OverflowBlock it waits for
// room. If ctx ends before, the message is dropped and leaves a gap, and ctx's
// error is returned; if the inbox is closed, patterns.ErrClosed.
func (b *Inbox) PutWait(ctx context.Context, p *patterns.Publication) error {
	size := sizeOf(p)
	b.mu.Lock()
	switch {
	case b.closing:
		b.mu.Unlock()
		b.set.drops.Inc(dropLate)
		return patterns.ErrClosed
	case !b.blocksLocked(size):
		b.takeLocked(p, size)
		b.unlock()
		return nil
	}
	w := b.joinLocked(p, size)
	b.mu.Unlock()
	select {
	case <-w.ready:
		return w.outcome()
	case <-ctx.Done():
		return b.giveUp(ctx, w)
	}
}

// outcome is that of a wait that is over: the message is in the backlog, or the inbox
// is closed.
func (w *waiter) outcome() error {
	if w.HasTurn() {
		return nil
	}
	return patterns.ErrClosed
}

// giveUp ends a publisher's waiting, unless it is over already.
func (b *Inbox) giveUp(ctx context.Context, w *waiter) error {
	b.set.order.Take("inbox.giveup", w.key)
	b.mu.Lock()
	if w.HasTurn() || b.closing {
		b.mu.Unlock()
		return w.outcome()
	}
	b.waiting.line.Leave(&w.Place)
	b.backlog.miss(w.p)
	b.admitLocked() // smaller ones behind it
	b.set.drops.Inc(dropCancelled)
	b.unlock()
	return ctx.Err()
}
