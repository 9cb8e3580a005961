// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/arke-mesh/arke/overlay"
)

// ending is the context of a gateway in package sim. When it ends, what was derived from
// it ends one after the other, in the order in which it began, each in a step of its own:
// one signal for all would wake their goroutines at once, and a run would not replay.
type ending struct {
	exec overlay.Exec // immutable
	over chan struct{}

	mu    sync.Mutex
	ended bool              // guarded by mu
	next  uint64            // guarded by mu: the number of the next one
	ends  map[uint64]func() // guarded by mu: by the numbers of those that last
}

var _ context.Context = (*ending)(nil)

// lifetime is the context of a gateway, and what ends it.
func lifetime(exec overlay.Exec) (context.Context, context.CancelFunc) {
	if exec == nil {
		return context.WithCancel(context.Background())
	}
	e := newEnding(exec)
	return e, e.end
}

func newEnding(exec overlay.Exec) *ending {
	return &ending{exec: exec, over: make(chan struct{}), ends: make(map[uint64]func())}
}

// end ends it. It is idempotent.
func (e *ending) end() {
	e.mu.Lock()
	before, ends := e.ended, e.ends
	e.ended, e.ends = true, nil
	e.mu.Unlock()
	if before {
		return
	}
	// Not under the lock: a network that was stopped runs a step at once.
	for _, n := range slices.Sorted(maps.Keys(ends)) {
		e.step(n, ends[n])
	}
	e.step(math.MaxUint64, func() { close(e.over) })
}

func (e *ending) step(n uint64, f func()) {
	e.exec.Wake(overlay.ExecKey{Name: "gateway.end", N: n}, f)
}

// AfterFunc is how package context learns of the end; see context.AfterFunc.
func (e *ending) AfterFunc(f func()) (stop func() bool) {
	e.mu.Lock()
	n, ended := e.next, e.ended
	e.next++
	if !ended {
		e.ends[n] = f
	}
	e.mu.Unlock()
	if ended {
		e.step(n, f)
		return func() bool { return false }
	}
	return func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		_, lasts := e.ends[n]
		delete(e.ends, n)
		return lasts
	}
}

// Err implements context.Context.
func (e *ending) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return context.Canceled
	}
	return nil
}

// Done implements context.Context: who waits for it wakes last.
func (e *ending) Done() <-chan struct{} { return e.over }

// Deadline implements context.Context.
func (e *ending) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements context.Context.
func (e *ending) Value(any) any { return nil }
