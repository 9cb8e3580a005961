// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"context"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// waiter is a publisher that waits for room.
type waiter struct {
	p     *patterns.Publication
	size  int
	key   uint64        // in the order of arrival
	ready chan struct{} // closed when it need not wait any more

	// Guarded by the inbox's mu.
	done       bool // in the backlog, or refused
	err        error
	prev, next *waiter
}

// waiters is who waits for room, first come, first served. Each is a goroutine
// of a program that publishes.
type waiters struct {
	first, last *waiter
	arrived     uint64
}

func (s *waiters) push(w *waiter) {
	s.arrived++
	if w.prev = s.last; s.last == nil {
		s.first = w
	} else {
		s.last.next = w
	}
	s.last = w
}

func (s *waiters) remove(w *waiter) {
	if w.prev == nil {
		s.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		s.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
}

// admit puts into the backlog what fits now, and returns whose it was.
func (s *waiters) admit(b *backlog) (admitted []*waiter) {
	for w := s.first; w != nil; w = s.first {
		if ok, _ := b.room(w.size); !ok {
			break
		}
		s.remove(w)
		b.push(w.p, w.size)
		w.done = true
		admitted = append(admitted, w)
	}
	return admitted
}

// refuse ends the waiting of all.
func (s *waiters) refuse(err error) (refused []*waiter) {
	for w := s.first; w != nil; w = s.first {
		s.remove(w)
		w.done, w.err = true, err
		refused = append(refused, w)
	}
	return refused
}

// wake has publishers go on.
func (b *Inbox) wake(ws []*waiter) {
	for _, w := range ws {
		b.set.exec.Wake(overlay.ExecKey{Name: "inbox.admit", N: b.key}, func() { close(w.ready) })
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
	return !ok || b.waiting.first != nil
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
		b.takeAndUnlock(p, size)
		return nil
	}
	w := &waiter{p: p, size: size, key: b.key<<12 | b.waiting.arrived&0xfff, ready: make(chan struct{})}
	b.waiting.push(w)
	b.mu.Unlock()
	select {
	case <-w.ready:
		return w.err
	case <-ctx.Done():
		return b.giveUp(ctx, w)
	}
}

// giveUp ends a publisher's waiting, unless it is over already.
func (b *Inbox) giveUp(ctx context.Context, w *waiter) error {
	b.set.order.Take("inbox.giveup", w.key)
	b.mu.Lock()
	if w.done {
		b.mu.Unlock()
		return w.err
	}
	b.waiting.remove(w)
	b.backlog.miss(w.p)
	admitted := b.waiting.admit(&b.backlog) // smaller ones behind it
	start := b.startLocked()
	b.mu.Unlock()
	b.wake(admitted)
	b.set.drops.Inc(dropCancelled)
	if start {
		b.set.start(b, false)
	}
	return ctx.Err()
}
