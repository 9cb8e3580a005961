// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package deadline

import (
	"net"
	"sync"
	"time"
)

// Deadline is a point in time that can be waited for and moved. All methods may
// be called concurrently. A Deadline must not be copied.
type Deadline struct {
	mu    sync.Mutex // guards what follows
	timer *time.Timer
	done  chan struct{} // closed when the deadline has passed; made by the first call
	ended bool          // it has, for ever
}

// Set moves the deadline to t. Zero means none. After End it returns
// net.ErrClosed.
func (d *Deadline) Set(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return net.ErrClosed
	}
	d.stop()
	left := time.Until(t)
	if !t.IsZero() && left <= 0 {
		d.pass()
		return nil
	}
	if d.isOver() {
		d.done = make(chan struct{})
	}
	if !t.IsZero() {
		done := d.channel()
		d.timer = time.AfterFunc(left, func() { close(done) })
	}
	return nil
}

// End lets the deadline pass, now and for ever.
func (d *Deadline) End() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	d.stop()
	d.pass()
}

// Done returns a channel that is closed when the deadline passes, however often
// it is moved before that. A Set after it has passed makes a new channel.
func (d *Deadline) Done() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.channel()
}

// Passed reports whether the deadline has passed.
func (d *Deadline) Passed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.isOver()
}

// stop ends the timer. mu is held, as for all below.
func (d *Deadline) stop() {
	if d.timer != nil && !d.timer.Stop() {
		<-d.done // it is closing it
	}
	d.timer = nil
}

func (d *Deadline) channel() chan struct{} {
	if d.done == nil {
		d.done = make(chan struct{})
	}
	return d.done
}

func (d *Deadline) isOver() bool {
	select {
	case <-d.done: // nil, and so never, before the first wait
		return true
	default:
		return false
	}
}

func (d *Deadline) pass() {
	if !d.isOver() {
		close(d.channel())
	}
}
