// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"errors"
	"sync"

	"github.com/arke-mesh/arke/internal/fifo"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// outlet sends, for all tunnels of one peer, what found no room in the link's
// lanes and has nobody who waits. Tunnels take turns, one frame each. It has a
// worker only while it has work. Its mutex may be taken with a tunnel's held,
// not the other way round.
type outlet struct {
	remote *remote

	mu      sync.Mutex          // guards what follows
	ring    fifo.Queue[*Tunnel] // that have something parked; the first has its turn
	bytes   int                 // parked by all of them
	refused []*Tunnel           // that found it full and want to know of room
	resets  fifo.Queue[wire.TunnelReset]
	running bool
}

// idle says whether nothing is parked, so that nothing is overtaken by what is
// sent at once.
func (o *outlet) idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.running
}

// room says whether n bytes could be parked, or sent at once.
func (o *outlet) room(n int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.running || o.bytes+n <= parkBytes
}

// roomFor is room; if there is none, t is told when there is.
func (o *outlet) roomFor(t *Tunnel, n int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.running || o.bytes+n <= parkBytes {
		return true
	}
	if !t.refused {
		t.refused = true
		o.refused = append(o.refused, t)
	}
	return false
}

// park has a frame sent when there is room. What is refused here is refused
// before: a frame that has a number must go.
func (o *outlet) park(t *Tunnel, p parcel) {
	t.mu.Lock()
	if t.ends.err != nil {
		t.mu.Unlock()
		return
	}
	t.parked = append(t.parked, p)
	t.mu.Unlock()
	o.mu.Lock()
	o.bytes += len(p.body)
	o.mu.Unlock()
	o.push(t)
}

// push gives a tunnel that has something to send its place in the ring.
func (o *outlet) push(t *Tunnel) {
	o.mu.Lock()
	if !t.queued {
		t.queued = true
		o.ring.Push(t)
	}
	o.startLocked()
}

// reset sends a reset, now if there is room.
func (o *outlet) reset(m wire.TunnelReset) {
	body := m.AppendTo(nil)
	e := o.remote.engine
	if _, err := o.remote.link.SendWait(e.atOnce, overlay.LaneCtl, wire.KindTunnelReset, body); !errors.Is(err, context.Canceled) {
		return // it is gone, or nobody is there
	}
	o.mu.Lock()
	o.resets.Push(m)
	o.startLocked()
}

// startLocked has a worker run, and releases mu.
func (o *outlet) startLocked() {
	start := !o.running
	o.running = true
	o.mu.Unlock()
	if start {
		o.remote.engine.work("tunnel.outlet", o.remote.key, o.run)
	}
}

// run sends until nothing is left.
func (o *outlet) run() {
	e := o.remote.engine
	for {
		o.mu.Lock()
		switch {
		case o.resets.Len() > 0:
			m := o.resets.Pop()
			o.mu.Unlock()
			_, _ = o.remote.link.SendWait(e.ctx, overlay.LaneCtl, wire.KindTunnelReset, m.AppendTo(nil))
		case o.ring.Len() > 0:
			t := o.ring.Pop()
			t.queued = false
			o.mu.Unlock()
			o.serve(t)
		default:
			o.running = false
			o.ring.Release()
			o.resets.Release()
			o.mu.Unlock()
			o.invite()
			return
		}
	}
}

// serve sends one frame of the tunnel, and the credit it owes.
func (o *outlet) serve(t *Tunnel) {
	e, link := o.remote.engine, o.remote.link
	t.mu.Lock()
	owing, total := t.owing, t.window.total
	t.owing = false
	var p parcel
	if len(t.parked) > 0 {
		p, t.flying = t.parked[0], true
	}
	t.mu.Unlock()
	if owing {
		_, _ = link.SendWait(e.ctx, overlay.LaneCtl, wire.KindTunnelCredit, t.creditFrame(nil, total))
	}
	if p.body != nil {
		_, _ = link.SendWait(e.ctx, overlay.LaneBulk, p.kind, p.body)
	}
	o.sent(t, p)
}

// sent takes a frame that has gone from the tunnel, and gives it its next turn.
func (o *outlet) sent(t *Tunnel, p parcel) {
	t.mu.Lock()
	if t.flying {
		t.flying = false
		t.parked[0] = parcel{}
		if t.parked = t.parked[1:]; len(t.parked) == 0 {
			t.parked = nil
			t.changedOut()
			t.settle()
		}
	}
	more := len(t.parked) > 0 || t.owing
	t.unlock(false)
	o.mu.Lock()
	o.bytes -= len(p.body)
	if more && !t.queued {
		t.queued = true
		o.ring.Push(t)
	}
	half := o.bytes <= parkBytes/2
	o.mu.Unlock()
	if half {
		o.invite()
	}
}

func (o *outlet) parkedBytes() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

// forget notes that n bytes of what was parked will not be sent.
func (o *outlet) forget(n int) {
	o.mu.Lock()
	o.bytes -= n
	o.mu.Unlock()
}

// invite tells those who found the outlet full that there is room.
func (o *outlet) invite() {
	o.mu.Lock()
	invited := o.refused
	o.refused = nil
	for _, t := range invited {
		t.refused = false
	}
	o.mu.Unlock()
	for _, t := range invited {
		t.tell(false)
	}
}
