// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package link

import "time"

// Flow is what one connection sends in one direction: it has an order of its
// own, and shares the bottleneck with the others. The zero value is one that
// has sent nothing.
type Flow struct {
	last    time.Duration // the latest arrival
	sent    time.Duration // when something was sent last
	gap     time.Duration // between two deliveries, of late; 0 = not known
	crowded bool          // the one before was still under way
	missing time.Duration // when what was lost last arrives; 0 = it was followed
	steady  bool          // what follows does not wait until what was lost has arrived

	// After a timeout nothing new is sent until the lost packet is acknowledged.
	from, until time.Duration
	queued      int // bytes of the packet that is filled meanwhile
	changes     int // of the direction, when that packet was begun
}

// Reset forgets what was sent: what follows need not arrive after it.
func (f *Flow) Reset() { f.last, f.missing, f.from, f.until, f.queued = 0, 0, 0, 0, 0 }

// Resume says when a sender whose packet was lost at that time, as were all
// its retransmissions until the link was mended, sends it again: the waits go
// on, whether the link works or not.
func (f *Flow) Resume(m Model, lost, mended time.Duration) time.Duration {
	at, equal := lost, equalWaits(f.thin(m), probes)
	for waits := 0; at < mended; waits++ {
		at += backOff(m.RTO(), waits, equal)
	}
	return at
}

// note learns how often something is sent.
func (f *Flow) note(now time.Duration, rtt time.Duration) {
	since := now - f.sent
	switch {
	case f.last == 0 && f.sent == 0: // the first
	case f.gap == 0:
		f.gap = max(since, 1)
	default:
		f.gap = max(f.gap+(since-f.gap)/4, 1)
	}
	f.crowded = f.last > 0 && since < rtt
	if f.missing > 0 {
		f.steady, f.missing = now < f.missing, 0
	}
	f.sent = now
}

// thin says whether few packets are under way when a timeout has passed.
func (f *Flow) thin(m Model) bool { return f.gap == 0 || f.gap*thinBelow > m.RTO() }

// fastAfter is how many packets must follow a lost one for its sender to
// notice at once.
const fastAfter = 3

// Send sends so many bytes of f, a reliable stream: one of the connections that
// share the direction. It returns when the last byte arrives, later than everything
// that f sent before; or, if broken is set, when the sender gives up.
func (d *Direction) Send(f *Flow, now time.Duration, size int) (arrive time.Duration, broken bool) {
	f.note(now, d.model.RTT())
	if f.waits(now) {
		if f.fill(size, d.changes) {
			f.last++
			return f.last, false
		}
		now = f.until
	}
	overflow := d.model.Bounded() && d.waiting(now)+size > d.model.Queue
	out := d.pass(now, size)
	p, broken := d.recover(f, size)
	if broken {
		return max(now+p.late, f.last+1), true
	}
	if overflow {
		p.late = max(p.late, d.model.RTT())
	}
	if p.quiet > 0 {
		f.from, f.until = out+p.quiet, out+p.acked+d.model.RTT()
	}
	f.last = max(out+d.delay()+p.late, f.last+1)
	if p.late > 0 {
		f.missing = f.last
	}
	return f.last, false
}

// waits says whether the sender sends nothing new.
func (f *Flow) waits(now time.Duration) bool { return f.from <= now && now < f.until }

// fill says whether so many bytes leave in the same packet as others that wait,
// and meet the same link.
func (f *Flow) fill(size, changes int) bool {
	fits := f.queued > 0 && f.queued+size <= PacketSize && f.changes == changes
	f.changes = changes
	if !fits {
		f.queued = 0
	}
	f.queued += size
	return fits
}

// passage is what losses do to a delivery, in time after it has passed the
// bottleneck.
type passage struct {
	late  time.Duration // of its last byte
	quiet time.Duration // when the sender stops sending anything new; 0 = never
	acked time.Duration // when it goes on, less a round trip
}

// recover decides which packets of a delivery are lost, and how often.
func (d *Direction) recover(f *Flow, size int) (p passage, broken bool) {
	if d.model.Loss == 0 {
		return p, false
	}
	for left := size; left > 0 || left == size; left -= PacketSize {
		// A packet before the last one has been on its way for longer.
		behind := max(0, left-PacketSize)
		earlier := d.model.Transmit(behind)
		r := recovery{d: d, f: f, behind: behind}
		late, acked, broken := r.run()
		if broken {
			return passage{late: late}, true
		}
		p.late = max(p.late, late-earlier)
		p.acked = max(p.acked, acked-earlier)
		if r.quiet > 0 && (p.quiet == 0 || r.quiet < p.quiet) {
			p.quiet = r.quiet
		}
	}
	return p, false
}
