// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"
)

// driver is the network's time: the queue of everything that will happen, and
// the one goroutine that lets it happen.
type driver struct {
	// Immutable after New.
	start  time.Time
	limit  int64             // of virtual time
	record bool              // every event
	park   func(*event) bool // puts what is for a paused node aside

	// Lifecycle.
	poke chan struct{}  // wakes the driver from its sleep
	done chan struct{}  // closed when the driver has ended
	user sync.WaitGroup // what the driver started: timers, handlers, scenario

	steps atomic.Uint64 // turns of the driver, for the watchdog

	mu      shakenMutex // the network's
	queue   queue       // guarded by mu, like all below
	dirty   []outgoing  // has something to commit when the step is over
	last    int64       // when the last event was applied
	wakeAt  int64       // until when the driver sleeps; 0 = it does not
	stopped bool        // Close has begun
	trace   Trace
}

const never = math.MaxInt64

// Start starts the driver. Events happen from now on.
func (d *driver) Start() { go d.drive() }

// drive is the network's only driver: one event, then quiescence, then what
// was sent meanwhile.
func (d *driver) drive() {
	defer close(d.done)
	timer := time.NewTimer(0)
	<-timer.C
	for {
		synctest.Wait()
		d.steps.Add(1)
		e, wait, stop := d.next()
		switch {
		case stop:
			return
		case e != nil:
			e.apply()
		case wait == never:
			<-d.poke
		default:
			// Sleeping moves the bubble's clock. User code whose own sleep
			// ends on the way may send: it prods the driver.
			timer.Reset(time.Duration(wait))
			select {
			case <-timer.C:
			case <-d.poke:
				timer.Stop()
			}
		}
	}
}

// next commits what was sent in the last step and returns the event to apply
// now, or how long to wait for it.
func (d *driver) next() (e *event, wait int64, stop bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wakeAt = 0
	if d.stopped {
		return nil, 0, true
	}
	d.commit()
	for {
		first := d.queue.peek()
		if first == nil {
			d.wakeAt = never
			return nil, never, false
		}
		// Steps never share an instant: what user code sleeps from here on
		// ends at instants of its own, too.
		at := max(first.at, d.last+1)
		if now := d.now(); now < at {
			d.wakeAt = at
			return nil, at - now, false
		}
		if at > d.limit {
			panic("sim: the run goes on beyond Config.Limit; does it wait for something that never happens?")
		}
		e := d.queue.pop()
		if d.park(e) {
			continue
		}
		d.last = at
		d.trace.add(e, d.record)
		return e, 0, false
	}
}

// commit commits everything that was sent since the last step, in key order.
func (d *driver) commit() {
	if len(d.dirty) > 1 {
		slices.SortFunc(d.dirty, func(a, b outgoing) int { return a.order().compare(b.order()) })
	}
	// A commit makes nothing else dirty, so the slice can be walked.
	for i, o := range d.dirty {
		o.commit()
		d.dirty[i] = nil
	}
	d.dirty = d.dirty[:0]
}

// push queues e. The lock is held.
func (d *driver) push(e *event) *event {
	if d.stopped {
		e.pos = -1
		return e
	}
	d.queue.push(e)
	if e.at < d.wakeAt {
		d.prod()
	}
	return e
}

// soon queues an event for this instant, which takes the lock if it needs it.
func (d *driver) soon(k key, apply func()) *event {
	return d.push(&event{at: d.now(), key: k, apply: apply})
}

// after queues an event during which the lock is held.
func (d *driver) after(wait time.Duration, k key, apply func()) *event {
	return d.push(&event{at: d.now() + int64(max(0, wait)), key: k, apply: func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		apply()
	}})
}

// cancel takes e out of the queue and reports whether that came in time.
func (d *driver) cancel(e *event) bool {
	if e == nil {
		return false
	}
	if e.parked && !e.dropped {
		e.dropped = true
		return true
	}
	return d.queue.remove(e)
}

// send has o committed when the step is over.
func (d *driver) send(o outgoing) {
	d.dirty = append(d.dirty, o)
	if d.wakeAt > 0 {
		d.prod()
	}
}

// await waits until something is over, or returns why it does not. The lock is
// released meanwhile.
func (d *driver) await(ctx context.Context, over <-chan struct{}) error {
	d.mu.Unlock()
	defer d.mu.Lock()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// now is the virtual time in ns.
func (d *driver) now() int64 { return int64(time.Since(d.start)) }

// prod ends the driver's sleep.
func (d *driver) prod() {
	select {
	case d.poke <- struct{}{}:
	default:
	}
}

// At has f called on a goroutine of its own when so much virtual time has
// elapsed. Simultaneous calls happen in the order of name; the same name may
// be used again.
func (d *driver) At(at time.Duration, name string, f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.push(&event{at: max(int64(at), d.now()), key: key{kind: kindScenario, name: name}, apply: func() { d.user.Go(f) }})
}

// Go starts f on a goroutine of its own, in a step of its own and thus at an
// instant of its own, as soon as what happens now is over.
func (d *driver) Go(name string, f func()) { d.At(0, name, f) }

// Note puts a text into the trace, so that a run's results become part of
// what is compared.
func (d *driver) Note(name, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.soon(key{kind: kindNote, name: name + ": " + text}, func() {})
}

// inject applies f as an event of its own and returns when that is done, so
// that a fault has a place in the trace. f is called with the lock held.
func (d *driver) inject(name string, f func()) {
	done := make(chan struct{})
	d.mu.Lock()
	if d.stopped {
		f()
		d.mu.Unlock()
		return
	}
	d.after(0, key{kind: kindScenario, name: name}, func() {
		f()
		close(done)
	})
	d.mu.Unlock()
	<-done
}

// Elapsed returns the virtual time since the network was made.
func (d *driver) Elapsed() time.Duration { return time.Duration(d.now()) }

// Run lets virtual time pass until so much of it has elapsed since the network
// was made. It is time.Sleep in other words.
func (d *driver) Run(until time.Duration) { time.Sleep(until - d.Elapsed()) }

// Events returns how many were applied so far.
func (d *driver) Events() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.trace.Events
}

// Trace returns what has happened so far.
func (d *driver) Trace() *Trace {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.trace
	t.names = maps.Clone(t.names)
	return &t
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
