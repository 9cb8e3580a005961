// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pace_test

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/pace"
)

var ten = pace.Limit{Units: 10, Per: time.Second, Burst: 2 * time.Second}

func TestAMeterKeepsToItsRate(t *testing.T) {
	// This test has a holder pass as much as it may, for ten seconds, at steps of any
	// length: the burst, and the rate. Quiet is no credit beyond the burst.
	for _, step := range []time.Duration{time.Millisecond, 30 * time.Millisecond, time.Second} {
		var m pace.Meter
		passed, now := 0, int64(time.Hour)
		for begun := now; now < begun+int64(10*time.Second); now += int64(step) {
			for m.Pass(ten, now, 1) {
				passed++
			}
		}
		require.InDelta(t, 20+100, passed, 11, "steps of %v", step)
	}
}

func TestWhatIsLargePassesAndIsPaidFor(t *testing.T) {
	// This test checks that a thing beyond the burst passes, and holds up what comes next
	// for as long as it is worth, an hour at most; a limit of nothing holds up nobody.
	var m pace.Meter
	require.True(t, m.Pass(ten, 0, 50))
	require.False(t, m.Open(ten, int64(3*time.Second)))
	require.True(t, m.Open(ten, int64(3*time.Second)+1))
	m.Take(ten, 0, math.MaxInt64)
	require.True(t, m.Open(ten, int64(time.Hour+10*time.Second)))
	var free pace.Meter
	for range 100 {
		require.True(t, free.Pass(pace.Limit{}, 0, math.MaxInt64))
	}
}

func TestHoldersHaveMetersOfTheirOwn(t *testing.T) {
	// This test has one holder use all of its limit, and others none; those beyond the
	// bound share one, and who has paid is forgotten.
	ms := pace.New[int](ten, 100)
	require.True(t, ms.Open(1, 0))
	for range 20 {
		require.True(t, ms.Pass(1, 0, 1))
	}
	require.False(t, ms.Pass(1, 0, 1))
	require.False(t, ms.Open(1, 0))
	require.True(t, ms.Pass(2, 0, 1))
	for k := range 200 {
		ms.Take(k, 0, 1)
	}
	require.Equal(t, 100, ms.Len())
	require.False(t, ms.Open(150, 0), "it is one of a hundred that share a meter")
	require.False(t, ms.Pass(150, 0, 1))
	require.True(t, ms.Open(3, 0), "it has its own")
	require.True(t, ms.Open(150, int64(time.Minute)))
	for range 100 {
		ms.Take(1, int64(time.Minute), 1)
	}
	require.Equal(t, 1, ms.Len())
}

func TestMetersAreForSeveralGoroutines(t *testing.T) {
	// This test has many ask and take at once; the race detector watches.
	ms := pace.New[int](ten, 8)
	var wg sync.WaitGroup
	for k := range 16 {
		wg.Go(func() {
			for now := range int64(500) {
				if ms.Open(k, now) {
					ms.Take(k, now, 1)
				}
				ms.Pass(k, now, 1)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 8, ms.Len())
}
