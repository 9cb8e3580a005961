// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

func newBacklog(o patterns.Overflow, length, window int) *backlog {
	return &backlog{overflow: o, limits: bounds{length, 500}, window: bounds{window, 500}}
}

// wide lets everything out.
func wide(b *backlog) *backlog {
	b.window = bounds{1 << 30, 1 << 30}
	return b
}

// message is one whose body is its name.
func message(name string) *patterns.Publication {
	return &patterns.Publication{From: "p", Topic: "t", Body: []byte(name)}
}

// trace hands out all that goes out now, as text.
func trace(b *backlog) (list []string) {
	for {
		p, g, number, ok := b.next()
		switch {
		case !ok:
			return list
		case p != nil:
			list = append(list, fmt.Sprintf("%d %s", number, p.Body))
		default:
			list = append(list, fmt.Sprintf("%d gap %d %s from=%q exact=%v", number, g.Missed, g.Reason, g.From, g.Exact))
		}
	}
}

// This test checks what a full backlog drops, where the gap stands, and the
// numbers.
func TestAFullBacklogTellsWhatItDropped(t *testing.T) {
	tests := []struct {
		name     string
		overflow patterns.Overflow
		want     []string
	}{
		{"oldest", patterns.OverflowOldest, []string{`2 gap 2 slow from="p" exact=true`, "3 c", "4 d", "5 e"}},
		{"newest", patterns.OverflowNewest, []string{"1 a", "2 b", "3 c", `5 gap 2 slow from="p" exact=true`}},
		{"block, where nobody may wait", patterns.OverflowBlock, []string{"1 a", "2 b", "3 c", `5 gap 2 slow from="p" exact=true`}},
	}
	for _, tt := range tests {
		b := newBacklog(tt.overflow, 1, 2)
		dropped := 0
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			dropped += b.put(message(name), 2, false)
		}
		require.Equal(t, 2, dropped, tt.name)
		require.Equal(t, uint64(5), b.total(), tt.name)
		require.Equal(t, tt.want, trace(wide(b)), tt.name)
		require.True(t, b.empty(), tt.name)
	}
}

// This test checks that bytes are a bound, too, but not for what is alone.
func TestABacklogIsBoundedInBytes(t *testing.T) {
	b := newBacklog(patterns.OverflowNewest, 100, 100)
	require.Zero(t, b.put(message("huge"), 5000, false))
	require.Equal(t, 1, b.put(message("more"), 1, false))
	trace(b)
	require.True(t, b.taken(1))
	require.Zero(t, b.put(message("a"), 600, false))
	require.Equal(t, 1, b.put(message("b"), 600, false))
	require.Zero(t, b.put(message("c"), 400, false))
}

// This test checks that a subscription does not grow while its client's hold too
// much, whatever its policy, and that it may have one message nevertheless.
func TestATightBacklogDoesNotGrow(t *testing.T) {
	for _, overflow := range []patterns.Overflow{patterns.OverflowOldest, patterns.OverflowNewest} {
		b := newBacklog(overflow, 100, 100)
		require.Zero(t, b.put(message("a"), 100, true), "it is alone")
		require.Equal(t, 1, b.put(message("b"), 100, true))
		require.LessOrEqual(t, b.bytes, 100)
		require.Zero(t, b.put(message("c"), 50, false))
		require.LessOrEqual(t, 1, b.put(message("d"), 120, true))
		require.LessOrEqual(t, b.bytes, 150)
		require.Equal(t, uint64(4), b.total())
		require.Contains(t, fmt.Sprint(trace(wide(b))), "relay")
	}
}

// This test checks that no more goes out than the client has room for, in
// messages and bytes, gaps included, and that it always goes on when half a
// window is told as taken.
func TestAWindowHoldsUntilSomethingIsTaken(t *testing.T) {
	b := newBacklog(patterns.OverflowOldest, 100, 4)
	for i := range 10 {
		b.put(message(fmt.Sprint(i)), 1, false)
	}
	require.Len(t, trace(b), 4)
	require.Empty(t, trace(b))
	require.True(t, b.taken(2))
	require.Len(t, trace(b), 2)
	require.True(t, b.taken(6))
	require.False(t, b.taken(7), "it has not been sent")
	require.True(t, b.taken(1), "it crossed another one")
	require.Len(t, trace(b), 4)

	b = newBacklog(patterns.OverflowOldest, 100, 100)
	b.limits.bytes = 1 << 20
	b.put(message("x"), 200, false)
	for range 10 {
		b.put(message("x"), 300, false)
	}
	require.Len(t, trace(b), 2, "more than half a window is out")
	b.taken(1)
	require.Empty(t, trace(b))
	b.taken(2)
	require.Len(t, trace(b), 1)
}

