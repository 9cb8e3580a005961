// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBallastFillsUpWhatASmallProgramUses(t *testing.T) {
	// This test checks how heavy the ballast is: nothing while few long bodies are
	// kept, or in a program that uses enough by itself; what is in use counts
	// without it, and small changes don't move it.
	const mib = 1 << 20
	for _, tc := range []struct{ made, held, live, want int }{
		{0, 0, mib, 0},
		{manyBodies - 1, 0, mib, 0},
		{manyBodies, 0, mib, 7 * mib},
		{manyBodies, 0, 2*mib + 1, 5 * mib},
		{manyBodies, 7 * mib, 8 * mib, 7 * mib},
		{manyBodies, 6 * mib, 8*mib - 1, 6 * mib},
		{manyBodies, 6 * mib, 9*mib - 1, 6 * mib},
		{manyBodies, 6 * mib, 10 * mib, 4 * mib},
		{manyBodies, 6 * mib, 5 * mib, 8 * mib}, // found before the ballast was there
		{manyBodies, 1 * mib, 8*mib + 1, 0},
		{manyBodies, 0, 100 * mib, 0},
		{manyBodies - 1, 7 * mib, 8 * mib, 0},
	} {
		require.Equal(t, tc.want, weigh(tc.made, tc.held, uint64(tc.live)), "%+v", tc)
	}
}

func TestBallastComesAndGoesWithLongBodies(t *testing.T) {
	// This test keeps many long bodies between collections, then none: the ballast
	// is there while they come, and is looked after by nobody in the end.
	var b Bodies
	heavy := func() (held int, watching bool) {
		b.ballast.mu.Lock()
		defer b.ballast.mu.Unlock()
		return len(b.ballast.held), b.ballast.watching
	}
	require.Eventually(t, func() bool {
		for range manyBodies {
			b.get(MaxPayload)
		}
		runtime.GC()
		held, watching := heavy()
		return held > 0 && watching
	}, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool {
		runtime.GC()
		held, watching := heavy()
		return held == 0 && !watching
	}, time.Minute, time.Millisecond)
	for range manyBodies { // given back, they are no work for the collector; the race detector loses some
		b.Put(b.get(MaxPayload))
	}
	runtime.GC()
	held, _ := heavy()
	require.Zero(t, held)
}
