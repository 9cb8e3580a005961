// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/link"
)

// flow is what one end of a connection sends to the other one, in order.
// Guarded by network.mu.
type flow struct {
	path *path
	to   *end
	link link.Flow

	under []parcel    // on their way, by arrival
	timer *time.Timer // of the first of them

	// What was lost waits here, and everything behind it, until the sender
	// tries again and gets through.
	held  []parcel
	since time.Duration // when the first was lost; -1 = none is held
	clog  bool          // nothing was lost, it is only late
}

// parcel is a part of a flow.
type parcel struct {
	kind kind
	data []byte
	at   time.Duration // it arrives
}

type kind uint8

const (
	kindData   kind = iota
	kindEnd         // the sender will write no more
	kindReset       // the sender knows nothing of this connection
	kindBroken      // the sender has given up
)

func newFlow(p *path, to *end) *flow { return &flow{path: p, to: to, since: -1} }

// send takes data over.
func (f *flow) send(k kind, data []byte) {
	p := parcel{kind: k, data: data}
	switch {
	case k == kindReset && f.path.blocked():
		return // nobody repeats it
	case k != kindReset && f.since >= 0:
		f.held = append(f.held, p)
		return
	case f.path.blocked():
		f.lose(p)
		return
	}
	arrive, broken := f.path.link.Send(&f.link, f.path.net.now(), len(data))
	if broken {
		p = parcel{kind: kindBroken}
	}
	p.at = arrive
	f.under = append(f.under, p)
	if len(f.under) == 1 {
		f.arm()
	}
}

// drop forgets what has not left yet.
func (f *flow) drop() { f.held = nil }

// lose holds what did not get through, before what was sent behind it and is held
// already: it was under way when the path was blocked, and that was not.
func (f *flow) lose(p ...parcel) {
	if f.since < 0 {
		f.since = f.path.net.now()
	}
	f.clog = !f.path.cut
	f.held = slices.Concat(p, f.held)
	f.path.stall(f)
}

// mended has what is held sent again: at once after a clog, and after a cut
// when the sender's back-off is over.
func (f *flow) mended() {
	now := f.path.net.now()
	at := now
	if !f.clog {
		at = f.link.Resume(f.path.link.Model(), f.since, now)
	}
	if at <= now {
		f.again()
		return
	}
	time.AfterFunc(at-now, func() {
		f.path.net.mu.Lock()
		defer f.path.net.mu.Unlock()
		f.again()
	})
}

// again sends what is held.
func (f *flow) again() {
	if f.since < 0 {
		return
	}
	if f.path.blocked() {
		f.lose()
		return
	}
	held := f.held
	f.held, f.since = nil, -1
	for _, p := range held {
		f.send(p.kind, p.data)
	}
}

// arm has the first parcel that is under way delivered.
func (f *flow) arm() {
	wait := f.under[0].at - f.path.net.now()
	if f.timer == nil {
		f.timer = time.AfterFunc(wait, f.arrive)
		return
	}
	f.timer.Reset(wait)
}

// arrive delivers what is due.
func (f *flow) arrive() {
	n := f.path.net
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(f.under) > 0 && f.under[0].at <= n.now() {
		p := f.under[0]
		f.under[0] = parcel{}
		f.under = f.under[1:]
		if f.path.blocked() && p.kind != kindBroken {
			rest := append([]parcel{p}, f.under...)
			f.under = nil
			if f.to.peer.closed {
				return // the sender is gone, nobody sends it again
			}
			f.lose(rest...)
			return
		}
		f.to.receive(p)
	}
	if len(f.under) > 0 {
		f.arm()
	}
}
