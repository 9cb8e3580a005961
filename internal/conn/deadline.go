// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conn

import (
	"context"
	"net"
	"sync"
	"time"
)

// deadline is the end of the calls in one direction, those under way included.
// It is on the machine's clock, as the times that a net.Conn is given are.
type deadline struct {
	mu    sync.Mutex // guards what follows
	timer *time.Timer
	over  chan struct{} // closed when the deadline has passed
	ended bool          // it has, for ever
}

func (d *deadline) init() { d.over = make(chan struct{}) }

// set changes the deadline; zero = none. After end it returns net.ErrClosed.
func (d *deadline) set(t time.Time) error {
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
		d.over = make(chan struct{})
	}
	if !t.IsZero() {
		over := d.over
		d.timer = time.AfterFunc(left, func() { close(over) })
	}
	return nil
}

// end lets the deadline pass, now and for ever.
func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	d.stop()
	d.pass()
}

// passed says whether the deadline has passed.
func (d *deadline) passed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.isOver()
}

// stop ends the timer. mu is held, as for all below.
func (d *deadline) stop() {
	if d.timer != nil && !d.timer.Stop() {
		<-d.over // it is closing it
	}
	d.timer = nil
}

func (d *deadline) isOver() bool {
	select {
	case <-d.over:
		return true
	default:
		return false
	}
}

func (d *deadline) pass() {
	if !d.isOver() {
		close(d.over)
	}
}

// context returns a context that ends at the deadline.
func (d *deadline) context() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	return deadlineContext{d.over}
}

// deadlineContext is the context of a call.
type deadlineContext struct{ over chan struct{} }

// Deadline implements context.Context: it is not known, as it may change.
func (c deadlineContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context.
func (c deadlineContext) Done() <-chan struct{} { return c.over }

// Err implements context.Context.
func (c deadlineContext) Err() error {
	select {
	case <-c.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// Value implements context.Context.
func (c deadlineContext) Value(any) any { return nil }
