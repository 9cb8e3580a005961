// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// This test checks that a wait ends when its count is reached and not before,
// and when one of the other reasons occurs.
func TestGaugeWakesAtTheCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, w := newGauge(), newWaiter()
		g.add(10)
		require.True(t, g.wait(w, 10, nil, nil), "already there")

		result := make(chan bool, 1)
		wait := func(count uint64, a, b chan struct{}) { go func() { result <- g.wait(w, count, a, b) }() }
		wait(20, nil, nil)
		g.add(9)
		synctest.Wait()
		require.Empty(t, result)
		g.add(1)
		synctest.Wait()
		require.True(t, <-result)

		for range 2 { // for either reason; the waiter can be used again
			a, b := make(chan struct{}), make(chan struct{})
			wait(100, a, b)
			synctest.Wait()
			close(a)
			require.False(t, <-result)
			wait(100, nil, b)
			synctest.Wait()
			close(b)
			require.False(t, <-result)
			require.Zero(t, g.waiting.Load())
		}
		wait(100, nil, nil)
		synctest.Wait()
		g.close()
		g.close()
		require.False(t, <-result)
		require.False(t, g.wait(w, 100, nil, nil))
		require.True(t, g.wait(w, 20, nil, nil))
	})
}

// This test checks that no wake-up is lost between many waiters and one that
// counts, whatever the timing.
func TestGaugeLosesNoWakeUp(t *testing.T) {
	g := newGauge()
	const each, waiters = 2000, 4
	var wg sync.WaitGroup
	for range waiters {
		wg.Go(func() {
			w := newWaiter()
			for i := range uint64(each) {
				if !g.wait(w, i+1, nil, nil) {
					t.Error("woken early")
				}
			}
		})
	}
	for range each {
		g.add(1)
	}
	wg.Wait()
	require.Empty(t, g.waiters)
	require.Zero(t, g.waiting.Load())
}
