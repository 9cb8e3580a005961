// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

func testQueue(limit int) *sendQueue {
	return newSendQueue([laneCount]int{limit, limit, limit, limit}, 1<<20, &chunkPool{})
}

// put queues a body as Send does, in fragments if it is large.
func (q *sendQueue) put(lane Lane, channel uint32, body string) bool {
	n := len(body)
	if !single(lane, n) {
		if !q.reserve(LaneBulk, messageSize(n)) {
			return false
		}
		q.pushMessage(fragment(q.pool, channel, wire.KindReply, n, [][]byte{[]byte(body)}))
		return true
	}
	size := n + wire.FrameOverhead
	lane = accountOf(lane, n)
	if !q.reserve(lane, size) {
		return false
	}
	q.push(lane, wire.KindRequest, size, [][]byte{[]byte(body)})
	return true
}

// drain takes one batch and describes its frames.
func (q *sendQueue) drain(t testing.TB, limit int) []string {
	var frames []string
	var joined []byte
	for c := q.take(limit); c != nil; c = c.next {
		joined = append(joined, c.b...)
	}
	r := wire.NewFrameReader(bytes.NewReader(joined))
	for range 10_000 {
		k, body, err := r.Next()
		if err != nil {
			break
		}
		if k == wire.KindFragment {
			f, err := wire.DecodeFragment(body)
			require.NoError(t, err)
			frames = append(frames, fmt.Sprintf("#%d", f.Channel))
			continue
		}
		frames = append(frames, string(body))
	}
	return frames
}

// This test checks the order of the lanes, and the order within each.
func TestQueueTakesByPriority(t *testing.T) {
	q := testQueue(1 << 20)
	require.True(t, q.empty())
	for i := range 3 {
		for lane := LaneBulk; lane <= LaneBulk; lane-- {
			require.True(t, q.put(lane, 0, fmt.Sprint(lane, i)))
		}
	}
	require.False(t, q.empty())
	require.Equal(t, []string{
		"ctl0", "ctl1", "ctl2", "rpc0", "rpc1", "rpc2", "pub0", "pub1", "pub2", "bulk0", "bulk1", "bulk2",
	}, strip(q.drain(t, batchLimit)))
	require.True(t, q.empty())
}

func strip(frames []string) []string {
	for i, f := range frames {
		frames[i] = string(bytes.ReplaceAll([]byte(f), []byte(" "), nil))
	}
	return frames
}

// This test checks that the channels of lane bulk take turns, one fragment
// each, and that all small frames together are one channel.
func TestBulkChannelsTakeTurns(t *testing.T) {
	q := testQueue(1 << 20)
	q.put(LaneBulk, 1, string(make([]byte, 3*MaxFrameBody)))
	q.put(LaneBulk, 0, "a")
	q.put(LaneBulk, 2, string(make([]byte, MaxFrameBody+frameSlack+1)))
	q.put(LaneBulk, 0, "b")
	require.Equal(t, []string{"#1", "a", "b", "#2"}, q.drain(t, 140<<10))
	q.put(LaneBulk, 0, "c")
	require.Equal(t, []string{"#1", "#2", "c"}, q.drain(t, 70<<10))
	require.Equal(t, []string{"#1"}, q.drain(t, batchLimit))
	require.Zero(t, q.queued(LaneBulk))
}

// This test checks that what lane bulk carries in single frames, and those who
// wait for room for it, leave room for large messages, and the other way round.
func TestSingleFramesAndLargeMessagesDoNotTakeEachOthersRoom(t *testing.T) {
	q := testQueue(4 << 20)
	single, large := string(make([]byte, 60<<10)), string(make([]byte, 1<<20))
	n := 0
	for ; q.put(LaneBulk, 0, single); n++ {
	}
	require.Equal(t, singlesBytes/(60<<10), n)
	w := q.wait(laneSingles, 60<<10)
	for i := range 3 {
		require.True(t, q.put(LaneBulk, uint32(i), large))
	}
	require.False(t, q.put(LaneBulk, 3, large))
	require.Greater(t, q.queued(LaneBulk), 3<<20)
	q.take(batchLimit) // takes turns, so there is room for both
	require.Equal(t, []*roomWaiter{w}, q.grant())
	for !q.empty() {
		q.take(batchLimit)
	}
	require.Equal(t, 60<<10, q.queued(LaneBulk), "what was granted")
}

