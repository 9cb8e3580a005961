// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// lentBody is a body that says which one it is everywhere in it.
func lentBody(number uint64, n int) []byte {
	return bytes.Repeat(binary.BigEndian.AppendUint64(nil, number), (n+7)/8)[:n]
}

func joined(spans []span) (b []byte) {
	for _, s := range spans {
		b = append(append(b, s.b...), s.loan...)
	}
	return b
}

// lending plays a lane of loans and small frames between them to a log.
type lending struct {
	t        *testing.T
	log      *sendLog
	back     map[uint64]int // how often each was given back
	pushed   uint64
	arrived  uint64
	received wire.Counts
	cut      []byte // what has come of a frame that was cut
}

// push queues the next message: of n bytes with the head, as a loan if it may be one.
func (l *lending) push(n int) bool {
	number := l.pushed
	head := []byte("head of 9")
	body := lentBody(number, n)
	parts := [][]byte{head, body}
	_, acc, size := place(wire.LaneBulk, len(head)+n)
	if !l.log.reserve(acc, size) {
		return false
	}
	if l.pushed++; !mayLend(len(head)+n, parts) {
		l.log.push(wire.LaneBulk, acc, wire.KindTunnelData, size, parts)
		clear(body)
		return true
	}
	lend(l.log, wire.KindTunnelData, size, func(b []byte) {
		require.Same(l.t, &body[0], &b[0])
		l.back[number]++
		clear(b) // who reads it from here on reads something else
	}, parts)
	return true
}

// arrive takes in what a connection has carried, up to a frame that may be the last.
func (l *lending) arrive(stream []byte, goesOn func() bool) {
	for len(stream) > 0 && goesOn() {
		k, body, size := wire.FirstFrame(stream)
		stream = stream[size:]
		l.received[wire.LaneBulk]++
		if k == wire.KindFragment {
			f, err := wire.DecodeFragment(body)
			require.NoError(l.t, err)
			require.Equal(l.t, f.First, l.cut == nil)
			if l.cut = append(l.cut, f.Payload...); !f.Last {
				continue
			}
			body, l.cut = l.cut, nil
		}
		require.Equal(l.t, "head of 9", string(body[:9]))
		body = body[9:]
		if !bytes.Equal(lentBody(l.arrived, len(body)), body) {
			require.FailNow(l.t, "not the bytes that were lent", "message %d", l.arrived)
		}
		l.arrived++
	}
}

// This test has loans, small frames and large messages leave over connections that break
// at any place and are of any speed: what comes is what was lent, each loan is given back
// once, when nobody may want to see it any more: neither a connection that is being
// written, nor one that comes after it. In the end nothing is counted.
func TestALoanIsGivenBackOnceItIsAcknowledged(t *testing.T) {
	for seed := range uint64(15) {
		rng := rand.New(rand.NewPCG(seed, 3))
		room := &lender{limit: 3 << 20}
		l := &lending{t: t, back: make(map[uint64]int)}
		l.log = newSendLog([wire.Lanes]int{1 << 20, 1 << 20, 1 << 20, 2 << 20}, 1<<20, Memory{Pool: &Pool{}, Room: room})
		lent := make(map[uint64]bool)
		step := func(goesOn func() bool) {
			spans := l.log.take(nil, []int{batchLimit, batchLimit, 80 << 10, 20 << 10, 3000}[rng.IntN(5)])
			stream := joined(spans)
			l.arrive(stream, goesOn)
			if rng.IntN(2) == 0 {
				require.True(t, l.log.ack(l.received))
			}
			if !bytes.Equal(stream, joined(spans)) {
				require.FailNow(t, "given back while it was being written")
			}
		}
		for range 400 {
			n := []int{10, 5000, wire.LentFrom - 1, wire.LentFrom + 7, wire.MaxPayload, wire.MaxPayload}[rng.IntN(6)]
			if was := l.pushed; l.push(n) && n >= wire.LentFrom {
				lent[was] = true
			}
			if rng.IntN(3) > 0 {
				continue
			}
			step(func() bool { return rng.IntN(12) > 0 })
			broke := l.received != takenOf(l.log)
			if rng.IntN(4) > 0 {
				if !broke {
					l.log.wrote()
				}
				require.True(t, l.log.ack(l.received))
			}
			if broke || rng.IntN(20) == 0 {
				require.True(t, l.log.resume(l.received))
			}
			require.InDelta(t, room.covered, l.log.windows.held(), 4<<10, "what is kept is counted, but for heads of fragments")
		}
		for !l.log.empty() {
			step(func() bool { return true })
		}
		require.Equal(t, l.pushed, l.arrived)
		l.log.ackAll()
		require.Zero(t, room.covered)
		require.Greater(t, len(lent), 20)
		for number := range lent {
			require.Equal(t, 1, l.back[number], "loan %d", number)
		}
		require.Len(t, l.back, len(lent))
	}
}
