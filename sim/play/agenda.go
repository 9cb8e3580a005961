// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"sync"
	"time"
)

// Agenda is the part of a Level that is about time, for levels that live by Go's own
// clock: the real one, or that of a bubble. They have no trace.
type Agenda struct {
	begun time.Time

	mu     sync.Mutex
	timers map[time.Duration]*time.Timer // guarded by mu; that have not fired yet, by their time
	over   bool                          // guarded by mu

	calls sync.WaitGroup
}

// NewAgenda begins one.
func NewAgenda() *Agenda {
	return &Agenda{begun: time.Now(), timers: make(map[time.Duration]*time.Timer)}
}

// Now implements Level: the time since the agenda began.
func (a *Agenda) Now() time.Duration { return time.Since(a.begun) }

// Sleep implements Level.
func (a *Agenda) Sleep(until time.Duration) { time.Sleep(until - a.Now()) }

// Note implements Level.
func (*Agenda) Note(string, string) {}

// At implements Level; after Stop it does nothing. What is simultaneous begins in the
// order of the calls, a nanosecond apart: a bubble's timers that fire at one instant do
// so in an order that does not repeat.
func (a *Agenda) At(at time.Duration, _ string, f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	at = max(at, a.Now())
	for a.timers[at] != nil {
		at++
	}
	a.timers[at] = time.AfterFunc(at-a.Now(), func() {
		if a.take(at) {
			defer a.calls.Done()
			f()
		}
	})
}

// take says whether the call may be made, and counts it.
func (a *Agenda) take(at time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.timers, at)
	if !a.over {
		a.calls.Add(1)
	}
	return !a.over
}

// Stop forgets what is not due yet.
func (a *Agenda) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	for _, t := range a.timers {
		t.Stop()
	}
	clear(a.timers)
}

// Wait waits for the calls under way. The agenda was stopped before.
func (a *Agenda) Wait() { a.calls.Wait() }
