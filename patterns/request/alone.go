// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/bell"
)

// aloneAfter is how many calls in a row must have met no other one before the next waits at
// the bell. Of several callers that get their replies together one is always first.
const aloneAfter = 8

// alone has a caller wait at a bell while calls come one at a time: as a rule there is
// little else to do in the program then, and the thread that reads the reply goes on. Where
// there is, the bell is heard late, and left alone.
type alone struct {
	on      bool         // immutable
	callers atomic.Int32 // that wait
	row     atomic.Int32 // how many were alone, in a row

	mu     sync.Mutex
	bell   *bell.Bell // guarded by mu; nil = not made yet, or can't be
	made   bool       // guarded by mu
	closed bool       // guarded by mu
}

// enter chooses where w waits, until leave. Nobody must know of w's call yet.
func (a *alone) enter(w *waiter) {
	switch {
	case a.callers.Add(1) > 1:
		a.row.Store(0)
	case a.row.Load() < aloneAfter:
		a.row.Add(1)
	case a.on:
		if b := a.get(); b != nil && b.Begin() {
			w.bell = b
		}
	}
}

// leave is called once w is done.
func (a *alone) leave(w *waiter) {
	w.bell = nil
	a.callers.Add(-1)
}

// get returns the bell, which is made for the first that asks; nil where it can't be.
func (a *alone) get() *bell.Bell {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.made && !a.closed {
		a.bell, a.made = bell.New(), true
	}
	return a.bell
}

// close has who is at the bell, or comes to it, wait as others do.
func (a *alone) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.bell != nil {
		a.bell.Close()
	}
}

// ends waits until the call has ended, or ctx, and says whether the call has.
func (w *waiter) ends(ctx context.Context) bool {
	if b := w.bell; b != nil {
		if ctx.Done() != nil {
			defer context.AfterFunc(ctx, b.Ring)()
		}
		for len(w.ended) == 0 && ctx.Err() == nil && b.Wait() {
			continue // it may have been rung for who was alone before
		}
	}
	select {
	case <-w.ended:
		return true
	case <-ctx.Done():
		return false
	}
}
