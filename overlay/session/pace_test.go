// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// paced is a pace whose connection takes bytes at a rate, after what finds room below.
type paced struct {
	pace
	rate  int // bytes per second
	room  int // bytes that the queues below hold
	below int // of these, taken
	lag   bool
	last  time.Duration // of the batch before, which a Conn with lag returns with
}

// write writes n bytes as one batch.
func (p *paced) write(n int) {
	p.below += n
	var took time.Duration
	if over := p.below - p.room; over > 0 {
		took = time.Duration(over) * time.Second / time.Duration(p.rate)
		p.below = p.room
	}
	if p.lag {
		took, p.last = p.last, took
	}
	p.wrote(n, took)
}

// rest lets what is below leave, while there is nothing to write.
func (p *paced) rest() {
	p.paused()
	p.below, p.last = 0, 0
}

// This test checks that batches come to take about batchTime on lines of all speeds,
// whether the connection returns with the batch or with the one before, and that they
// grow again when the line is faster.
func TestBatchesTakeAsLongAsTheyMay(t *testing.T) {
	for _, lag := range []bool{false, true} {
		p := &paced{pace: newPace(), lag: lag}
		for _, rate := range []int{1e6, 1e9, 1e5, 1e7, 3e4, 1e10} {
			p.rate = rate
			for range 100_000 {
				p.write(p.limit)
			}
			want := min(max(int(time.Duration(rate)*batchTime/time.Second), batchLeast), batchLimit)
			require.InEpsilon(t, want, p.limit, 0.1, "at %d B/s", rate)
		}
	}
}

// This test checks that one batch that was held up costs little, and not for long.
func TestOneDelayIsNoSlowLine(t *testing.T) {
	p := &paced{pace: newPace(), rate: 100e6}
	for range 1_000 {
		p.write(p.limit)
	}
	require.Equal(t, batchLimit, p.limit)
	p.wrote(p.limit, 15*time.Millisecond) // others had the processor
	require.Equal(t, batchLimit, p.limit)
	p.wrote(p.limit, 300*time.Millisecond) // a packet was lost
	require.GreaterOrEqual(t, p.limit, batchLimit/4)
	for range 400 {
		p.write(p.limit)
	}
	require.Equal(t, batchLimit, p.limit)
}

// This test checks that small batches that leave at once, and those after a pause, say
// nothing about how large one may be.
func TestWhatLeavesAtOnceSaysNothing(t *testing.T) {
	p := &paced{pace: newPace(), rate: 1e9}
	p.limit = 8 << 10
	for range 100 {
		p.rest()
		p.write(8 << 10)
	}
	require.Equal(t, 8<<10, p.limit)
	for range 10_000 {
		p.write(100)
	}
	require.Equal(t, 8<<10, p.limit)
}

// This test checks that what the empty queues of a slow line take at once after a pause
// does not let a large batch stand before an urgent frame there.
func TestAPauseDoesNotMakeASlowLineFast(t *testing.T) {
	p := &paced{pace: newPace(), rate: 1e6, room: 16 << 10}
	for range 100 {
		p.write(p.limit)
	}
	for range 200 {
		p.rest()
		for sent := 0; sent < 48<<10; sent += p.limit {
			p.write(p.limit)
			require.LessOrEqual(t, p.limit, 8_000)
		}
	}
}

// This test checks that short bursts on a fast line get over delays as well.
func TestBurstsGrowAgain(t *testing.T) {
	p := &paced{pace: newPace(), rate: 500e6, room: 64 << 10}
	p.limit = batchLeast
	for range 100 {
		p.rest()
		for sent := 0; sent < 256<<10; sent += p.limit {
			p.write(p.limit)
		}
	}
	require.Equal(t, batchLimit, p.limit)
}
