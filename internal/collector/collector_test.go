// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGarbageIsBoundedByWhatIsInUse(t *testing.T) {
	// This test checks how much garbage may gather: as Go has it while little
	// is in use, then 4 MiB, or 8 while there is much to do, then a fifth.
	for _, tc := range []struct {
		inUse      uint64
		idle, busy int
	}{
		{0, 100, 200},
		{1 << 20, 100, 200},
		{4 << 20, 100, 200},
		{5 << 20, 80, 160},
		{8 << 20, 50, 100},
		{16 << 20, 25, 50},
		{20 << 20, 20, 40},
		{21 << 20, 20, 38},
		{160 << 20, 20, 20},
		{100 << 30, 20, 20},
	} {
		require.Equal(t, tc.idle, percent(tc.inUse, false), "%d bytes in use", tc.inUse)
		require.Equal(t, tc.busy, percent(tc.inUse, true), "%d bytes in use", tc.inUse)
	}
}

func TestThereIsMuchToDoWhileGarbageGathersQuickly(t *testing.T) {
	// This test checks when more garbage may gather: it does not change with each
	// collection, though with more of it they are rarer.
	require.False(t, isBusy(false, time.Minute))
	require.False(t, isBusy(false, busyFrom))
	require.True(t, isBusy(false, busyFrom-1))
	require.True(t, isBusy(true, 8*busyFrom-1))
	require.False(t, isBusy(true, busyUntil))
}

func TestThePaceFollowsTheHeap(t *testing.T) {
	// This test has much in use, then little again: the setting follows after
	// collections, and the one from before comes back in the end.
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	stop := Pace()
	settles := func(ok func(now uint64) bool) {
		t.Helper()
		require.Eventually(t, func() bool {
			runtime.GC()
			return ok(setting())
		}, time.Minute, time.Millisecond)
	}
	held := make([]byte, 64<<20)
	settles(func(now uint64) bool { return now < 60 })
	runtime.KeepAlive(held) // and no longer
	settles(func(now uint64) bool { return now > normal })
	stop()
	stop()
	runtime.GC()
	require.EqualValues(t, 77, setting())
}

// setting returns what the collector is set to now.
func setting() uint64 {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
