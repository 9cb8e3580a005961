// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/raced"
	"github.com/arke-mesh/arke/internal/waitline"
	"github.com/arke-mesh/arke/internal/wire"
)

func testLog(limit int) *sendLog {
	return newSendLog([wire.Lanes]int{limit, limit, limit, limit}, 1<<20, Memory{Pool: &Pool{}})
}

// put queues a body as Send does, in fragments if it is large.
func (q *sendLog) put(lane wire.Lane, channel uint32, body string) bool {
	n := len(body)
	lane, acc, size := place(lane, n)
	switch {
	case !q.reserve(acc, size):
		return false
	case !single(lane, n):
		q.pushMessage(lane, fragment(q.pool, lane, channel, wire.KindReply, n, [][]byte{[]byte(body)}))
	default:
		q.push(lane, acc, wire.KindRequest, size, [][]byte{[]byte(body)})
	}
	return true
}

// next takes one batch and describes its frames.
func (q *sendLog) next(t testing.TB, limit int) []string {
	var frames []string
	var joined []byte
	for _, s := range q.take(nil, limit) {
		joined = append(joined, s.b...)
	}
	q.wrote()
	r := wire.NewFrameReader(bytes.NewReader(joined))
	for range 10_000 {
		_, k, body, err := r.Next()
		if err != nil {
			break
		}
		switch k {
		case wire.KindFragment:
			f, err := wire.DecodeFragment(body)
			require.NoError(t, err)
			frames = append(frames, fmt.Sprintf("#%d", f.Channel))
		case wire.KindVoid:
			frames = append(frames, "void")
		default:
			frames = append(frames, string(body))
		}
	}
	return frames
}

// ackAll acknowledges everything that was taken.
func (q *sendLog) ackAll() {
	q.wrote()
	q.ack(takenOf(q))
}

// send takes all that is queued, into memory that it returns, and acknowledges it.
func (q *sendLog) send(spans []span) []span {
	for spans = q.take(spans[:0], batchLimit); len(spans) > 0; spans = q.take(spans[:0], batchLimit) {
		q.wrote()
	}
	q.ackAll()
	return spans
}

// This test checks the order of the lanes, and the order within each.
func TestQueueTakesByPriority(t *testing.T) {
	q := testLog(1 << 20)
	require.True(t, q.empty())
	for i := range 3 {
		for lane := wire.LaneBulk; lane <= wire.LaneBulk; lane-- {
			require.True(t, q.put(lane, 0, fmt.Sprintf("%v%d", lane, i)))
		}
	}
	require.False(t, q.empty())
	require.Equal(t, []string{
		"ctl0", "ctl1", "ctl2", "rpc0", "rpc1", "rpc2", "pub0", "pub1", "pub2", "bulk0", "bulk1", "bulk2",
	}, q.next(t, batchLimit))
	require.True(t, q.empty())
}

// This test checks that the channels of lane bulk take turns, one fragment
// each, and that all small frames together are one channel.
func TestBulkChannelsTakeTurns(t *testing.T) {
	q := testLog(1 << 20)
	q.put(wire.LaneBulk, 1, string(make([]byte, 3*wire.MaxPayload)))
	q.put(wire.LaneBulk, 0, "a")
	q.put(wire.LaneBulk, 2, string(make([]byte, wire.MaxPayload+frameSlack+1)))
	q.put(wire.LaneBulk, 0, "b")
	require.Equal(t, []string{"#1", "a", "b", "#2"}, q.next(t, 140<<10))
	q.put(wire.LaneBulk, 0, "c")
	require.Equal(t, []string{"#1", "#2", "c"}, q.next(t, 70<<10))
	require.Equal(t, []string{"#1"}, q.next(t, batchLimit))
	require.Zero(t, q.queued(wire.LaneBulk))
	require.NotZero(t, q.kept(wire.LaneBulk))
	q.ackAll()
	require.Zero(t, q.kept(wire.LaneBulk))
}

