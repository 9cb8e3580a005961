// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// WithTimeout is context.WithTimeout over a Clock: after d, Err is
// context.DeadlineExceeded, for the contexts derived from it too. label names
// the timer. As always, cancel must be called; after it Err is
// context.Canceled.
func WithTimeout(parent context.Context, clock Clock, label string, d time.Duration) (context.Context, context.CancelFunc) {
	deadline := clock.Now().Add(d)
	if earlier, ok := parent.Deadline(); ok && earlier.Before(deadline) {
		deadline = earlier
	}
	inner, setCause := context.WithCancelCause(parent)
	c := &timeoutContext{
		Context:  inner,
		setCause: setCause,
		deadline: deadline,
		done:     make(chan struct{}),
	}
	cancel := func() { c.end(context.Canceled, nil) }
	if err := parent.Err(); err != nil {
		c.end(err, context.Cause(parent))
		return c, cancel
	}
	if d <= 0 {
		c.end(context.DeadlineExceeded, context.DeadlineExceeded)
		return c, cancel
	}
	follow := func() { c.end(parent.Err(), context.Cause(parent)) }
	after := context.AfterFunc
	if p, ok := parent.(*timeoutContext); ok { // the same without a goroutine
		after = func(_ context.Context, f func()) func() bool { return p.AfterFunc(f) }
	}
	stop := after(parent, follow)
	timer := clock.AfterFunc(label, d, func() { c.end(context.DeadlineExceeded, context.DeadlineExceeded) })
	c.release(func() { timer.Stop(); stop() })
	return c, cancel
}

// Sleep waits for d. It returns false at once when ctx ends before. label names
// the timer.
func Sleep(ctx context.Context, clock Clock, label string, d time.Duration) bool {
	done := make(chan struct{})
	timer := clock.AfterFunc(label, d, func() { close(done) })
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// timeoutContext is a context that a Clock ends. The embedded context carries
// the parent's values, and the cause to where context.Cause looks for it. Done
// is a channel of our own: package context would otherwise take the embedded
// context for the parent of those derived from this one, and they would see
// its Err.
type timeoutContext struct {
	context.Context
	setCause context.CancelCauseFunc
	deadline time.Time
	done     chan struct{}

	// Guarded by mu.
	mu       sync.Mutex
	err      error
	free     func()    // stops the timer and leaves the parent
	children list.List // of func(), in the order of AfterFunc
}

// Deadline implements context.Context.
func (c *timeoutContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Done implements context.Context.
func (c *timeoutContext) Done() <-chan struct{} { return c.done }

// Err implements context.Context.
func (c *timeoutContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// AfterFunc has f called when the context ends, on the goroutine that ends
// it. Package context uses it for derived contexts and context.AfterFunc, so
// that neither needs a goroutine that waits.
func (c *timeoutContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	e := c.children.PushBack(f)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err != nil {
			return false
		}
		pending := e.Value != nil
		if pending {
			c.children.Remove(e)
			e.Value = nil
		}
		return pending
	}
}

// release has free called when the context ends, at once if it has ended.
func (c *timeoutContext) release(free func()) {
	c.mu.Lock()
	ended := c.err != nil
	if !ended {
		c.free = free
	}
	c.mu.Unlock()
	if ended {
		free()
	}
}

// end ends the context, the first time it is called.
func (c *timeoutContext) end(err, cause error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	free := c.free
	c.free = nil
	c.mu.Unlock()

	c.setCause(cause)
	close(c.done)
	for e := c.children.Front(); e != nil; e = e.Next() { // fixed once err is set
		e.Value.(func())()
	}
	if free != nil {
		free()
	}
}