// This test checks that a batch is at most 256 KiB of whole frames, and that
// what does not fit is not overtaken by lower lanes.
func TestBatchIsBounded(t *testing.T) {
	q := testQueue(4 << 20)
	large := string(make([]byte, MaxFrameBody))
	for range 5 {
		q.put(LaneRPC, 0, large)
	}
	q.put(LanePub, 0, "small")
	require.Len(t, q.drain(t, batchLimit), 3)
	require.Equal(t, []string{large, large, "small"}, q.drain(t, batchLimit))
	require.Nil(t, q.take(batchLimit))
}

// This test checks the bound of a lane, that others are not affected, and that
// an empty lane takes what is larger than the lane.
func TestLaneIsBounded(t *testing.T) {
	q := testQueue(100)
	require.True(t, q.put(LaneRPC, 0, string(make([]byte, 95))))
	require.False(t, q.put(LaneRPC, 0, ""))
	require.True(t, q.put(LanePub, 0, string(make([]byte, 1000))), "empty")
	require.False(t, q.put(LanePub, 0, ""))
	require.True(t, q.put(LaneBulk, 1, string(make([]byte, 1<<20))), "empty")
	require.False(t, q.put(LaneBulk, 2, string(make([]byte, 1<<20))))
	q.take(batchLimit)
	require.True(t, q.put(LaneRPC, 0, ""))
}

// This test checks that room is given in the order of asking, that nobody
// overtakes, and that a waiter who leaves gives room back.
func TestRoomIsGrantedInOrder(t *testing.T) {
	q := testQueue(100)
	require.True(t, q.reserve(LaneRPC, 90))
	w1, w2, w3 := q.wait(LaneRPC, 60), q.wait(LaneRPC, 30), q.wait(LaneRPC, 40)
	require.Empty(t, q.grant())
	require.False(t, q.reserve(LaneRPC, 1), "others wait")
	require.True(t, q.reserve(LaneCtl, 1))
	q.unreserve(LaneRPC, 90)
	require.Equal(t, []*roomWaiter{w1, w2}, q.grant())
	require.True(t, w1.granted)
	q.forget(LaneRPC, w1)
	require.Equal(t, []*roomWaiter{w3}, q.grant())
	w4 := q.wait(LaneRPC, 99)
	q.forget(LaneRPC, w4)
	require.True(t, q.reserve(LaneRPC, 30))
	require.Equal(t, 100, q.lanes[LaneRPC].bytes)
	w5 := q.wait(LaneRPC, 1)
	_, waiting := q.drop()
	require.Equal(t, []*roomWaiter{w5}, waiting)
	require.False(t, w5.granted)
}

// This test checks that drop counts messages, not fragments.
func TestDropCountsMessages(t *testing.T) {
	q := testQueue(8 << 20)
	q.put(LaneCtl, 0, "a")
	q.put(LaneRPC, 0, "b")
	q.put(LaneRPC, 0, "c")
	q.put(LaneBulk, 1, string(make([]byte, 1<<20)))
	q.put(LaneBulk, 2, string(make([]byte, 1<<20)))
	q.take(batchLimit) // with a few fragments
	q.put(LanePub, 0, "d")
	messages, _ := q.drop()
	require.Equal(t, 3, messages)
	require.True(t, q.empty())
}

// This test checks that what a message is said to take is what it takes, and
// that fragments join to what was cut, however it came in parts.
func TestFragmentsJoinToTheMessage(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		n := MaxFrameBody + 1 + rng.IntN(5*MaxFrameBody)
		if rng.IntN(4) == 0 {
			n = MaxFrameBody * (2 + rng.IntN(3))
		}
		body := make([]byte, n)
		for i := range body {
			body[i] = byte(rng.Uint32())
		}
		var parts [][]byte
		for rest := body; len(rest) > 0; {
			cut := min(len(rest), rng.IntN(n/2))
			parts = append(parts, rest[:cut])
			rest = rest[cut:]
		}
		m := fragment(&chunkPool{}, 7, wire.KindReply, n, parts)
		r := newReassembly(8 << 20)
		size, whole := 0, []byte(nil)
		for c := m.chunks.head; c != nil; c = c.next {
			size += len(c.b)
			f, err := wire.DecodeFragment(c.b[wire.FrameOverhead:])
			require.NoError(t, err)
			k, got, drop := r.add(f)
			require.Zero(t, drop)
			if k != 0 {
				require.Equal(t, wire.KindReply, k)
				whole = got
			}
		}
		require.Equal(t, messageSize(n), size)
		require.Equal(t, body, whole)
		require.Zero(t, r.pending())
		require.Zero(t, r.bytes)
	}
}