// This test checks that what lane bulk carries in single frames, and those who
// wait for room for it, leave room for large messages, and the other way round.
func TestSingleFramesAndLargeMessagesDoNotTakeEachOthersRoom(t *testing.T) {
	q := testLog(4 << 20)
	single, large := string(make([]byte, 60<<10)), string(make([]byte, 1<<20))
	n := 0
	for ; q.put(wire.LaneBulk, 0, single); n++ {
	}
	require.Equal(t, singlesBytes/(60<<10), n)
	p := &waitline.Place{Size: 60 << 10}
	q.join(singles, p)
	for i := range 3 {
		require.True(t, q.put(wire.LaneBulk, uint32(i), large))
	}
	require.False(t, q.put(wire.LaneBulk, 3, large))
	require.Greater(t, q.queued(wire.LaneBulk), 3<<20)
	q.take(nil, batchLimit) // takes turns, so there is room for both
	require.Equal(t, []*waitline.Place{p}, q.grant())
	for !q.empty() {
		q.take(nil, batchLimit)
	}
	require.Equal(t, 60<<10, q.queued(wire.LaneBulk), "what was granted")
}

// This test checks that a batch is at most 256 KiB of whole frames, and that
// what does not fit is not overtaken by lower lanes.
func TestBatchIsBounded(t *testing.T) {
	q := testLog(4 << 20)
	large := string(make([]byte, wire.MaxPayload))
	for range 5 {
		q.put(wire.LaneRPC, 0, large)
	}
	q.put(wire.LanePub, 0, "small")
	require.Len(t, q.next(t, batchLimit), 3)
	require.Equal(t, []string{large, large, "small"}, q.next(t, batchLimit))
	require.Empty(t, q.take(nil, batchLimit))
}

// This test checks the window of a lane: what is queued and what is not
// acknowledged, that others are not affected, and that a lane in which little is
// under way takes what is larger than the lane.
func TestLaneIsBounded(t *testing.T) {
	q := testLog(100)
	require.True(t, q.put(wire.LaneRPC, 0, string(make([]byte, 90))))
	require.False(t, q.put(wire.LaneRPC, 0, "x"))
	require.True(t, q.put(wire.LanePub, 0, string(make([]byte, 1000))), "empty")
	require.False(t, q.put(wire.LanePub, 0, ""))
	require.True(t, q.put(wire.LaneBulk, 1, string(make([]byte, 1<<20))), "empty")
	require.False(t, q.put(wire.LaneBulk, 2, string(make([]byte, 1<<20))))
	for len(q.take(nil, batchLimit)) > 0 {
	}
	require.False(t, q.put(wire.LaneRPC, 0, "x"), "sent, but not acknowledged")
	q.ackAll()
	require.True(t, q.put(wire.LaneRPC, 0, "x"))
	require.Equal(t, 6, q.queued(wire.LaneRPC))
}

// This test checks that room is given in the order of asking, that nobody
// overtakes, and that a waiter who leaves gives room back.
func TestRoomIsGrantedInOrder(t *testing.T) {
	const rpc, ctl = account(wire.LaneRPC), account(wire.LaneCtl)
	q := testLog(200)
	join := func(size int) *waitline.Place {
		p := &waitline.Place{Size: size}
		require.True(t, q.join(rpc, p))
		return p
	}
	require.True(t, q.reserve(rpc, 90))
	require.True(t, q.reserve(rpc, 90))
	p1, p2, p3 := join(90), join(60), join(80)
	require.Empty(t, q.grant())
	require.False(t, q.reserve(rpc, 1), "others wait")
	require.True(t, q.reserve(ctl, 1))
	q.unreserve(rpc, 90)
	q.unreserve(rpc, 90)
	require.Equal(t, []*waitline.Place{p1, p2}, q.grant())
	require.True(t, p1.HasTurn())
	q.leave(rpc, p1)
	require.Equal(t, []*waitline.Place{p3}, q.grant())
	p4 := join(99)
	q.leave(rpc, p4)
	require.True(t, q.reserve(rpc, 60))
	require.Equal(t, 200, q.windows[rpc].queued)
	p5 := join(1)
	_, waiting := q.drop(nil)
	require.Equal(t, []*waitline.Place{p5}, waiting)
	require.False(t, p5.HasTurn())
}

