// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import "sync"

// idleWorkers is how many goroutines Workers keeps for reuse. A goroutine
// that has run user code has a grown stack, which is worth keeping.
const idleWorkers = 64

// Workers is the production Exec: a bounded number of goroutines.
type Workers struct {
	// Immutable after NewWorkers.
	max int

	// Guarded by mu.
	mu      sync.Mutex
	idle    []chan func() // last in, first out: warm stacks first
	running int           // goroutines, idle ones included
	closed  bool

	// Lifecycle.
	wg sync.WaitGroup
}

var _ Exec = (*Workers)(nil)

// NewWorkers returns an Exec that runs at most limit functions at once.
func NewWorkers(limit int) *Workers { return &Workers{max: limit} }

// Go implements Exec.
func (w *Workers) Go(_ ExecKey, f func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	if n := len(w.idle); n > 0 {
		next := w.idle[n-1]
		w.idle = w.idle[:n-1]
		next <- f // has room: an idle worker's channel is empty
		return true
	}
	if w.running >= w.max {
		return false
	}
	w.running++
	w.wg.Go(func() { w.work(f) })
	return true
}

// Wake implements Exec: f runs at once, on the caller's goroutine.
func (w *Workers) Wake(_ ExecKey, f func()) { f() }

// Close refuses further work and waits for what runs.
func (w *Workers) Close() error {
	w.mu.Lock()
	w.closed = true
	for _, c := range w.idle {
		close(c)
	}
	w.running -= len(w.idle)
	w.idle = nil
	w.mu.Unlock()
	w.wg.Wait()
	return nil
}

// work runs f, and then whatever Go hands to this goroutine, until it is not
// needed any more.
func (w *Workers) work(f func()) {
	next := make(chan func(), 1)
	for ok := true; ok; f, ok = <-next {
		f()
		if !w.rest(next) {
			return
		}
	}
}

// rest makes the worker with channel next available, or says that it shall
// end.
func (w *Workers) rest(next chan func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.idle) >= idleWorkers {
		w.running--
		return false
	}
	w.idle = append(w.idle, next)
	return true
}
