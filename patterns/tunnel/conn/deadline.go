// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package conn

import (
	"context"
	"sync"
	"time"
)

// deadline is the end of the calls in one direction, those under way included.
// It is on the machine's clock, as the times that a net.Conn is given are.
type deadline struct {
	mu    sync.Mutex // guards what follows
	timer *time.Timer
	over  chan struct{} // closed when the deadline has passed
}

func (d *deadline) init() { d.over = make(chan struct{}) }

// set changes the deadline; zero = none.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() {
		<-d.over // it is closing it
	}
	d.timer = nil
	passed := false
	select {
	case <-d.over:
		passed = true
	default:
	}
	if t.IsZero() || time.Until(t) > 0 {
		if passed {
			d.over = make(chan struct{})
		}
		if !t.IsZero() {
			over := d.over
			d.timer = time.AfterFunc(time.Until(t), func() { close(over) })
		}
		return
	}
	if !passed {
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
