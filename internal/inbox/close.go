// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import "context"

// Close takes nothing new, refuses publishers that wait, and returns when all
// that waited is delivered. If ctx ends before, what waits still is given up,
// and counted as missed; the subscriber that has a message then is not waited
// for, and ctx's error is returned. It is idempotent.
func (b *Inbox) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closing = true
	b.refuseLocked()
	if !b.busy && b.backlog.empty() {
		b.unlock()
		return nil
	}
	if b.idle == nil {
		b.idle = make(chan struct{})
	}
	idle := b.idle
	b.unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return b.giveOver(ctx)
	}
}

// giveOver drops what Close can't wait for any more.
func (b *Inbox) giveOver(ctx context.Context) error {
	b.set.order.Take("inbox.giveover", b.key)
	b.mu.Lock()
	over := !b.busy && b.backlog.empty()
	n := b.backlog.abandon()
	b.settleLocked()
	b.mu.Unlock()
	if n > 0 {
		b.set.drops.Add(dropClosed, n)
	}
	if over {
		return nil
	}
	return ctx.Err()
}
