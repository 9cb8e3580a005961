// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"testing/synctest"
	"time"
)

// drive is the network's only driver: one event, then quiescence, then what
// was sent meanwhile.
func (n *Network) drive() {
	defer close(n.done)
	timer := time.NewTimer(0)
	<-timer.C
	for {
		synctest.Wait()
		n.steps.Add(1)
		e, wait, stop := n.next()
		switch {
		case stop:
			return
		case e != nil:
			e.apply()
		case wait == never:
			<-n.poke
		default:
			// Sleeping moves the bubble's clock. User code whose own sleep
			// ends on the way may send: it prods the driver.
			timer.Reset(time.Duration(wait))
			select {
			case <-timer.C:
			case <-n.poke:
				timer.Stop()
			}
		}
	}
}

// next commits what was sent in the last step and returns the event to apply
// now, or how long to wait for it.
func (n *Network) next() (e *event, wait int64, stop bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wakeAt = 0
	if n.stopped {
		return nil, 0, true
	}
	n.commit()
	for {
		first := n.queue.peek()
		if first == nil {
			n.wakeAt = never
			return nil, never, false
		}
		// Steps never share an instant: what user code sleeps from here on
		// ends at instants of its own, too.
		at := max(first.at, n.last+1)
		if now := n.now(); now < at {
			n.wakeAt = at
			return nil, at - now, false
		}
		if at > int64(n.cfg.Limit) {
			panic("sim: the run goes on beyond Config.Limit; does it wait for something that never happens?")
		}
		e := n.queue.pop()
		if n.paused > 0 && n.park(e) {
			continue
		}
		n.last = at
		n.trace.add(e, n.cfg.Record)
		return e, 0, false
	}
}

// park puts an event at a paused node aside.
func (n *Network) park(e *event) bool {
	h := n.byIndex[e.key.node]
	if h == nil || !h.paused {
		return false
	}
	e.parked = true
	h.parked = append(h.parked, e)
	return true
}

// outgoing is something with a commit to make when the step is over: a
// stream's bytes, or a connection's end.
type outgoing interface {
	// order is the canonical key by which commits are sorted.
	order() key
	// commit turns what was collected into events, drawing from the path's
	// random stream.
	commit()
}

// commit commits everything that was sent since the last step, in key order.
func (n *Network) commit() {
	if len(n.dirty) > 1 {
		slices.SortFunc(n.dirty, func(a, b outgoing) int { return a.order().compare(b.order()) })
	}
	// A commit makes nothing else dirty, so the slice can be walked.
	for i, o := range n.dirty {
		o.commit()
		n.dirty[i] = nil
	}
	n.dirty = n.dirty[:0]
}