// This test checks that one visitor lets no more past those who wait behind it
// than it came for, whoever sends that, and everything if nobody waits.
func TestAVisitorLetsNoMoreOvertakeThanItCameFor(t *testing.T) {
	const pub = account(wire.LanePub)
	q := testLog(1000)
	require.True(t, q.reserve(pub, 1000))
	visitor, behind := &waitline.Place{Size: 300, Visits: true}, &waitline.Place{Size: 300}
	q.join(pub, visitor)
	q.join(pub, behind)
	require.Empty(t, q.grant())
	require.False(t, q.hasRoom(pub, 1))

	q.unreserve(pub, 1000)
	require.Equal(t, []*waitline.Place{visitor}, q.grant(), "the one behind comes when it has looked")
	require.True(t, q.reserve(pub, 200))
	require.True(t, q.reserve(pub, 200), "the last one may be somewhat larger")
	require.False(t, q.hasRoom(pub, 1), "there is room, but not before who waits")
	q.leave(pub, visitor)
	require.Equal(t, []*waitline.Place{behind}, q.grant())
	require.True(t, q.reserve(pub, 300), "nobody waits any more")
}

// This test checks that drop counts messages that were not sent, not fragments,
// and not what was withdrawn.
func TestDropCountsMessages(t *testing.T) {
	q := testLog(8 << 20)
	q.put(wire.LaneCtl, 0, "a")
	q.put(wire.LaneRPC, 0, "b")
	q.put(wire.LaneRPC, 0, "c")
	q.put(wire.LaneBulk, 1, string(make([]byte, 1<<20)))
	q.put(wire.LaneBulk, 2, string(make([]byte, 1<<20)))
	q.take(nil, batchLimit) // with a few fragments
	q.put(wire.LanePub, 0, "d")
	q.put(wire.LanePub, 0, "e")
	q.put(wire.LanePub, 3, string(make([]byte, 1<<20)))
	require.True(t, q.withdraw(wire.LanePub, 1))
	messages, _ := q.drop(nil)
	require.Equal(t, 4, messages)
	require.True(t, q.empty())
}

// This test checks that what a message is said to take is what it takes, and
// that fragments join to what was cut, however it came in parts.
func TestFragmentsJoinToTheMessage(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		n := wire.MaxPayload + 1 + rng.IntN(5*wire.MaxPayload)
		if rng.IntN(4) == 0 {
			n = wire.MaxPayload * (2 + rng.IntN(3))
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
		m := fragment(&Pool{}, wire.LanePub, 7, wire.KindReply, n, parts)
		r := newReassembly(8<<20, unbounded{}, nil)
		size, whole := 0, []byte(nil)
		for c := m.chunks.head; c != nil; c = c.next {
			size += len(c.b)
			f, err := wire.DecodeFragment(c.b[wire.FrameOverhead:])
			require.NoError(t, err)
			k, got, drop := r.add(someTime, f)
			require.Zero(t, drop)
			if k != 0 {
				require.Equal(t, wire.KindReply, k)
				whole = got
			}
		}
		require.Equal(t, messageSize(n), size)
		require.Equal(t, size, m.size)
		require.Equal(t, body, whole)
		require.Zero(t, r.pending())
		require.Zero(t, r.bytes)
	}
}

// This test checks that an honest sender never has more on its way than the
// receiver bears, with many messages of all sizes on two lanes, and loses nothing.
func TestSenderStaysWithinTheReceiversBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const maxMessage = 1 << 20
	q := newSendLog([wire.Lanes]int{wire.LanePub: 4 << 20, wire.LaneBulk: 8 << 20}, maxMessage, Memory{Pool: &Pool{}})
	r := newReassembly(maxMessage, unbounded{}, nil)
	sent, got := 0, 0
	for step := 0; step < 400 || !q.empty(); step++ {
		for range rng.IntN(4) {
			n := wire.MaxPayload + frameSlack + 1 + rng.IntN(200_000)
			if rng.IntN(10) == 0 {
				n = maxMessage
			}
			lane := wire.LanePub + wire.Lane(rng.IntN(2))
			if step < 400 && q.put(lane, uint32(sent), string(make([]byte, n))) {
				sent++
			}
		}
		for _, s := range q.take(nil, batchLeast<<rng.IntN(9)) {
			for b := s.b; len(b) > 0; {
				_, body, size := wire.FirstFrame(b)
				b = b[size:]
				f, err := wire.DecodeFragment(body)
				require.NoError(t, err)
				k, _, drop := r.add(someTime, f)
				require.Equal(t, DropNone, drop)
				if k != 0 {
					got++
				}
			}
		}
		q.ackAll()
	}
	require.Equal(t, sent, got)
	require.Greater(t, sent, 150)
}

