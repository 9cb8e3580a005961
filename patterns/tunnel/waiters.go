// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/internal/waitline"
	"github.com/arke-mesh/arke/patterns"
)

// waiters are the goroutines that send, or receive, on one tunnel: one at a time
// has the turn, in the order they came, and may wait for news. The tunnel's
// mutex guards it.
type waiters struct {
	taken  bool           // somebody has the turn
	line   *waitline.Line // of the others; nil until there was one
	wants  bool           // who has the turn waits for news
	signal *signal        // nil until somebody does
}

// signal wakes whoever waits for it, or the next one to wait.
type signal struct {
	c    chan struct{} // has room for one
	ring func()
}

// enter waits for the turn. It returns with the tunnel's mu held, unless it
// returns an error.
func (w *waiters) enter(ctx context.Context, t *Tunnel, name string) error {
	t.turn(name)
	t.mu.Lock()
	if w.try() {
		return nil
	}
	if w.line == nil {
		w.line = &waitline.Line{}
	}
	ready := make(chan struct{})
	place := &waitline.Place{Wake: func() { close(ready) }}
	w.line.Join(place)
	t.mu.Unlock()
	select {
	case <-ready:
		t.mu.Lock()
		return nil
	case <-ctx.Done():
	}
	t.turn(name)
	t.mu.Lock()
	if w.line.Leave(place) { // it has the turn meanwhile, and an end may rely on it
		return nil
	}
	t.mu.Unlock()
	return late(ctx)
}

// try takes the turn if that needs no waiting. mu is held, as for pass.
func (w *waiters) try() bool {
	free := !w.taken
	w.taken = true
	return free
}

// pass gives the turn to the next one, and releases mu.
func (w *waiters) pass(t *Tunnel, name string) {
	var next *waitline.Place
	if w.line != nil {
		next = w.line.Next(func(int) bool { return true })
	}
	w.taken = next != nil
	t.unlock()
	if next != nil {
		t.wake(name, next.Wake)
	}
}

// wait releases the tunnel's mu until there is news or ctx ends, and returns
// with it held.
func (w *waiters) wait(ctx context.Context, t *Tunnel, name string) error {
	if w.wants = true; w.signal == nil {
		s := &signal{c: make(chan struct{}, 1)}
		s.ring = func() {
			select {
			case s.c <- struct{}{}:
			default:
			}
		}
		w.signal = s
	}
	s := w.signal
	t.unlock()
	select {
	case <-s.c:
		t.mu.Lock()
		return nil
	case <-ctx.Done():
	}
	t.turn(name)
	t.mu.Lock()
	w.wants = false
	return late(ctx)
}

// news returns what to call because there is some; nil = nobody waits for it.
func (w *waiters) news() (ring func()) {
	if !w.wants {
		return nil
	}
	w.wants = false
	return w.signal.ring
}

// late says that ctx has ended.
func late(ctx context.Context) error {
	return &patterns.DeadlineError{Cause: ctx.Err(), MaybeRan: true}
}

// lifetime ends with its tunnel, and costs nothing until somebody asks for its
// channel. It is the context of the tunnel's handler.
type lifetime struct {
	ended atomic.Bool // written under mu

	mu       sync.Mutex    // guards what follows
	done     chan struct{} // nil until asked for
	children []*func()     // of AfterFunc, in order
}

var _ context.Context = (*lifetime)(nil)

// Deadline implements context.Context.
func (l *lifetime) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements context.Context.
func (l *lifetime) Value(any) any { return nil }

// Err implements context.Context. It takes no lock.
func (l *lifetime) Err() error {
	if l.ended.Load() {
		return context.Canceled
	}
	return nil
}

// Done implements context.Context.
func (l *lifetime) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.ended.Load() {
			close(l.done)
		}
	}
	return l.done
}

// AfterFunc has f called when the context ends, on the goroutine that ends it.
// Package context uses it for derived contexts, which then need no goroutine
// that waits.
func (l *lifetime) AfterFunc(f func()) (stop func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended.Load() {
		go f()
		return func() bool { return false }
	}
	child := &f
	l.children = append(l.children, child)
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		i := slices.Index(l.children, child)
		if i >= 0 {
			l.children = slices.Delete(l.children, i, i+1)
		}
		return i >= 0
	}
}

// end tells who waits for the end.
func (l *lifetime) end() {
	l.mu.Lock()
	children := l.children
	l.children = nil
	l.ended.Store(true)
	if l.done != nil {
		close(l.done)
	}
	l.mu.Unlock()
	for _, f := range children {
		(*f)()
	}
}