// This test checks that an honest sender never has more on its way than the
// receiver bears, with many messages of all sizes, and loses nothing.
func TestSenderStaysWithinTheReceiversBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const maxMessage = 1 << 20
	q := newSendQueue([laneCount]int{LaneBulk: 8 << 20}, maxMessage, &chunkPool{})
	r := newReassembly(maxMessage)
	sent, got := 0, 0
	for step := 0; step < 400 || !q.empty(); step++ {
		for range rng.IntN(4) {
			n := MaxFrameBody + 1 + rng.IntN(200_000)
			if rng.IntN(10) == 0 {
				n = maxMessage
			}
			if step < 400 && q.put(LaneBulk, uint32(step*4+sent%4), string(make([]byte, n))) {
				sent++
			}
		}
		for c := q.take(batchLimit); c != nil; c = c.next {
			f, err := wire.DecodeFragment(c.b[wire.FrameOverhead:])
			require.NoError(t, err)
			k, _, drop := r.add(f)
			require.Equal(t, dropNone, drop)
			if k != 0 {
				got++
			}
		}
	}
	require.Equal(t, sent, got)
	require.Greater(t, sent, 150)
}

// This test checks that queueing and taking small frames does not allocate
// once the buffers have grown.
func TestQueueDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool forget at random")
	}
	q := testQueue(1 << 20)
	body := make([]byte, 1024)
	round := func() {
		for range 300 {
			size := len(body) + wire.FrameOverhead
			require.True(t, q.reserve(LaneRPC, size))
			parts := [1][]byte{body}
			q.push(LaneRPC, wire.KindRequest, size, parts[:])
		}
		for c := q.take(batchLimit); c != nil; c = q.take(batchLimit) {
			q.pool.putAll(c)
		}
		q.grant()
	}
	round()
	require.Less(t, testing.AllocsPerRun(100, round), 2.0)
}

// BenchmarkQueue measures the send queue alone: one operation is one frame of
// 1 KB queued and taken.
func BenchmarkQueue(b *testing.B) {
	q := testQueue(4 << 20)
	body := make([]byte, 1024)
	parts := [1][]byte{body}
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for i := 0; i < b.N; i++ {
		size := len(body) + wire.FrameOverhead
		q.reserve(LaneRPC, size)
		q.push(LaneRPC, wire.KindRequest, size, parts[:])
		if i%256 == 255 {
			for c := q.take(batchLimit); c != nil; c = q.take(batchLimit) {
				q.pool.putAll(c)
			}
		}
	}
}

// This test checks that one visitor lets no more past those who wait behind it
// than it came for, whoever sends that, and everything if nobody waits.
func TestAVisitorLetsNoMoreOvertakeThanItCameFor(t *testing.T) {
	q := testQueue(1000)
	require.True(t, q.reserve(LanePub, 1000))
	visitor, behind := q.wait(LanePub, 300), q.wait(LanePub, 300)
	visitor.visits = true
	require.Empty(t, q.grant())
	require.False(t, q.hasRoom(LanePub, 1))

	q.unreserve(LanePub, 1000)
	require.Equal(t, []*roomWaiter{visitor}, q.grant(), "the one behind comes when it has looked")
	require.True(t, q.reserve(LanePub, 200))
	require.True(t, q.reserve(LanePub, 200), "the last one may be somewhat larger")
	require.False(t, q.hasRoom(LanePub, 1), "there is room, but not before who waits")
	q.forget(LanePub, visitor)
	require.Equal(t, []*roomWaiter{behind}, q.grant())
	require.True(t, q.reserve(LanePub, 300), "nobody waits any more")

	last := q.wait(LanePub, 100)
	last.visits = true
	q.unreserve(LanePub, 400)
	require.Equal(t, []*roomWaiter{last}, q.grant())
	for range 4 {
		require.True(t, q.reserve(LanePub, 100), "nobody waits behind it")
	}
}