// This test checks that queueing, taking and acknowledging small frames does not
// allocate once there are chunks.
func TestQueueDoesNotAllocate(t *testing.T) {
	if raced.Enabled {
		t.Skip("the race detector makes sync.Pool forget at random")
	}
	q := testLog(1 << 20)
	body := make([]byte, 1024)
	var spans []span
	round := func() {
		for range 300 {
			size := len(body) + wire.FrameOverhead
			require.True(t, q.reserve(account(wire.LaneRPC), size))
			parts := [1][]byte{body}
			q.push(wire.LaneRPC, account(wire.LaneRPC), wire.KindRequest, size, parts[:])
		}
		spans = q.send(spans)
		q.grant()
	}
	round()
	require.Less(t, testing.AllocsPerRun(100, round), 2.0)
}

// This test checks what is sent again: exactly what the peer has not received, in
// the same order, whole chunks or parts of one, before what is new.
func TestWhatWasNotReceivedIsSentAgain(t *testing.T) {
	for received := range uint64(7) {
		q := testLog(1 << 20)
		for i := range 4 {
			q.put(wire.LaneRPC, 0, fmt.Sprint(i))
		}
		require.Len(t, q.next(t, batchLimit), 4)
		q.put(wire.LaneRPC, 0, "4")
		q.put(wire.LaneRPC, 0, "5")
		require.Equal(t, []string{"4", "5"}, q.next(t, batchLimit))
		require.True(t, q.ack(wire.Counts{wire.LaneRPC: min(received, 2)}))
		q.put(wire.LaneRPC, 0, "6")
		bytes := q.queued(wire.LaneRPC) + q.kept(wire.LaneRPC)
		require.True(t, q.resume(wire.Counts{wire.LaneRPC: received}))
		require.Equal(t, bytes, q.queued(wire.LaneRPC)+q.kept(wire.LaneRPC))
		require.Equal(t, (7-int(received))*6, q.queued(wire.LaneRPC))
		require.True(t, q.pending())
		want := []string{"0", "1", "2", "3", "4", "5", "6"}[received:]
		require.Equal(t, want, q.next(t, batchLimit), "received %d", received)
		q.ackAll()
		require.False(t, q.pending())
		require.Zero(t, q.kept(wire.LaneRPC))
	}
}

// This test checks that a peer that says what can't be is found out.
func TestImpossibleCountsAreRefused(t *testing.T) {
	q := testLog(1 << 20)
	q.put(wire.LaneRPC, 0, "a")
	q.put(wire.LaneRPC, 0, "b")
	require.False(t, q.ack(wire.Counts{wire.LaneRPC: 1}), "nothing was sent")
	q.next(t, batchLimit)
	require.True(t, q.ack(wire.Counts{wire.LaneRPC: 1}))
	require.False(t, q.ack(wire.Counts{wire.LaneRPC: 3}), "more than there is")
	require.False(t, q.resume(wire.Counts{wire.LaneRPC: 3}))
	require.False(t, q.resume(wire.Counts{}), "it has acknowledged one")
	require.False(t, q.resume(wire.Counts{wire.LaneRPC: 1, wire.LanePub: 1}))
}

// This test checks that what is being written stays in its place, although the
// peer says that it has it: the memory would be somebody else's.
func TestWhatIsBeingWrittenIsNotLetGo(t *testing.T) {
	q := testLog(1 << 20)
	q.put(wire.LaneRPC, 0, "a")
	q.take(nil, batchLimit)
	require.True(t, q.ack(wire.Counts{wire.LaneRPC: 1}))
	require.NotZero(t, q.kept(wire.LaneRPC))
	q.wrote()
	require.Zero(t, q.kept(wire.LaneRPC))
}

