// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/overlay"
)

// entry is one watched cluster as callers see it.
type entry struct {
	// Immutable.
	name string
	pool *pool

	view atomic.Pointer[View]

	// Guarded by Clusters.mu.
	users    int
	released time.Time // when users became 0
	idling   bool      // the control loop knows, and will ask when the time has come

	mu      sync.Mutex // guards what follows
	waiters []*waiter
}

// waiter is one blocked Watch.Wait.
type waiter struct {
	id   uint64
	wake chan struct{} // has room for one
}

func newEntry(name string) *entry {
	e := &entry{name: name, pool: newPool()}
	e.view.Store(&View{pool: e.pool})
	return e
}

func (e *entry) addWaiter(w *waiter) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiters = append(e.waiters, w)
}

func (e *entry) removeWaiter(w *waiter) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, o := range e.waiters {
		if o == w {
			e.waiters = append(e.waiters[:i:i], e.waiters[i+1:]...)
			return
		}
	}
}

// publish shows v and wakes all who wait, in the order they came.
func (e *entry) publish(v *View, exec overlay.Exec) {
	e.view.Store(v)
	e.mu.Lock()
	waiters := e.waiters // removeWaiter and addWaiter leave these elements alone
	e.mu.Unlock()
	for _, w := range waiters {
		exec.Wake(overlay.ExecKey{Name: "cluster.wait", N: w.id}, w.signal)
	}
}

func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
