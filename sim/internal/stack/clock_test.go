// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSkewedClocks(t *testing.T) {
	// This test checks that a clock drifts from now on, is off by a step only
	// for processes that start later, and that its timers and instants agree
	// with what it shows.
	synctest.Test(t, func(t *testing.T) {
		s := newSkewed()
		old := s.boot()
		s.set(-10*time.Minute, 1000)
		c := s.boot()
		require.InDelta(t, -600, time.Until(c.Now()).Seconds(), 0.001)
		require.InDelta(t, 0, time.Until(old.Now()).Seconds(), 0.001)
		begun, shown := time.Now(), c.Now()
		fired := make(chan time.Time)
		c.AfterFunc("", 100*time.Second, func() { fired <- time.Now() })
		at := c.instant(shown.Add(100 * time.Second))
		took := (<-fired).Sub(begun)
		require.InDelta(t, 99.9, took.Seconds(), 0.001)
		require.InDelta(t, 100, c.Now().Sub(shown).Seconds(), 0.001)
		require.InDelta(t, 0, time.Since(at).Seconds(), 0.001)
		require.True(t, c.instant(time.Time{}).IsZero())
	})
}

func TestTimersOfAPausedNodeWait(t *testing.T) {
	// This test checks that a timer which is due while its node is paused fires
	// when it goes on, unless it was stopped meanwhile.
	synctest.Test(t, func(t *testing.T) {
		s := newSkewed()
		c := s.boot()
		fired := 0
		c.AfterFunc("", time.Second, func() { fired++ })
		stopped := c.AfterFunc("", time.Second, func() { fired += 100 })
		s.pause()
		time.Sleep(2 * time.Second)
		require.Zero(t, fired)
		require.True(t, stopped.Stop())
		s.resume()
		synctest.Wait()
		require.Equal(t, 1, fired)
		require.False(t, stopped.Stop())
	})
}