// This test checks what can be taken back, before the end of a session and behind
// it, with and without the peer's last words.
func TestOnlyWhatWasNotSentCanBeWithdrawn(t *testing.T) {
	large := string(make([]byte, 100<<10))
	fill := func() *sendLog {
		q := testLog(8 << 20)
		q.put(wire.LaneRPC, 0, "1")
		q.put(wire.LaneRPC, 0, "2")
		q.put(wire.LaneBulk, 1, large) // two frames
		q.next(t, batchLimit)
		q.put(wire.LaneRPC, 0, "3")
		q.put(wire.LaneRPC, 0, "4")
		q.put(wire.LaneBulk, 2, large)
		return q
	}
	can := func(q *sendLog) (all []string) {
		for n := range uint64(6) {
			if q.withdraw(wire.LaneRPC, n) {
				all = append(all, fmt.Sprint("rpc ", n))
			}
			if q.withdraw(wire.LaneBulk, n) {
				all = append(all, fmt.Sprint("bulk ", n))
			}
		}
		return all
	}
	q := fill()
	require.Equal(t, []string{"bulk 2", "rpc 3", "rpc 4"}, can(q))
	require.Equal(t, []string{"void", "void"}, q.next(t, batchLimit), "they are numbered")

	q = fill()
	require.True(t, q.resume(wire.Counts{wire.LaneRPC: 1, wire.LaneBulk: 1}))
	require.Equal(t, []string{"rpc 2", "bulk 2", "rpc 3", "rpc 4"}, can(q), "the connection has lost the second")

	q = fill()
	q.drop(nil)
	require.Equal(t, []string{"bulk 2", "rpc 3", "rpc 4"}, can(q))

	q = fill()
	q.drop(&wire.Counts{wire.LaneRPC: 1, wire.LaneBulk: 1})
	require.Equal(t, []string{"bulk 1", "rpc 2", "bulk 2", "rpc 3", "rpc 4"}, can(q), "the peer has not looked at the rest")
}

// This test compares the log with the plainest one there could be, over breaks at
// any place: every frame arrives once, in the order of its lane.
func TestEverythingArrivesOnceOverAnyBreaks(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 9))
		q := testLog(20_000)
		var sent, got [wire.Lanes][]string
		var received wire.Counts
		part := ""
		arrive := func(lane wire.Lane, k wire.Kind, body []byte) {
			text := string(body)
			if k == wire.KindFragment { // a frame of lane bulk that was cut
				f, err := wire.DecodeFragment(body)
				require.NoError(t, err)
				require.Equal(t, f.First, part == "")
				if part += string(f.Payload); !f.Last {
					return
				}
				text, part = part, ""
			}
			got[lane] = append(got[lane], text)
		}
		for step := range 2000 {
			lane := wire.Lane(rng.IntN(wire.Lanes))
			body := fmt.Sprint(step, string(make([]byte, rng.IntN(2000))))
			if q.put(lane, 0, body) {
				sent[lane] = append(sent[lane], body)
			}
			if rng.IntN(3) > 0 {
				continue
			}
			for _, s := range q.take(nil, 1+rng.IntN(30_000)) {
				for b := s.b; len(b) > 0; {
					k, body, size := wire.FirstFrame(b)
					if b = b[size:]; rng.IntN(30) == 0 {
						break // the connection breaks here
					}
					received[s.lane]++
					arrive(s.lane, k, body)
				}
				if received[s.lane] != q.lanes[s.lane].taken {
					break
				}
			}
			if rng.IntN(10) > 0 {
				q.wrote()
			}
			if rng.IntN(2) == 0 {
				require.True(t, q.ack(received))
			}
			if counts := received; rng.IntN(20) == 0 || counts != takenOf(q) {
				require.True(t, q.resume(counts))
			}
		}
		for !q.empty() {
			for _, s := range q.take(nil, batchLimit) {
				for b := s.b; len(b) > 0; {
					k, body, size := wire.FirstFrame(b)
					b = b[size:]
					arrive(s.lane, k, body)
				}
			}
		}
		require.Equal(t, sent, got, "seed %d", seed)
		q.ackAll()
		require.False(t, q.pending())
	}
}

func takenOf(q *sendLog) (all wire.Counts) {
	for lane := range all {
		all[lane] = q.lanes[lane].taken
	}
	return all
}

