// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/link"
)

// flow is one direction of a connection: what its sender sent and the other
// end has not got yet, in order. Guarded by Network.mu.
type flow struct {
	c      *conn
	end    int // the sender's
	link   link.Flow
	flight []*event

	stalled bool  // is in a path's stalled, or about to try again: nothing is sent
	lost    int64 // when the oldest was sent that got lost; -1 = it is only held
	unheard int64 // since when acknowledgements are lost
	dead    bool  // the sender has given up
}

func (f *flow) own() *path  { return f.c.path(f.end) }
func (f *flow) back() *path { return f.c.path(1 - f.end) }

// send queues the arrival at the other end of something that is sent now,
// behind all that was sent before.
func (f *flow) send(k key, size int, sum uint64, arrive func()) {
	if f.dead && k.kind != kindConnDown {
		return
	}
	e := &event{key: k, size: size, sum: sum}
	e.apply = func() {
		f.c.n.mu.Lock()
		defer f.c.n.mu.Unlock()
		if f.stalled {
			return // it is sent again
		}
		if p := f.own(); p.blocked() {
			f.stall(p, f.c.n.now()-int64(p.link.Model().Latency), p.cut)
			return
		}
		if f.arrived(e) {
			arrive()
			f.c.bounce(f.end)
		}
	}
	f.flight = append(f.flight, e)
	f.schedule(e)
}

// arrived takes e out of the flight; false means that the connection ends here
// and now instead, because a bit of e was flipped.
func (f *flow) arrived(e *event) bool {
	if i := slices.Index(f.flight, e); i == 0 {
		f.flight = f.flight[1:]
	} else if i > 0 {
		f.flight = slices.Delete(f.flight, i, i+1)
	}
	p := f.own()
	if p.corrupt == 0 || e.key.kind != kindData {
		return true
	}
	p.corrupt--
	f.c.n.soon(f.c.key(kindCorrupt, 1-f.end, 0), func() {})
	f.c.breakEnd(1-f.end, ErrConnLost, true)
	return false
}

// schedule gives e to the link.
func (f *flow) schedule(e *event) {
	if f.stalled || f.dead && e.key.kind != kindConnDown {
		return
	}
	n := f.c.n
	if back := f.back(); back.cut && f.deaf(back) {
		f.stall(back, f.unheard, true)
		return
	}
	size := 0
	if e.key.kind == kindData {
		size = e.size
	}
	arrive, broken := f.own().link.Send(&f.link, time.Duration(n.now()), size)
	e.at = int64(arrive)
	if broken && !f.dead {
		f.giveUp(e.at)
		return
	}
	n.push(e)
}

// deaf reports whether the sender has waited in vain for so long for the
// first acknowledgement which the cut of the way back swallowed that it sends
// nothing new.
func (f *flow) deaf(back *path) bool {
	now := f.c.n.now()
	if f.unheard < back.since {
		f.unheard = now
	}
	return now >= f.unheard+int64(f.own().link.Model().RTO())
}

// stall has f wait for p, which is not its own if the way back is cut.
func (f *flow) stall(p *path, sent int64, lost bool) {
	f.stalled = true
	f.lost = -1
	if lost {
		f.lost = max(0, sent)
	}
	p.stalled = append(p.stalled, f)
}

// resume plans the next attempt, now that the path it waits for works: at the
// sender's next retransmission if something was lost.
func (f *flow) resume() {
	n := f.c.n
	at := n.now()
	if f.lost >= 0 {
		at = int64(f.link.Resume(f.own().link.Model(), time.Duration(f.lost), time.Duration(at)))
	}
	n.push(&event{at: at, key: f.c.key(kindRetry, f.end, 0), apply: f.retry})
}

// retry sends everything again that has not arrived.
func (f *flow) retry() {
	n := f.c.n
	n.mu.Lock()
	defer n.mu.Unlock()
	own, back := f.own(), f.back()
	switch {
	case own.blocked():
		own.stalled = append(own.stalled, f)
		return
	case back.cut:
		back.stalled = append(back.stalled, f)
		return
	}
	f.stalled = false
	f.link.Reset()
	for _, e := range f.flight {
		if !e.parked { // else it has passed the path, and waits for a paused node
			n.cancel(e)
			f.schedule(e)
		}
	}
}

// giveUp ends the connection: one of its packets was lost too often.
func (f *flow) giveUp(at int64) {
	f.dead = true
	f.c.n.push(&event{at: at, key: f.c.key(kindGaveUp, f.end, 0), apply: func() {
		f.c.n.mu.Lock()
		defer f.c.n.mu.Unlock()
		f.link.Reset()
		f.flight = nil
		f.c.breakEnd(f.end, ErrConnLost, false)
		f.c.ended[f.end] = false // what told of it may be what was lost
		f.c.end(f.end)
	}})
}
