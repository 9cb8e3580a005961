// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"time"

	"github.com/arke-mesh/arke/internal/after"
)

// inlineAfter is for how long nothing must have been written for a sender to write
// its message itself. It saves the wake-up of the writer where messages are few. Who
// sends more than that is better off with a writer beside it: then a batch is written
// while the next one gathers.
const inlineAfter = 3 * time.Microsecond

// mayWrite says whether the caller, who has just queued something while the writer
// is idle, is to write it. If so it is the writer until it has called writeInline. mu
// is held.
func (b *outbox) mayWrite() bool {
	if b.direct == nil || b.farewell != nil || b.cfg.Clock.Now().Sub(b.wrote) < inlineAfter {
		return false
	}
	b.inline = true
	b.load(b.direct)
	return true
}

// noteWrite notes that something was written. mu is held.
func (b *outbox) noteWrite(a *attachment) {
	if a.conn.own != nil {
		b.wrote = b.cfg.Clock.Now()
	}
}

// writeInline writes what was loaded, if the connection takes it without waiting:
// what it does not take at once it writes by itself. Else the writer does. mu is not
// held.
func (b *outbox) writeInline(a *attachment) {
	ok, err := a.conn.own.TryWrite(a.gather(), a.parts...)
	a.sent(ok && err == nil)
	if err != nil {
		a.fail(fmt.Errorf("%w: write: %w", ErrLost, err), CodeBroken)
	}
	var do after.List
	b.mu.Lock()
	b.inline = false
	if ok {
		b.log.wrote()
		b.grant(&do)
		clear(a.spans)
		a.spans, a.head = a.spans[:0], a.head[:0]
		b.noteWrite(a)
	}
	b.loaded = !ok
	more := b.loaded || b.again || b.over || !b.log.empty() || len(b.aside) > 0 || b.ack.due || b.farewell != nil
	b.idle, b.again = !more, false
	b.mu.Unlock()
	do.Run()
	if more {
		b.stir()
	}
}
