// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// more adds to frame number of lane pub.
func (q *sendLog) more(number uint64, body string) bool {
	return q.extend(wire.LanePub, number, len(body), wire.MaxFrame, [][]byte{[]byte(body)})
}

func TestOnlyTheLastFrameThatWasNotSentIsExtended(t *testing.T) {
	// This test adds to frames: while one is the last of its lane, and was not
	// sent, and stays a frame, and the window has room, it grows; else nothing is
	// done. What a broken connection had taken, and lost, is as if it had not been
	// sent.
	q := testLog(100_000)
	require.True(t, q.put(wire.LanePub, 0, "one"))
	require.True(t, q.more(1, "+"))
	require.True(t, q.put(wire.LaneRPC, 0, "other lane"))
	require.True(t, q.more(1, "+"))
	require.False(t, q.more(2, "?"), "there is none")
	require.True(t, q.put(wire.LanePub, 0, "two"))
	require.False(t, q.more(1, "?"), "it is not the last one")
	require.Equal(t, []string{"other lane", "one++", "two"}, q.next(t, batchLimit))
	require.False(t, q.more(2, "?"), "it was sent")

	require.True(t, q.put(wire.LanePub, 0, "three"))
	require.True(t, q.resume(wire.Counts{wire.LaneRPC: 1, wire.LanePub: 1}))
	require.True(t, q.more(3, "+"))
	require.Equal(t, []string{"two", "three+"}, q.next(t, batchLimit))
	require.True(t, q.resume(wire.Counts{wire.LaneRPC: 1, wire.LanePub: 2}))
	require.True(t, q.more(3, "+"), "the peer has not received it")
	require.Equal(t, []string{"three++"}, q.next(t, batchLimit))
	q.ackAll()
	require.Zero(t, q.windows[wire.LanePub].queued+q.windows[wire.LanePub].kept+q.windows[wire.LanePub].promised)

	require.True(t, q.put(wire.LanePub, 0, "four"))
	require.True(t, q.withdraw(wire.LanePub, 4))
	require.False(t, q.more(4, "?"), "nobody would see it")
	require.True(t, q.put(wire.LanePub, 0, strings.Repeat("x", 60_000)))
	require.True(t, q.more(5, strings.Repeat("y", 5536)))
	require.False(t, q.more(5, "?"), "it is as long as a frame may be")
	require.True(t, q.put(wire.LanePub, 0, strings.Repeat("x", 30_000)))
	require.False(t, q.more(6, strings.Repeat("y", 10_000)), "the window is full")
	require.True(t, q.more(6, "y"))
	require.False(t, q.extend(wire.LanePub, 6, 1, 30_000, [][]byte{{'y'}}), "the link is too slow for longer ones")
}

func TestASingleFrameOfLaneBulkGrowsWhileItIsTheLast(t *testing.T) {
	// This test adds to single frames of lane bulk, which go behind what is in order
	// already, or wait for their turn beside large messages: while one is the last
	// of them, and was not sent, it grows.
	q := testLog(1 << 20)
	single := func(body string) uint64 {
		_, acc, size := place(wire.LaneBulk, len(body))
		require.True(t, q.reserve(acc, size))
		return q.push(wire.LaneBulk, acc, wire.KindRequest, size, [][]byte{[]byte(body)})
	}
	grows := func(number uint64, body string) bool {
		return q.extend(wire.LaneBulk, number, len(body), wire.MaxFrame, [][]byte{[]byte(body)})
	}
	one := single("one")
	require.True(t, grows(one, "+"))
	two := single("two")
	require.False(t, grows(one, "?"), "it is not the last one")
	require.True(t, grows(two, "+"))
	require.Equal(t, []string{"one+", "two+"}, q.next(t, batchLimit))
	require.False(t, grows(two, "?"), "it was sent")

	large := strings.Repeat("x", 200_000)
	require.True(t, q.put(wire.LaneBulk, 1, large))
	three := single("three")
	require.True(t, grows(three, "+"))
	q.next(t, chunkFill)
	require.True(t, grows(three, "+"), "it waits for its turn")
	require.Contains(t, q.next(t, 1<<20), "three++")
	require.False(t, grows(three, "?"))
	four := single("four")
	require.True(t, q.put(wire.LaneBulk, 2, large))
	require.False(t, grows(four, strings.Repeat("y", 1<<20)), "it stays a frame")
	q.next(t, 1<<20)
	require.False(t, grows(four, "?"))
	q.next(t, 1<<20)
	q.ackAll()
	w := q.windows[singles]
	require.Zero(t, w.queued+w.kept+w.promised)
}

func TestExtendedFramesKeepTheAccount(t *testing.T) {
	// This test puts, extends, sends, acknowledges, and breaks connections at
	// random: what arrives is what was put and added, in order, and in the end no
	// room is taken.
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		q := testLog(20_000)
		var want, got []string
		sent := uint64(0)
		for range 500 {
			switch text := strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(900)); r.IntN(6) {
			case 0, 1:
				if q.put(wire.LanePub, 0, text) {
					want = append(want, text)
				}
			case 2, 3:
				if q.more(uint64(len(want)), text) {
					want[len(want)-1] += text
				}
			case 4:
				got = append(got[:sent], q.next(t, 4000)...)
				sent = uint64(len(got))
			case 5:
				q.ack(wire.Counts{wire.LanePub: sent})
				require.True(t, q.resume(wire.Counts{wire.LanePub: sent}))
			}
		}
		got = append(got, q.next(t, 1<<20)...)
		require.Equal(t, want, got, "seed %d", seed)
		q.ackAll()
		require.Zero(t, q.windows[wire.LanePub].queued+q.windows[wire.LanePub].kept)
	}
}