// This test checks that gaps side by side are one for each reason, and say no
// more than is known of all of them.
func TestGapsSideBySideAreJoined(t *testing.T) {
	b := newBacklog(patterns.OverflowOldest, 1, 1)
	b.gap(patterns.Gap{From: "p", Missed: 1, Exact: true, Reason: patterns.GapLost})
	b.gap(patterns.Gap{From: "p", Missed: 2, Exact: true, Reason: patterns.GapLane})
	b.gap(patterns.Gap{From: "q", Missed: 3, Exact: false, Reason: patterns.GapLost})
	b.put(message("a"), 1, false)
	b.gap(patterns.Gap{From: "p", Missed: 4, Exact: true, Reason: patterns.GapLost})
	b.put(message("b"), 1, false)
	b.put(message("c"), 1, false) // drops a: the gaps before and behind it meet
	require.Equal(t, []string{
		`8 gap 8 lost from="" exact=false`, `10 gap 2 lane from="p" exact=true`, `11 gap 1 slow from="p" exact=true`, "12 b", "13 c",
	}, trace(wide(b)))
}

// This test checks what a client is told that comes back: exactly what it has
// not seen, or that nobody knows.
func TestWhoComesBackIsToldWhatItMissed(t *testing.T) {
	full := func() *backlog {
		b := newBacklog(patterns.OverflowOldest, 100, 2)
		for i := range 5 {
			b.put(message(fmt.Sprint(i)), 1, false)
		}
		trace(b)
		return b
	}
	tests := []struct {
		name   string
		number uint64
		exact  bool
		want   []string
	}{
		{"saw one", 1, true, []string{`5 gap 4 relay from="" exact=true`, "6 new"}},
		{"saw nothing", 0, true, []string{`5 gap 5 relay from="" exact=true`, "6 new"}},
		{"saw one, but something unknown is missing", 1, false, []string{`5 gap 4 relay from="" exact=false`, "6 new"}},
		{"saw all", 5, true, []string{"6 new"}},
		{"counts otherwise", 1 << 60, true, []string{`5 gap 0 relay from="" exact=false`, "6 new"}},
	}
	for _, tt := range tests {
		b := full()
		b.resume(tt.number, tt.exact)
		b.put(message("new"), 1, false)
		require.Equal(t, tt.want, trace(b), tt.name)
	}
}

// This test checks over random histories that what was handed out and what the
// gaps say is what came, in order and without a hole in the numbers.
func TestDeliveredAndMissedIsWhatCame(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b := newBacklog(patterns.Overflow(rng.IntN(2)), 1+rng.IntN(5), 1+rng.IntN(5))
		var came, seen, last uint64
		lastBody := -1
		for step := range 300 {
			switch rng.IntN(6) {
			case 0, 1, 2:
				came++
				b.put(message(fmt.Sprint(step)), 1+rng.IntN(300), rng.IntN(4) == 0)
			case 3:
				n := uint64(rng.IntN(3))
				came += n
				b.gap(patterns.Gap{Missed: n, Exact: true, Reason: patterns.GapLost})
			case 4:
				b.taken(uint64(rng.Int64N(int64(last + 1))))
			case 5:
				p, g, number, ok := b.next()
				if !ok {
					continue
				}
				if p != nil {
					seen++
					var body int
					fmt.Sscan(string(p.Body), &body)
					require.Greater(t, body, lastBody, "seed %d", seed)
					lastBody = body
				}
				seen += g.Missed
				require.Equal(t, seen, number, "seed %d", seed)
				last = number
			}
			require.Equal(t, came, b.total(), "seed %d", seed)
			require.LessOrEqual(t, b.length(), b.limits.length+b.window.length)
			require.LessOrEqual(t, b.unread.Len(), b.window.length)
		}
		for {
			p, g, _, ok := wide(b).next()
			if !ok {
				break
			}
			if p != nil {
				seen++
			}
			seen += g.Missed
		}
		require.Equal(t, came, seen, "seed %d", seed)
	}
}
