// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
)

// This test checks that Workers run at most as many functions as agreed,
// refuse the next, reuse goroutines, and wait in Close.
func TestWorkersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := overlay.NewWorkers(3)
		block := make(chan struct{})
		var done atomic.Int32
		f := func() { <-block; done.Add(1) }
		for range 3 {
			require.True(t, w.Go(overlay.ExecKey{}, f))
		}
		require.False(t, w.Go(overlay.ExecKey{}, f))
		close(block)
		synctest.Wait()
		require.Equal(t, int32(3), done.Load())
		for range 1000 {
			require.True(t, w.Go(overlay.ExecKey{}, f))
			synctest.Wait()
		}
		slow := false
		w.Go(overlay.ExecKey{}, func() { time.Sleep(time.Second); slow = true })
		require.NoError(t, w.Close())
		require.True(t, slow)
		require.False(t, w.Go(overlay.ExecKey{}, f))
		require.NoError(t, w.Close())
		called := false
		w.Wake(overlay.ExecKey{}, func() { called = true })
		require.True(t, called)
	})
}

// This test checks that many callers may use Workers at once.
func TestWorkersAreSafe(t *testing.T) {
	w := overlay.NewWorkers(100)
	var ran, accepted atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				if w.Go(overlay.ExecKey{}, func() { ran.Add(1) }) {
					accepted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, w.Close())
	require.Equal(t, accepted.Load(), ran.Load())
}

// This test checks that streams of randomness differ, that the same name gives
// the same one, and that numbers stay in range.
func TestRealRandIsRandom(t *testing.T) {
	r := overlay.NewRealRand()
	a, b := r.Stream("a"), r.Stream("b")
	require.Same(t, a, r.Stream("a"))
	require.NotEqual(t, a.Uint64(), b.Uint64())
	seen := make(map[int]int)
	for range 3000 {
		seen[a.IntN(3)]++
	}
	for i := range 3 {
		require.InDelta(t, 1000, seen[i], 200)
	}
	require.Panics(t, func() { a.IntN(0) })
	buf := make([]byte, 64)
	n, err := a.Read(buf)
	require.NoError(t, err)
	require.Equal(t, 64, n)
	require.NotEqual(t, make([]byte, 64), buf)
}
