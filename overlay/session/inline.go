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

// inlineAfterPub is inlineAfter for publications. Who publishes to several nodes comes
// back to each of them when it has written to all others, long after inlineAfter: it
// would make a system call, and wake a reader, for each message and node. The writers
// gather instead, if messages follow each other.
const inlineAfterPub = time.Millisecond

// writer is what senders have to know about the writer of the connection.
type writer struct {
	idle   bool        // it waits for a kick
	held   bool        // nobody need kick it: a round's end does
	direct *attachment // where a sender may write by itself; nil = nowhere
	inline bool        // one does; the writer must not …
	again  bool        // … and wanted to
	loaded bool        // what it was to write is left to the writer
	wrote  time.Time   // when something was written last, where direct is set
	pace   pace
}

// write has what is queued written, by the caller if nothing was written for quiet and the
// writer is idle. It releases b.mu.
func write(b *outbox, quiet time.Duration) {
	kicked := b.kicked()
	if a := b.writer.direct; kicked && a != nil && a.mayWrite(quiet) {
		b.mu.Unlock()
		a.writeInline()
		return
	}
	b.mu.Unlock()
	if kicked {
		b.stir()
	}
}

// mayWrite says whether the caller, who has the writer's turn, is to write what is
// queued. If so it is the writer until it has called writeInline. outbox.mu is held.
func (a *attachment) mayWrite(quiet time.Duration) bool {
	b := a.s.out
	if b.farewell != nil || b.log.empty() || quiet > 0 && b.cfg.Clock.Now().Sub(b.writer.wrote) < quiet {
		return false
	}
	b.writer.inline = true
	a.load()
	return true
}

// noteWrite notes that something was written. outbox.mu is held.
func (a *attachment) noteWrite() {
	if a.conn.own != nil {
		a.s.out.writer.wrote = a.s.cfg.Clock.Now()
	}
}

// writeInline writes what was loaded, if the connection takes it without waiting:
// what it does not take at once it writes by itself. Else the writer does.
func (a *attachment) writeInline() {
	a.gather()
	n, err := a.conn.own.TryWrite(a.size, a.parts...)
	ok := err == nil && n == a.size
	a.sent(ok)
	if err != nil {
		a.fail(fmt.Errorf("%w: write: %w", ErrLost, err), CodeBroken)
	}
	b := a.s.out
	var do after.List
	b.mu.Lock()
	w := &b.writer
	w.inline = false
	a.ahead = n
	if ok {
		a.ahead = 0
		b.log.wrote()
		b.grant(&do)
		clear(a.spans)
		a.spans, a.head = a.spans[:0], a.head[:0]
		a.noteWrite()
	}
	w.loaded = !ok
	more := w.loaded || w.again || b.over || !b.log.empty() || len(b.aside) > 0 || b.ack.due || b.farewell != nil
	w.idle, w.again = !more, false
	b.mu.Unlock()
	do.Run()
	if more {
		b.stir()
	}
}
