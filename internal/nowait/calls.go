// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package nowait

import (
	"sync/atomic"
	"time"
)

const (
	// toldEvery is how often a read is one that the scheduler is told of: as long as it
	// lets a goroutine run while others wait.
	toldEvery = 10 * time.Millisecond
	// untoldBytes is how much is written without telling, in bytes: copying more takes
	// longer than telling.
	untoldBytes = 16 << 10
)

// Calls reads and writes the sockets of a process that runs nobody's code. Where the
// scheduler can't be left out, and in a nil Calls, it is told of everything, as usual.
// Methods may be called concurrently.
type Calls struct {
	since time.Time
	told  atomic.Int64 // when the scheduler was told of a read, in ns after since
}

// NewCalls returns Calls.
func NewCalls() *Calls { return &Calls{since: time.Now()} }

// tells says whether the scheduler is to be told of a read now.
func (c *Calls) tells() bool {
	if c == nil {
		return true
	}
	now, last := time.Since(c.since).Nanoseconds(), c.told.Load()
	return now-last >= toldEvery.Nanoseconds() && c.told.CompareAndSwap(last, now)
}
