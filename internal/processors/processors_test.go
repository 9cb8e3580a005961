// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package processors

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProcessorsFollowTheLoad(t *testing.T) {
	// This test checks how many processors may be used: twice as many at once
	// when they are used up, and half as many when these would have done for
	// five seconds, between one and all.
	g := gauge{most: 6, now: 1}
	for _, tc := range []struct {
		looks int
		used  float64
		want  int
	}{
		{1, 0.5, 1},
		{1, 0.8, 1},
		{1, 0.81, 2},
		{1, 1.7, 4},
		{1, 4, 6},
		{9, 6, 6},
		{calm - 1, 1.7, 6},
		{1, 1.7, 3},
		{calm, 0.5, 1},
		{2 * calm, 0, 1},
		{1, 1, 2},
		{2 * calm, 0.6, 2}, // one would do, but hardly
	} {
		for range tc.looks - 1 {
			require.NotZero(t, g.step(tc.used))
		}
		require.Equal(t, tc.want, g.step(tc.used), "%d looks at %.2f in use", tc.looks, tc.used)
	}
}

func TestAMomentOfWorkBeginsTheFiveSecondsAnew(t *testing.T) {
	// This test checks that processors are given back only after five quiet
	// seconds in a row.
	g := gauge{most: 4, now: 4}
	for range 10 {
		for range calm - 1 {
			require.Equal(t, 4, g.step(0))
		}
		require.Equal(t, 4, g.step(2))
	}
}

func TestTheSettingIsChangedWhenItMustBe(t *testing.T) {
	// This test has a program use up what it may, then nothing: what is set is
	// each number once, and the one from before in the end.
	synctest.Test(t, func(t *testing.T) {
		var set []int
		var sum time.Duration
		var idle atomic.Bool
		stop := pace(4, func() (time.Duration, bool) {
			if !idle.Load() && len(set) > 0 {
				sum += time.Duration(set[len(set)-1]) * every
			}
			return sum, true
		}, func(n int) { set = append(set, n) })
		time.Sleep(10*every + 1)
		synctest.Wait()
		require.Equal(t, []int{1, 2, 4}, set)
		idle.Store(true)
		time.Sleep(3 * calm * every)
		synctest.Wait()
		require.Equal(t, []int{1, 2, 4, 2, 1}, set)
		stop()
		require.Equal(t, []int{1, 2, 4, 2, 1, 4}, set)
	})
}

func TestAProgramIsPacedUntilItStops(t *testing.T) {
	// This test checks the process itself: one processor at first, and what it
	// had in the end.
	if _, ok := used(); !ok {
		t.Skip("this system does not say what a program uses")
	}
	before := runtime.GOMAXPROCS(3)
	defer runtime.GOMAXPROCS(before)
	stop := Pace()
	require.Less(t, runtime.GOMAXPROCS(0), 3)
	stop()
	require.Equal(t, 3, runtime.GOMAXPROCS(0))
	first, _ := used()
	for until := time.Now().Add(50 * time.Millisecond); time.Now().Before(until); {
	}
	second, _ := used()
	require.Greater(t, second, first)
}
