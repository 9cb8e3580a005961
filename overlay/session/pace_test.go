// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// This test checks that batches come to take about batchTime on lines of all speeds,
// whether the connection returns with the batch or with the one before, and that they
// grow again when the line is faster.
func TestBatchesTakeAsLongAsTheyMay(t *testing.T) {
	for _, lag := range []bool{false, true} {
		p := newPace()
		last := 0
		run := func(bytesPerSecond int) {
			for range 60 {
				n := p.limit
				timed := n
				if lag {
					timed, last = last, n
				}
				p.wrote(n, time.Duration(timed)*time.Second/time.Duration(bytesPerSecond))
			}
		}
		for _, rate := range []int{1e6, 1e9, 1e5, 1e7, 3e4, 1e10} {
			run(rate)
			if want := int(time.Duration(rate) * batchTime / time.Second); want > batchLeast && want < batchLimit {
				require.GreaterOrEqual(t, p.limit, want/4, "at %d B/s", rate)
				require.LessOrEqual(t, p.limit, want, "at %d B/s", rate)
			} else {
				require.Equal(t, min(max(want, batchLeast), batchLimit), p.limit, "at %d B/s", rate)
			}
		}
	}
}

// This test checks that one batch that was held up costs little, and small batches
// that leave at once say nothing about how large one may be.
func TestOneDelayIsNoSlowLine(t *testing.T) {
	p := pace{limit: batchLimit, before: batchLimit}
	p.wrote(batchLimit, 300*time.Millisecond) // a packet was lost
	require.Equal(t, batchLimit/4, p.limit)
	p.wrote(p.limit, time.Millisecond)
	p.wrote(p.limit, time.Millisecond)
	p.wrote(p.limit, time.Millisecond)
	require.Equal(t, batchLimit, p.limit)
	p.limit = 8 << 10
	for range 10 { // nor does one after a pause
		p.paused()
		p.wrote(8<<10, 0)
	}
	require.Equal(t, 8<<10, p.limit)
	for range 10 {
		p.wrote(100, 0)
		p.wrote(8<<10, 0) // the one before was small
	}
	require.Equal(t, 8<<10, p.limit)
}
