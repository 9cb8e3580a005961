// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"slices"
	"time"
)

// handlerContext is the context of a tunnel's handler: it ends with the tunnel,
// and costs nothing until somebody asks for its channel.
type handlerContext struct{ t *Tunnel }

var _ context.Context = handlerContext{}

// Deadline implements context.Context.
func (c handlerContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements context.Context.
func (c handlerContext) Value(any) any { return nil }

// Done implements context.Context.
func (c handlerContext) Done() <-chan struct{} { return c.t.Done() }

// Err implements context.Context. It takes no lock: methods of the tunnel that
// have this context may hold it.
func (c handlerContext) Err() error {
	if c.t.ended.Load() {
		return context.Canceled
	}
	return nil
}

// AfterFunc has f called when the context ends, on the goroutine that ends it.
// Package context uses it for derived contexts, which then need no goroutine
// that waits.
func (c handlerContext) AfterFunc(f func()) (stop func() bool) {
	t := c.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended.Load() {
		go f()
		return func() bool { return false }
	}
	child := &f
	t.children = append(t.children, child)
	return func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		i := slices.Index(t.children, child)
		if i < 0 {
			return false
		}
		t.children = slices.Delete(t.children, i, i+1)
		return true
	}
}
