// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// numbers takes everything that waits, as the next session would.
func numbers(h *history) (out []uint64) {
	for h.waiting() {
		out = append(out, h.due)
		h.sent()
	}
	return out
}

func TestHistoryKeepsWhatIsNotAcknowledged(t *testing.T) {
	// This test sends, loses and acknowledges frames, and checks which ones are
	// sent again, and how many are missing.
	frame := make([]byte, 1000)
	for name, c := range map[string]struct {
		do            func(h *history)
		again         []uint64
		missing       uint64
		sent, waiting uint64 // of what is given up in the end
	}{
		"nothing": {do: func(*history) {}},
		"what was sent": {
			do:    func(h *history) { h.record(1, 1, frame); h.record(1, 1, frame) },
			again: []uint64{1, 2}, sent: 2,
		},
		"what was sent, and is to be sent again": {
			do:    func(h *history) { h.record(1, 1, frame); h.wait(1, 1, frame); h.rewind(); h.rewind() },
			again: []uint64{1, 2}, sent: 1, waiting: 1,
		},
		"what waits": {
			do:    func(h *history) { h.record(1, 1, frame); h.wait(1, 1, frame) },
			again: []uint64{1, 2}, sent: 1, waiting: 1,
		},
		"not what was acknowledged": {
			do:    func(h *history) { h.record(1, 1, frame); h.record(1, 1, frame); h.ack(1) },
			again: []uint64{2}, sent: 1,
		},
		"nothing of what was acknowledged late": {
			do: func(h *history) {
				h.record(1, 1, frame)
				h.record(1, 1, frame)
				h.rewind()
				h.ack(2)
			},
		},
		"an acknowledgement of what was never sent": {
			do:    func(h *history) { h.record(1, 1, frame); h.ack(2) },
			again: []uint64{1}, sent: 1,
		},
		"not what is too old": {
			do: func(h *history) {
				for range 20 {
					h.record(1, 1, frame)
				}
				h.ack(3)
			},
			again: []uint64{13, 14, 15, 16, 17, 18, 19, 20}, missing: 9, sent: 8,
		},
		"nothing before a frame that is too large": {
			do: func(h *history) {
				h.record(1, 1, frame)
				h.record(1, 1, make([]byte, 1<<13))
				h.record(1, 1, frame)
			},
			again: []uint64{3}, missing: 2, sent: 1,
		},
		"not what was taken back": {
			do:    func(h *history) { h.record(1, 1, frame); h.wait(1, 1, frame); h.retract() },
			again: []uint64{1}, sent: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(1 << 13)
			c.do(&h)
			require.Equal(t, c.missing, h.missing())
			before := h
			h.rewind()
			require.Equal(t, c.again, numbers(&h))
			sent, waiting := before.clear()
			require.Equal(t, []uint64{c.sent, c.waiting}, []uint64{sent, waiting})
			require.True(t, before.empty())
			require.Equal(t, before.next-1, before.acked+before.missing())
		})
	}
}

func TestHistoryRefusesWhatCannotWait(t *testing.T) {
	// This test fills a history with frames that wait: what was sent makes room
	// for them, they do not for each other.
	h := newHistory(1 << 13)
	frame := make([]byte, 1<<11-keptHead)
	h.record(1, 1, frame)
	for range 4 {
		require.True(t, h.fits(len(frame), 1))
		require.True(t, h.wait(1, 1, frame))
	}
	require.EqualValues(t, 1, h.missing())
	require.False(t, h.fits(0, 1))
	require.False(t, h.wait(1, 1, nil))
	require.Equal(t, []uint64{2, 3, 4, 5}, numbers(&h))
	require.True(t, h.wait(1, 1, nil))
	require.Len(t, h.ring, 1<<13)
}

func TestHistoryGivesBackWhatItGot(t *testing.T) {
	// This test does everything there is to do at random, beside a list that
	// remembers all frames: what is kept is what it should be, to the byte.
	r := rand.New(rand.NewPCG(1, 2))
	type model struct {
		number      uint64
		incarnation uint64
		kind        wire.Kind
		body        []byte
	}
	for range 50 {
		h := newHistory(1 << (12 + r.IntN(3)))
		var all []model // kept, by number
		due := 0        // of them, the first that waits
		next, acked := uint64(1), uint64(0)
		for range 300 {
			body := make([]byte, r.IntN(1+r.IntN(900)))
			for i := range body {
				body[i] = byte(r.IntN(256))
			}
			m := model{next, r.Uint64(), wire.Kind(r.IntN(256)), body}
			cut := r.IntN(len(body) + 1)
			switch r.IntN(6) {
			case 0, 1:
				if h.waiting() {
					if !h.wait(m.incarnation, m.kind, body[:cut], body[cut:]) {
						continue
					}
				} else {
					h.record(m.incarnation, m.kind, body[:cut], body[cut:])
					due++
				}
				all = append(all, m)
				next++
			case 2:
				for n := r.IntN(5); n > 0 && h.waiting(); n-- {
					f := h.oldest()
					require.Equal(t, all[due].number, h.due)
					require.Equal(t, all[due].incarnation, f.incarnation)
					require.Equal(t, all[due].kind, f.kind)
					require.True(t, bytes.Equal(all[due].body, slices.Concat(f.parts[0], f.parts[1])))
					h.sent()
					due++
				}
			case 3:
				h.rewind()
				due = 0
			case 4:
				n := h.acked + uint64(r.IntN(int(next-h.acked)))
				h.ack(n)
				acked = max(acked, n)
			case 5:
				h.trim()
			}
			evicted := 0
			for len(all) > evicted && all[evicted].number < h.first {
				evicted++
			}
			all, due = all[evicted:], max(0, due-evicted)
			require.Equal(t, next, h.next)
			require.Len(t, all, int(h.next-h.first))
			require.Equal(t, h.first+uint64(due), h.due)
			require.Equal(t, acked, h.acked)
			require.LessOrEqual(t, len(h.ring), h.limit)
			if len(all) > 0 && h.first > acked+1 { // it evicts only where it must
				require.Greater(t, int(h.tail-h.head)+len(body)+2*keptHead+1000, h.limit/2)
			}
		}
	}
}

func TestHistoryCostsNoAllocation(t *testing.T) {
	// This test counts what keeping one frame of a stream costs.
	h := newHistory(maxKept)
	body := make([]byte, 1000)
	n := 0
	require.Zero(t, testing.AllocsPerRun(10_000, func() {
		h.record(1, wire.KindPublish, body[:50], body[50:])
		if n++; n%ackFrames == 0 {
			h.ack(h.next - 1)
		}
	}))
	require.LessOrEqual(t, len(h.ring), 2*ackFrames*len(body))
}
