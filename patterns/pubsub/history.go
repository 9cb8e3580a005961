// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"encoding/binary"

	"github.com/arke-mesh/arke/internal/wire"
)

// history keeps the frames of one pipe, numbered from 1: those that were sent
// and that the peer has not acknowledged, and behind them those that wait. A
// pure core; make it with newHistory.
type history struct {
	limit int // bytes, a power of two

	ring             []byte // its length is a power of two, too
	head, mark, tail uint64 // bytes: where the oldest frame begins, the first that waits, and the end
	first, due, next uint64 // the numbers of the frames there
	ever             uint64 // number of the first frame that was never sent, as of the last rewind
	acked            uint64 // up to here nothing is missing, or that it is has been noted
}

// kept is one frame of a history. Where it goes over the ring's end it is in
// two parts.
type kept struct {
	kind        wire.Kind
	incarnation uint64 // of the receiver
	parts       [2][]byte
}

const (
	keptHead = 4 + 1 + 8 // length, kind, incarnation
	minRing  = 4 << 10
)

func newHistory(limit int) history {
	return history{limit: limit, first: 1, due: 1, next: 1}
}

func (h *history) empty() bool   { return h.head == h.tail }
func (h *history) waiting() bool { return h.mark != h.tail }

// fits says whether n bytes of frames can wait, if they are so many.
func (h *history) fits(n, frames int) bool {
	return int(h.tail-h.mark)+n+frames*keptHead <= h.limit
}

// wait adds a frame that waits. What was sent makes room for it, the oldest
// first. It refuses what does not fit.
func (h *history) wait(incarnation uint64, k wire.Kind, parts ...[]byte) bool {
	size := sizeOf(parts)
	if !h.fits(size, 1) {
		return false
	}
	h.makeRoom(size + keptHead)
	var head [keptHead]byte
	binary.BigEndian.PutUint32(head[:], uint32(size))
	head[4] = byte(k)
	binary.BigEndian.PutUint64(head[5:], incarnation)
	h.write(head[:])
	for _, p := range parts {
		h.write(p)
	}
	h.next++
	return true
}

// record adds a frame that was sent. Nothing waits.
func (h *history) record(incarnation uint64, k wire.Kind, parts ...[]byte) {
	if !h.wait(incarnation, k, parts...) { // it can't be sent again, so those before it need not be
		h.next++
		h.head, h.mark = h.tail, h.tail
		h.first = h.next
	}
	h.mark, h.due = h.tail, h.next
}

// oldest returns the first frame that waits. It is valid until the next call.
func (h *history) oldest() kept { return h.frame(h.mark) }

func (h *history) frame(at uint64) kept {
	var head [keptHead]byte
	a, b := h.read(at, keptHead)
	copy(head[copy(head[:], a):], b)
	f := kept{kind: wire.Kind(head[4]), incarnation: binary.BigEndian.Uint64(head[5:])}
	f.parts[0], f.parts[1] = h.read(at+keptHead, h.length(at))
	return f
}

// frames goes through all that is kept, the oldest first. They are valid until
// the next call of another method.
func (h *history) frames(yield func(kept) bool) {
	for at := h.head; at != h.tail; at += uint64(keptHead + h.length(at)) {
		if !yield(h.frame(at)) {
			return
		}
	}
}

// sent notes that the first frame that waits was sent.
func (h *history) sent() {
	h.mark += uint64(keptHead + h.length(h.mark))
	h.due++
}

// rewind has everything that is kept wait again.
func (h *history) rewind() {
	h.ever = max(h.ever, h.due)
	h.mark, h.due = h.head, h.first
}

// retract takes back what waits.
func (h *history) retract() { h.tail, h.next = h.mark, h.due }

// ack notes that the peer has everything up to that number.
func (h *history) ack(number uint64) {
	if number >= h.next || number <= h.acked {
		return
	}
	h.acked = number
	for h.first <= number && h.head != h.tail {
		h.pop()
	}
	if h.head == h.tail { // begin anew where memory is warm
		h.head, h.mark, h.tail = 0, 0, 0
	}
}

// unconfirmed counts the frames that were sent, or wait, and that were not
// acknowledged.
func (h *history) unconfirmed() uint64 { return h.next - 1 - h.acked }

// missing counts the frames that were not acknowledged, and that are not kept
// any more.
func (h *history) missing() uint64 { return h.first - 1 - h.acked }

// forgive notes that what is missing has been told.
func (h *history) forgive() { h.acked = h.first - 1 }

// clear gives up everything, and says how much of it was sent, and how much
// waited.
func (h *history) clear() (sent, waiting uint64) {
	h.rewind()
	ever := max(h.ever, h.first)
	sent, waiting = ever-h.first, h.next-ever
	h.head, h.mark, h.tail = 0, 0, 0
	h.first, h.due = h.next, h.next
	h.ring = nil
	return sent, waiting
}

// trim frees memory that is not needed now.
func (h *history) trim() {
	if h.empty() {
		h.ring = nil
	}
}

// makeRoom lets the ring grow, and where it must not, evicts what was sent.
func (h *history) makeRoom(n int) {
	used := int(h.tail - h.head)
	size := max(len(h.ring), minRing)
	for size < used+n && size < h.limit {
		size *= 2
	}
	if size > len(h.ring) {
		ring := make([]byte, size)
		a, b := h.read(h.head, used)
		copy(ring[copy(ring, a):], b)
		h.ring = ring
		h.mark, h.tail, h.head = h.mark-h.head, h.tail-h.head, 0
	}
	for int(h.tail-h.head)+n > len(h.ring) {
		h.pop()
	}
}

// pop forgets the oldest frame.
func (h *history) pop() {
	h.head += uint64(keptHead + h.length(h.head))
	h.first++
	if h.due < h.first { // it waited
		h.mark, h.due = h.head, h.first
	}
}

func (h *history) length(at uint64) int {
	var b [4]byte
	one, two := h.read(at, len(b))
	copy(b[copy(b[:], one):], two)
	return int(binary.BigEndian.Uint32(b[:]))
}

func (h *history) write(p []byte) {
	at := int(h.tail) & (len(h.ring) - 1)
	n := copy(h.ring[at:], p)
	copy(h.ring, p[n:])
	h.tail += uint64(len(p))
}

func (h *history) read(at uint64, n int) (one, two []byte) {
	if n == 0 {
		return nil, nil
	}
	i := int(at) & (len(h.ring) - 1)
	if i+n <= len(h.ring) {
		return h.ring[i : i+n], nil
	}
	return h.ring[i:], h.ring[:i+n-len(h.ring)]
}

func sizeOf(parts [][]byte) (n int) {
	for _, p := range parts {
		n += len(p)
	}
	return n
}
