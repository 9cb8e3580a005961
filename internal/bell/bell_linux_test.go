// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package bell_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke/internal/bell"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEachRingIsHeard proves that who waits goes on for each ring, however the two come
// to meet, and that what is rung before a Wait is heard by it.
func TestEachRingIsHeard(t *testing.T) {
	b := bell.New()
	defer b.Close()
	for range 3 {
		b.Ring()
	}
	require.True(t, b.Wait())

	var wg sync.WaitGroup
	defer wg.Wait()
	heard := make(chan int)
	const rings = 20_000
	wg.Go(func() {
		defer close(heard)
		for n := range rings {
			if !b.Wait() {
				return
			}
			heard <- n
		}
	})
	for n := range rings {
		if n%2 == 0 { // who waits is there already, or not yet
			b.Ring()
		} else {
			wg.Go(b.Ring)
		}
		require.Equal(t, n, <-heard)
	}
}

// TestCloseEndsAWait proves that nobody waits at a bell that is gone, and that ringing
// it does no harm.
func TestCloseEndsAWait(t *testing.T) {
	for range 200 { // before the other one waits, or while it does
		b := bell.New()
		heard := make(chan bool)
		go func() {
			heard <- b.Wait()
			heard <- b.Wait()
		}()
		b.Ring()
		require.True(t, <-heard)
		runtime.Gosched()
		b.Close()
		require.False(t, <-heard)
		b.Ring()
		require.False(t, b.Wait())
		b.Close()
	}
}
