// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// ahead is how far the peer's clock is ahead in these tests, in ns.
const ahead = 5_000_000_000

// This test checks that what is said one way bounds the offset from below: the
// shortest way counts, however long the first one was.
func TestLinkClockBelievesTheFastestMessage(t *testing.T) {
	var c linkClock
	require.True(t, c.message(3_000_000_000, ahead), "3 s on its way, as on a link that loses packets")
	require.Equal(t, int64(ahead-3_000_000_000), c.offset)
	require.True(t, c.message(3_400_000_300, 3_400_000_000+ahead))
	require.Equal(t, int64(ahead-300), c.offset)
	require.False(t, c.message(4_000_000_000, 3_000_000_000+ahead), "a slow one says nothing new")
	require.Equal(t, int64(ahead-300), c.offset)
	require.True(t, c.exchange(9_000_000_000, 5_000_000_000, 0, 7_500_000_000+ahead), "any answer is better")
	require.Equal(t, int64(ahead+500_000_000), c.offset)
}

// This test checks the estimate against peers whose clock, drift and delays are
// known: the error is at most half the best round trip that is not too old, and
// a message that contradicts it makes it smaller.
func TestLinkClockPrefersTheShortestRoundTrip(t *testing.T) {
	var c linkClock
	require.True(t, c.exchange(11_000, 1_000, 2_000, 11_000+ahead-1_000), "6000 there, 1000 back, kept for 2000")
	require.InDelta(t, ahead, c.offset, 4_000)
	require.Equal(t, uint64(8_000), c.rtt)
	require.True(t, c.exchange(30_000, 29_000, 0, 30_000+ahead-500))
	require.Equal(t, int64(ahead), c.offset)
	before := c
	require.False(t, c.exchange(50_000, 40_000, 0, 46_000+ahead), "a longer one says less")
	require.False(t, c.message(60_000, 60_000+ahead))
	require.Equal(t, before, c)
	require.True(t, c.message(60_000, 60_000+ahead+200))
	require.Equal(t, int64(ahead+200), c.offset)
	require.Equal(t, uint64(500+3-200), c.err)

	// A clock that runs 100 ppm fast has left the estimate behind after a
	// minute: now a longer round trip knows better.
	now := uint64(60_000_000_000)
	require.True(t, c.exchange(now, now-10_000, 0, now-5_000+ahead+6_000_000))
	require.Equal(t, int64(ahead+6_000_000), c.offset)
}

// This test checks that a clock that stood still is noticed, ours by any
// message, the peer's by the next answer, however long that was under way.
func TestLinkClockNoticesThatOneStoodStill(t *testing.T) {
	const hour = 3_600_000_000_000
	for name, c := range map[string]struct {
		stood int64
		learn func(*linkClock, uint64) bool
	}{
		"ours, a message": {hour, func(c *linkClock, now uint64) bool { return c.message(now, now+ahead+hour) }},
		"ours, an answer": {hour, func(c *linkClock, now uint64) bool {
			return c.exchange(now, now-50_000_000, 0, now-25_000_000+ahead+hour)
		}},
		"the peer's, an answer": {-hour, func(c *linkClock, now uint64) bool {
			return c.exchange(now, now-50_000_000, 0, now-25_000_000+ahead-hour)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var clock linkClock
			now := uint64(2 * hour)
			require.True(t, clock.exchange(now, now-1000, 0, now-500+ahead))
			require.True(t, c.learn(&clock, now+1_000_000))
			require.Equal(t, ahead+c.stood, clock.offset)
		})
	}
}

// This test checks that answers that can't be right are not learned from.
func TestLinkClockIgnoresNonsense(t *testing.T) {
	var c linkClock
	for _, s := range [][4]uint64{
		{100, 200, 0, 100},         // asked in the future
		{100, 50, 51, 100},         // kept for longer than it took
		{100, 50, 0, 1 << 63},      // absurd clock
		{1 << 63, 50, 0, 1},        // the same of ours
		{100, 50, 1<<64 - 1, 1000}, // overflow
	} {
		require.False(t, c.exchange(s[0], s[1], s[2], s[3]))
	}
	require.False(t, c.message(1<<63, 1))
	require.False(t, c.message(1, 1<<63))
	require.Equal(t, linkClock{}, c)
}
