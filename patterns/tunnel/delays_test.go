// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
)

// stops is a clock that counts the timers that run.
type stops struct {
	overlay.Clock
	running atomic.Int64
}

func (c *stops) AfterFunc(label string, d time.Duration, f func()) overlay.Timer {
	c.running.Add(1)
	return &stoppable{c.Clock.AfterFunc(label, d, func() { c.running.Add(-1); f() }), c}
}

type stoppable struct {
	overlay.Timer
	clock *stops
}

func (t *stoppable) Stop() bool {
	t.clock.running.Add(-1)
	return t.Timer.Stop()
}

func TestNothingIsDelayedBeyondTheEnd(t *testing.T) {
	// This test has things done later, and ends: what is due by then was done once, no timer
	// of the others runs on, and nothing is taken any more.
	synctest.Test(t, func(t *testing.T) {
		var l delays
		clock := &stops{Clock: overlay.NewRealClock()}
		var done atomic.Uint64 // a bit each
		for i := range 4 {
			l.add(clock, "test", time.Duration(i)*time.Second, func() { done.Or(1 << i) })
		}
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 0b11, done.Load())
		require.EqualValues(t, 2, clock.running.Load())
		l.stop()
		require.Zero(t, clock.running.Load())
		l.add(clock, "test", 0, func() { done.Or(1 << 9) })
		require.Zero(t, clock.running.Load())
		time.Sleep(time.Minute)
		synctest.Wait()
		require.EqualValues(t, 0b11, done.Load())
		l.stop()
	})
}