// BenchmarkQueue measures the send log alone: one operation is one frame of 1 KB
// queued, taken and acknowledged.
func BenchmarkQueue(b *testing.B) {
	q := testLog(4 << 20)
	body := make([]byte, 1024)
	parts := [1][]byte{body}
	var spans []span
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for i := 0; i < b.N; i++ {
		size := len(body) + wire.FrameOverhead
		q.reserve(account(wire.LaneRPC), size)
		q.push(wire.LaneRPC, account(wire.LaneRPC), wire.KindRequest, size, parts[:])
		if i%256 == 255 {
			spans = q.send(spans)
		}
	}
}

func TestLongSingleFramesAreCutOnASlowLine(t *testing.T) {
	// This test sends frames of a tunnel where a batch is short: long ones are cut
	// into fragments of about a batch, short ones behind them stay whole and in
	// order, a request comes between the fragments, and the account stays exact.
	const limit = 4000
	q := testLog(1 << 20)
	require.True(t, q.put(wire.LaneBulk, 0, "first"))
	require.Equal(t, []string{"first"}, q.next(t, limit), "the line is found to be slow")
	long := strings.Repeat("x", wire.MaxPayload+9)
	for range 3 {
		require.True(t, q.put(wire.LaneBulk, 0, long))
		require.True(t, q.put(wire.LaneBulk, 0, "short"))
	}
	r := newReassembly(1<<20, unbounded{}, nil)
	var got []string
	urgent := 0
	for !q.empty() {
		if urgent++; urgent == 10 {
			require.True(t, q.put(wire.LaneRPC, 0, "urgent"))
		}
		spans := q.take(nil, limit)
		n := 0
		for _, s := range spans {
			n += len(s.b)
			for b := s.b; len(b) > 0; {
				k, body, size := wire.FirstFrame(b)
				b = b[size:]
				if k == wire.KindFragment {
					f, err := wire.DecodeFragment(body)
					require.NoError(t, err)
					whole, bytes, drop := r.add(someTime, f)
					require.Zero(t, drop)
					if whole == 0 {
						continue
					}
					body = bytes
				}
				got = append(got, string(body[:min(len(body), 6)])+fmt.Sprint(len(body)))
			}
		}
		require.LessOrEqual(t, n, limit)
		q.wrote()
	}
	x := fmt.Sprint("xxxxxx", len(long))
	require.Equal(t, []string{"urgent6", x, "short5", x, "short5", x, "short5"}, got)
	q.ackAll()
	require.Zero(t, q.windows[singles].queued+q.windows[singles].kept+q.windows[singles].promised)
}

// lender is a Room that notes what it covers.
type lender struct{ limit, covered int }

func (l *lender) Cover(bytes int) bool {
	if bytes > l.limit && bytes > l.covered {
		return false
	}
	l.covered = bytes
	return true
}

// TestALaneIsFullWithoutRoom proves that what all lanes keep is bounded together
// where it is shared, that one message has room when nothing is kept, and that what
// was acknowledged, or is dropped, is given back.
func TestALaneIsFullWithoutRoom(t *testing.T) {
	shared := &lender{limit: 300}
	q := newSendLog([wire.Lanes]int{1000, 1000, 1000, 1000}, 1<<20, Memory{Pool: &Pool{}, Room: shared})
	send := func(lane wire.Lane, n int) bool {
		if !q.reserve(account(lane), n+wire.FrameOverhead) {
			return false
		}
		q.push(lane, account(lane), wire.KindRequest, n+wire.FrameOverhead, [][]byte{make([]byte, n)})
		return true
	}
	require.True(t, send(wire.LaneRPC, 200))
	require.True(t, send(wire.LanePub, 80))
	require.False(t, send(wire.LaneRPC, 80), "its window has room, and the shared one has not")
	require.Equal(t, 280+2*wire.FrameOverhead, shared.covered)
	q.take(nil, 1000)
	q.wrote()
	require.True(t, q.ack(wire.Counts{wire.LaneRPC: 1}))
	require.Equal(t, 80+wire.FrameOverhead, shared.covered)
	require.True(t, send(wire.LaneRPC, 80))
	q.drop(nil)
	require.Zero(t, shared.covered)
	require.True(t, send(wire.LaneRPC, 500), "it is alone")
}
