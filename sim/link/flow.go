// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package link

import "time"

// Flow is what one connection sends in one direction: it has an order of its
// own, and shares the bottleneck with the others. The zero value is one that
// has sent nothing.
type Flow struct {
	last time.Duration // the latest arrival
}

// Reset forgets what was sent: what follows need not arrive after it.
func (f *Flow) Reset() { f.last = 0 }

// fastAfter is how many packets must follow a lost one for its sender to
// notice before the RTO.
const fastAfter = 3

// Send is Stream for one of several connections that share the direction. It
// returns when the last byte arrives, later than everything that f sent
// before; or, if broken is set, when the sender gives up.
func (d *Direction) Send(f *Flow, now time.Duration, size int) (arrive time.Duration, broken bool) {
	overflow := d.model.Mbps > 0 && d.waiting(now)+size > d.model.Queue
	out := d.pass(now, size)
	late, broken := d.recover(size)
	if broken {
		return max(now+late, f.last+1), true
	}
	if overflow {
		late = max(late, d.model.RTT())
	}
	f.last = max(out+d.delay()+late, f.last+1)
	return f.last, false
}

// recover decides which packets of a delivery are lost, how often, and returns
// by how much that delays the last byte.
func (d *Direction) recover(size int) (late time.Duration, broken bool) {
	if d.model.Loss == 0 {
		return 0, false
	}
	for left := size; left > 0 || left == size; left -= PacketSize {
		// A packet before the last one has been on its way for longer.
		behind := max(0, left-PacketSize)
		wait, broken := d.retry(behind)
		if broken {
			return wait, true
		}
		late = max(late, wait-d.model.Transmit(behind))
	}
	return late, false
}

// retry sends one packet until it is not lost, with so many bytes of the same
// delivery behind it, and returns how long that takes.
func (d *Direction) retry(behind int) (wait time.Duration, broken bool) {
	rto := d.model.RTO()
	for first := true; d.lose(); first = false {
		if first && behind > (fastAfter-1)*PacketSize {
			wait += d.model.RTT()
		} else {
			wait += rto
			rto *= 2
		}
		if wait > Patience {
			return Patience, true
		}
		d.free += d.model.Transmit(PacketSize) // it passes the bottleneck again
	}
	return wait, false
}
