// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"sync"
	"time"
)

// agenda calls functions when it is time, each on a goroutine of its own.
type agenda struct {
	begin time.Time

	// Guarded by mu.
	mu      sync.Mutex
	number  uint64 // of the last call that was asked for
	pending map[uint64]*time.Timer
	closed  bool

	wg sync.WaitGroup // the calls
}

func newAgenda() *agenda {
	return &agenda{begin: time.Now(), pending: make(map[uint64]*time.Timer)}
}

func (a *agenda) now() time.Duration { return time.Since(a.begin) }

// at has f called; after close it does nothing.
func (a *agenda) at(at time.Duration, f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.number++
	number := a.number
	a.pending[number] = time.AfterFunc(at-a.now(), func() {
		if a.take(number) {
			defer a.wg.Done()
			f()
		}
	})
}

// take says whether the call may be made, and counts it.
func (a *agenda) take(number uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	delete(a.pending, number)
	a.wg.Add(1)
	return true
}

// close forgets what is not due yet and waits for the calls under way.
func (a *agenda) close() {
	a.mu.Lock()
	a.closed = true
	for _, t := range a.pending {
		t.Stop()
	}
	clear(a.pending)
	a.mu.Unlock()
	a.wg.Wait()
}
