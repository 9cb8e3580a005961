// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"sync"
	"time"
)

// deadline is a point in time that can be waited for and moved.
type deadline struct {
	// Guarded by mu.
	mu    sync.Mutex
	timer *time.Timer
	done  chan struct{} // closed when the time has come
}

func newDeadline() *deadline { return &deadline{done: make(chan struct{})} }

// set moves the deadline; zero means never.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() {
		<-d.done // the timer has fired; let it finish, so that it can't hit the new channel
	}
	d.timer = nil
	select {
	case <-d.done:
		d.done = make(chan struct{})
	default:
	}
	if t.IsZero() {
		return
	}
	done := d.done
	if left := time.Until(t); left > 0 {
		d.timer = time.AfterFunc(left, func() { close(done) })
		return
	}
	close(done)
}

// passed returns what is closed at the deadline that is set now.
func (d *deadline) passed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done
}

// stop gives the timer up.
func (d *deadline) stop() { d.set(time.Time{}) }
