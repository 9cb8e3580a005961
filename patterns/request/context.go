// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/arke-mesh/arke/overlay"
)

// jobContext is the context of a handler. Most handlers never wait for it, so
// its channel and its timer are made when somebody asks for the channel.
type jobContext struct {
	// Immutable.
	clock    overlay.Clock
	deadline time.Time // zero = none
	endless  bool      // the deadline is the caller's, and does not end what was accepted

	mu       sync.Mutex    // guards what follows
	err      error         // not nil once it has ended
	done     chan struct{} // nil until asked for
	timer    overlay.Timer // nil until then, too
	children []*func()     // of AfterFunc, in its order
}

var _ context.Context = (*jobContext)(nil)

// Deadline implements context.Context.
func (c *jobContext) Deadline() (time.Time, bool) {
	if !c.limited() {
		return time.Time{}, false
	}
	return c.deadline, true
}

// limited says whether a deadline ends it.
func (c *jobContext) limited() bool { return !c.endless && !c.deadline.IsZero() }

// Done implements context.Context.
func (c *jobContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	c.armLocked()
	return c.done
}

// Err implements context.Context.
func (c *jobContext) Err() error {
	c.mu.Lock()
	err := c.err
	c.mu.Unlock()
	if err == nil && c.limited() && !c.clock.Now().Before(c.deadline) {
		c.end(context.DeadlineExceeded)
		return c.Err()
	}
	return err
}

// ended says whether somebody has ended it, whatever the time is.
func (c *jobContext) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil
}

// Value implements context.Context.
func (c *jobContext) Value(any) any { return nil }

// AfterFunc has f called when the context ends, on the goroutine that ends it.
// Package context uses it for derived contexts, which then need no goroutine
// that waits.
func (c *jobContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	c.armLocked()
	child := &f
	c.children = append(c.children, child)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.Index(c.children, child)
		if i < 0 {
			return false
		}
		c.children = slices.Delete(c.children, i, i+1)
		return true
	}
}

// armLocked starts the timer once somebody waits.
func (c *jobContext) armLocked() {
	if c.timer != nil || c.err != nil || !c.limited() {
		return
	}
	c.timer = c.clock.AfterFunc("request.handler", c.deadline.Sub(c.clock.Now()), func() {
		c.end(context.DeadlineExceeded)
	})
}

// end ends the context, the first time it is called, and says whether it was.
func (c *jobContext) end(err error) (first bool) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return false
	}
	c.err = err
	done, timer, children := c.done, c.timer, c.children
	c.children = nil
	c.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
	if done != nil {
		close(done)
	}
	for _, f := range children {
		(*f)()
	}
	return true
}
