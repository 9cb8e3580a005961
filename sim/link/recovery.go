// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package link

import "time"

const (
	// probes is how many waits for an acknowledgement are as long as the first
	// one: a tail loss probe does not count as a timeout (RFC 8985, 7.3).
	probes = 2

	// thinWaits is how many more are if few packets are under way: package p2p
	// asks the kernel for that.
	thinWaits = 6

	// thinBelow is how many packets under way are not few.
	thinBelow = 4

	// probeSlack is added to the two round trips after which a probe is sent if
	// more than one packet is under way: two ticks of a kernel with 250 Hz.
	probeSlack = 8 * time.Millisecond

	// maxFollowers bounds how many of the next packets are looked at: if all of
	// them are lost, the timeout comes first.
	maxFollowers = 16
)

// recovery is how a sender gets one packet through: as Linux does with RACK and
// tail loss probes (RFC 8985) and timeouts (RFC 6298).
type recovery struct {
	d      *Direction
	f      *Flow // nil = one message of a handshake
	behind int   // bytes of the same delivery that follow

	busy     bool          // what is sent meanwhile shows that the packet is lost again
	equal    int           // how many of the waits are as long as the first one
	timeouts int           // waits so far
	quiet    time.Duration // since when nothing new is sent; 0 = the sender never stops
}

// run returns how much later the packet arrives than if nothing were lost, and
// until when the sender sends nothing new: it goes on to repeat the packet
// until an acknowledgement gets through, too.
func (r *recovery) run() (late, acked time.Duration, broken bool) {
	if !r.d.lose() {
		return 0, 0, false
	}
	late = r.first()
	for r.d.lose() {
		if late += r.next(late); late > Patience {
			return Patience, 0, true
		}
	}
	if r.busy || r.f == nil || !r.f.steady { // who waits for an answer is sent the acknowledgement with it
		return late, late, false
	}
	acked = late
	for acked < Patience && r.d.lose() {
		wait := r.next(acked)
		if r.f.gap > 0 && r.f.gap < wait { // what comes the other way, as often, acknowledges, too
			wait = r.f.gap
		}
		acked += wait
	}
	return late, acked, false
}

// repeat sends the packet again: it passes the bottleneck once more.
func (r *recovery) repeat() { r.d.free += r.d.model.Transmit(PacketSize) }

// first is how long it takes until the packet is sent again for the first time.
func (r *recovery) first() time.Duration {
	r.repeat()
	rto := r.d.model.RTO()
	thin := r.f == nil || r.f.thin(r.d.model)
	if r.f != nil {
		if noticed := r.noticed(); noticed < rto {
			r.equal = equalWaits(thin, 1)
			if r.busy = r.f.steady && r.f.gap < r.d.model.RTT(); !r.busy {
				r.quiet = noticed
			}
			return noticed
		}
	}
	r.equal, r.timeouts = equalWaits(thin, probes), 1
	return rto
}

// next is how long it takes until it is sent again after that. If little is
// under way nothing follows that could show that it is lost, too.
func (r *recovery) next(late time.Duration) time.Duration {
	r.repeat()
	if r.busy {
		r.behind = 0
		if noticed := r.noticed(); noticed < r.d.model.RTO() {
			return noticed
		}
		r.busy = false
	}
	if r.quiet == 0 {
		r.quiet = late
	}
	r.timeouts++
	return backOff(r.d.model.RTO(), r.timeouts-1, r.equal)
}

// noticed is when the acknowledgement of a later packet shows that this one is
// lost, or when a probe is sent because nothing comes back.
func (r *recovery) noticed() time.Duration {
	rtt := r.d.model.RTT()
	switch {
	case r.behind > (fastAfter-1)*PacketSize:
		return rtt
	case r.behind > 0:
		return rtt + rtt/4 // it might have been overtaken
	}
	early := Patience
	if r.f.crowded {
		early = min(early, rtt+rtt+probeSlack)
	}
	if !r.f.steady {
		return early
	}
	for i := 1; i <= maxFollowers; i++ {
		if r.d.lose() {
			continue
		}
		if unheard := r.d.lose(); !unheard { // the acknowledgement gets through, too
			return min(early, time.Duration(i)*r.f.gap+rtt+rtt/4)
		}
	}
	return early
}

// equalWaits is how many waits are not longer than the first one.
func equalWaits(thin bool, normal int) int {
	if thin {
		return normal + thinWaits
	}
	return normal
}

// backOff is the wait after so many others.
func backOff(rto time.Duration, waits, equal int) time.Duration {
	return min(rto<<max(0, min(waits-equal+1, 16)), MaxRTO)
}
