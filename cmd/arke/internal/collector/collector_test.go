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
	// is in use, then 4 MiB, then a fifth.
	for _, tc := range []struct {
		inUse uint64
		want  int
	}{
		{0, 100},
		{1 << 20, 100},
		{4 << 20, 100},
		{5 << 20, 80},
		{8 << 20, 50},
		{16 << 20, 25},
		{20 << 20, 20},
		{21 << 20, 20},
		{100 << 30, 20},
	} {
		require.Equal(t, tc.want, percent(tc.inUse), "%d bytes in use", tc.inUse)
	}
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
	settles(func(now uint64) bool { return now == least })
	runtime.KeepAlive(held)
	held = nil
	settles(func(now uint64) bool { return now > 3*least })
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
