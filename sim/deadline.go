// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import "time"

// deadline is when a stream's Read or Write stops waiting. Only while
// somebody waits does it have an event in the queue. Guarded by Network.mu.
type deadline struct {
	s       *stream
	kind    kind   // kindReader or kindWriter
	at      int64  // 0 = none
	blocked bool   // a call waits
	event   *event // nil = none queued
}

// set changes the deadline, also for calls that block already.
func (d *deadline) set(t time.Time) {
	d.at = 0
	if !t.IsZero() {
		// Never 0: that would mean none.
		d.at = max(1, d.s.c.ends[d.s.end].clock.instant(t))
	}
	d.disarm()
	if d.blocked {
		d.arm()
	}
}

// over reports whether the deadline has passed.
func (d *deadline) over() bool { return d.at != 0 && d.s.c.n.now() >= d.at }

// hold notes that a call blocks from now on.
func (d *deadline) hold() {
	if !d.blocked {
		d.blocked = true
		d.s.c.n.blocked[d] = struct{}{}
		d.arm()
	}
}

// release notes that it returned.
func (d *deadline) release() {
	if d.blocked {
		d.blocked = false
		delete(d.s.c.n.blocked, d)
		d.disarm()
	}
}

func (d *deadline) arm() {
	if d.at == 0 || d.event != nil {
		return
	}
	n := d.s.c.n
	d.event = n.push(&event{
		at: max(d.at, n.now()), key: d.s.c.key(d.kind, d.s.end, d.s.id),
		apply: d.fire,
	})
}

func (d *deadline) fire() {
	n := d.s.c.n
	n.mu.Lock()
	defer n.mu.Unlock()
	d.event = nil
	d.broadcast()
}

func (d *deadline) disarm() {
	if d.event != nil {
		d.s.c.n.cancel(d.event)
		d.event = nil
	}
}

// broadcast has the blocked call look again.
func (d *deadline) broadcast() {
	if d.kind == kindReader {
		d.s.readable.Broadcast()
	} else {
		d.s.writable.Broadcast()
	}
}
