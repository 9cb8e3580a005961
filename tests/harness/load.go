// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"sync"
	"time"
)

// mostUnderWay bounds the requests of a load without an outcome, or a machine that
// can't keep up with its rate would come to the limits of its clients.
const mostUnderWay = 2000

// Load sends requests at a steady rate until it is stopped. It is an open
// loop: a slow answer does not delay the next request, unless 2,000 are slow.
type Load struct {
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu sync.Mutex
	// Guarded by mu.
	begun    int           // requests
	outcomes map[int]error // of each request, by number
}

// StartLoad calls do rate times per second, each on a goroutine of its own,
// with numbers from 0.
func StartLoad(t TB, rate int, do func(n int) error) *Load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Load{stop: cancel, outcomes: make(map[int]error)}
	l.wg.Go(func() { l.run(ctx, rate, do) })
	t.Cleanup(func() { l.Stop() })
	return l
}

func (l *Load) run(ctx context.Context, rate int, do func(n int) error) {
	begin := time.Now()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for next := 0; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		due := int(time.Since(begin).Seconds() * float64(rate))
		for room := mostUnderWay - l.underWay(); next < due && room > 0; next, room = next+1, room-1 {
			n := next
			l.mu.Lock()
			l.begun++
			l.mu.Unlock()
			l.wg.Go(func() { l.one(n, do) })
		}
	}
}

func (l *Load) one(n int, do func(n int) error) {
	err := do(n)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes[n] = err
}

// underWay returns how many requests have begun, and not ended.
func (l *Load) underWay() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun - len(l.outcomes)
}

// Sent returns how many requests have begun.
func (l *Load) Sent() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun
}

// Done returns how many requests have ended.
func (l *Load) Done() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.outcomes)
}

// Stop ends the load, waits for the last answer, and returns the outcome of
// each request by its number.
func (l *Load) Stop() map[int]error {
	l.stop()
	l.wg.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outcomes
}
