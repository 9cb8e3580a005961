// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"slices"
	"sync"
	"sync/atomic"
)

// gauge counts what a connection has taken, in bytes, and wakes those who wait
// for a count. It says nothing about the peer: taken means handed to the
// kernel.
type gauge struct {
	taken   atomic.Uint64
	waiting atomic.Int32 // len(waiters), so that add need not lock

	// closed is closed when the connection is.
	closed    chan struct{}
	closeOnce sync.Once

	// Guarded by mu.
	mu      sync.Mutex
	waiters []*waiter
}

// waiter waits for one count. It belongs to one goroutine.
type waiter struct {
	count uint64
	wake  chan struct{} // of capacity 1
}

func newGauge() *gauge { return &gauge{closed: make(chan struct{})} }

func newWaiter() *waiter { return &waiter{wake: make(chan struct{}, 1)} }

// add counts n more bytes as taken.
func (g *gauge) add(n int) {
	taken := g.taken.Add(uint64(n))
	if g.waiting.Load() == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiters = slices.DeleteFunc(g.waiters, func(w *waiter) bool {
		if w.count > taken {
			return false
		}
		g.waiting.Add(-1)
		w.wake <- struct{}{} // has room: w is in the list once
		return true
	})
}

// close wakes everybody.
func (g *gauge) close() { g.closeOnce.Do(func() { close(g.closed) }) }

// wait blocks until count bytes were taken, the connection is closed, or one
// of the two channels is. It reports whether the count was reached.
func (g *gauge) wait(w *waiter, count uint64, a, b <-chan struct{}) bool {
	if g.taken.Load() >= count {
		return true
	}
	g.enlist(w, count)
	if g.taken.Load() >= count { // add may have looked before we were enlisted
		g.strike(w)
		return true
	}
	select {
	case <-w.wake:
		return true
	case <-g.closed:
	case <-a:
	case <-b:
	}
	g.strike(w)
	return g.taken.Load() >= count
}

func (g *gauge) enlist(w *waiter, count uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w.count = count
	g.waiters = append(g.waiters, w)
	g.waiting.Add(1)
}

// strike removes w, and takes back a wake-up that it has been given.
func (g *gauge) strike(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiters, w); i >= 0 {
		g.waiters = slices.Delete(g.waiters, i, i+1)
		g.waiting.Add(-1)
		return
	}
	<-w.wake // add struck it first, and sent under mu
}
