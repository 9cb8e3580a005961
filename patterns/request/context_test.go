// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
)

// countingClock counts the timers that are pending.
type countingClock struct {
	overlay.Clock
	pending int
}

type countedTimer struct {
	overlay.Timer
	c *countingClock
}

func (c *countingClock) AfterFunc(label string, d time.Duration, f func()) overlay.Timer {
	c.pending++
	return countedTimer{c.Clock.AfterFunc(label, d, f), c}
}

func (t countedTimer) Stop() bool {
	t.c.pending--
	return t.Timer.Stop()
}

func TestAHandlersContextCostsNothingUntilItIsWaitedFor(t *testing.T) {
	// This test checks that there is no timer before somebody asks for Done,
	// that Err knows the time all the same, and that the end frees the timer.
	synctest.Test(t, func(t *testing.T) {
		clock := &countingClock{Clock: overlay.NewRealClock()}
		c := &jobContext{clock: clock, deadline: time.Now().Add(time.Second)}
		require.NoError(t, c.Err())
		time.Sleep(time.Second)
		require.Equal(t, context.DeadlineExceeded, c.Err())
		require.Zero(t, clock.pending)
		<-c.Done()

		c = &jobContext{clock: clock, deadline: time.Now().Add(time.Second)}
		require.NotNil(t, c.Done())
		c.Done()
		require.Equal(t, 1, clock.pending)
		c.end(context.Canceled)
		c.end(context.DeadlineExceeded)
		require.Zero(t, clock.pending)
		require.Equal(t, context.Canceled, c.Err())

		c = &jobContext{clock: clock}
		c.Done()
		_, limited := c.Deadline()
		require.False(t, limited)
		require.Zero(t, clock.pending, "without a deadline there is none to wait for")
	})
}

func TestWhatAHandlersContextCallsCanBeStopped(t *testing.T) {
	// This test checks AfterFunc as package context relies on it: called once
	// and in order, stopped for good, at once if the context has ended.
	synctest.Test(t, func(t *testing.T) {
		c := &jobContext{clock: overlay.NewRealClock(), deadline: time.Now().Add(time.Second)}
		var calls []int
		c.AfterFunc(func() { calls = append(calls, 1) })
		stop := c.AfterFunc(func() { calls = append(calls, 2) })
		c.AfterFunc(func() { calls = append(calls, 3) })
		require.True(t, stop())
		require.False(t, stop())
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []int{1, 3}, calls)
		ended := make(chan struct{})
		require.False(t, c.AfterFunc(func() { close(ended) })())
		<-ended
	})
}
