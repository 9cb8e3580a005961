// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"sync"

	"github.com/arke-mesh/arke/internal/fifo"
)

// idleWorkers is how many goroutines Workers keeps for reuse. A goroutine
// that has run user code has a grown stack, which is worth keeping.
const idleWorkers = 64

// Workers is the production Exec: a bounded number of goroutines. Functions wait
// in one line for the worker that is woken for them, or for one that comes free
// before: while they are short, a few workers run them all, and few are woken.
type Workers struct {
	// Immutable after NewWorkers.
	max int

	// Guarded by mu.
	mu      sync.Mutex
	line    fifo.Queue[func()]
	busy    int             // workers that run a function
	idle    []chan struct{} // of those that wait; last in, first out: warm stacks first
	running int             // goroutines, idle ones included
	coming  bool            // one was woken, or begun, and has not looked at the line yet
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
	if w.closed || w.busy+w.line.Len() >= w.max {
		return false
	}
	w.line.Push(f)
	w.call()
	return true
}

// call has another worker come while anything is in line, one at a time: each that
// comes calls the next. mu is held.
func (w *Workers) call() {
	if w.coming || w.line.Len() == 0 {
		return
	}
	w.coming = true
	if n := len(w.idle); n > 0 {
		next := w.idle[n-1]
		w.idle = w.idle[:n-1]
		next <- struct{}{} // has room: an idle worker's channel is empty
		return
	}
	w.running++
	w.wg.Go(w.work)
}

// Wake implements Exec: f runs at once, on the caller's goroutine.
func (w *Workers) Wake(_ ExecKey, f func()) { f() }

// Close refuses further work and waits for what runs, or is in line.
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

// work runs what is in line until this goroutine is not needed any more.
func (w *Workers) work() {
	called := make(chan struct{}, 1)
	w.mu.Lock()
	for {
		w.coming = false
		for w.line.Len() > 0 {
			f := w.line.Pop()
			w.busy++
			w.call()
			w.mu.Unlock()
			f()
			w.mu.Lock()
			w.busy--
		}
		if w.closed || len(w.idle) >= idleWorkers {
			w.running--
			w.mu.Unlock()
			return
		}
		w.idle = append(w.idle, called)
		w.mu.Unlock()
		if _, ok := <-called; !ok {
			return
		}
		w.mu.Lock()
	}
}
