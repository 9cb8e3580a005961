// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"

	"github.com/arke-mesh/arke/internal/wire"
)

// maxActive is how many large messages of one link are on their way at once;
// the others wait for their turn. The receiver bounds what it reassembles, so
// an honest sender must stay below that.
const maxActive = 64

// bulkQueue is lane bulk: one channel per large message, and one for all
// frames that are small enough to travel whole. Channels take turns, one chunk
// of at most 64 KiB each time, so that a large message does not hold up a
// small one.
type bulkQueue struct {
	maxTotal int // bound on the sizes of the active messages together

	ring   []*bulkMessage  // active channels; the first has its turn
	plain  bulkMessage     // small frames; in ring while it has any
	next   []*bulkMessage  // not active yet, in the order of arrival
	active int             // large messages in ring
	total  int             // their sizes together
	pushed uint64          // large messages ever
	lost   map[uint64]bool // once the session has ended: the messages that were certainly not handled
}

// bulkMessage is one channel: the fragments of a message, one a chunk.
type bulkMessage struct {
	chunks chunkList
	total  int    // bytes of the whole message; 0 for the channel of small frames
	size   int    // of all frames
	number uint64 // among the large messages
	begun  bool   // some of it was taken
}

// plainChunks is where small frames are appended; the caller appends one.
func (q *bulkQueue) plainChunks() *chunkList {
	if q.plain.chunks.head == nil {
		q.ring = append(q.ring, &q.plain)
	}
	return &q.plain.chunks
}

// push adds a large message and returns its number.
func (q *bulkQueue) push(m *bulkMessage) uint64 {
	q.pushed++
	m.number = q.pushed
	for c := m.chunks.head; c != nil; c = c.next {
		c.message = m.number
	}
	q.next = append(q.next, m)
	q.activate()
	return m.number
}

// find returns large message number n if all of it is here.
func (q *bulkQueue) find(n uint64) *bulkMessage {
	for _, list := range [][]*bulkMessage{q.ring, q.next} {
		for _, m := range list {
			if m.number == n && n != 0 && !m.begun {
				return m
			}
		}
	}
	return nil
}

// remove takes out large message number n, if nothing of it was taken.
func (q *bulkQueue) remove(n uint64) *bulkMessage {
	m := q.find(n)
	if m == nil {
		return nil
	}
	isIt := func(each *bulkMessage) bool { return each == m }
	if was := len(q.ring); was > 0 {
		if q.ring = slices.DeleteFunc(q.ring, isIt); len(q.ring) < was {
			q.finished(m)
			return m
		}
	}
	q.next = slices.DeleteFunc(q.next, isIt)
	return m
}

// finished notes that m is in the ring no more.
func (q *bulkQueue) finished(m *bulkMessage) {
	q.active--
	q.total -= m.total
	q.activate()
}

// activate lets messages into the ring while the bounds allow it.
func (q *bulkQueue) activate() {
	for len(q.next) > 0 && q.active < maxActive {
		m := q.next[0]
		if q.active > 0 && q.total+m.total > q.maxTotal {
			return
		}
		q.next = q.next[1:]
		q.ring = append(q.ring, m)
		q.active++
		q.total += m.total
	}
}

func (q *bulkQueue) empty() bool { return len(q.ring) == 0 }

// size is how many bytes pop would return.
func (q *bulkQueue) size() int {
	if len(q.ring) == 0 {
		return 0
	}
	return q.ring[0].chunks.head.size()
}

// pop removes a chunk of the channel that has its turn, and passes the turn
// on; nil if there is none.
func (q *bulkQueue) pop() *chunk {
	if len(q.ring) == 0 {
		return nil
	}
	m := q.ring[0]
	c := m.chunks.pop()
	m.begun = true
	copy(q.ring, q.ring[1:]) // at most maxActive+1 pointers
	if m.chunks.head != nil {
		q.ring[len(q.ring)-1] = m
		return c
	}
	q.ring[len(q.ring)-1] = nil
	q.ring = q.ring[:len(q.ring)-1]
	if m != &q.plain {
		q.finished(m)
	}
	return c
}

// laterFragmentHead is what Fragment.AppendHead adds for all but the first
// fragment of a message, in bytes.
const laterFragmentHead = 5

// messageSize is what a message of n bytes takes in lane bulk, encoded.
func messageSize(n int) int {
	fragments := (n + wire.MaxPayload - 1) / wire.MaxPayload
	return n + fragments*(wire.FrameOverhead+laterFragmentHead) + wire.MaxFragmentHead - laterFragmentHead
}

// fragment cuts a message of n bytes, given in parts, into encoded fragments
// of one channel on a lane.
func fragment(pool *Pool, lane wire.Lane, channel uint32, k wire.Kind, n int, parts [][]byte) *bulkMessage {
	m := &bulkMessage{total: n}
	var head [wire.MaxFragmentHead]byte
	rest := bytesOf{parts: parts}
	for left := n; left > 0; {
		size := min(left, wire.MaxPayload)
		f := wire.Fragment{
			Channel: channel,
			First:   left == n,
			Last:    left == size,
			Kind:    k,
			Total:   uint32(n),
		}
		h := f.AppendHead(head[:0])
		c := pool.get(largeChunk)
		c.b = wire.AppendFrameHead(c.b, lane, wire.KindFragment, len(h)+size)
		c.b = rest.appendTo(append(c.b, h...), size)
		c.frames, c.account = 1, account(lane)
		m.size += len(c.b)
		m.chunks.push(c)
		left -= size
	}
	return m
}

// cutChannel is the channel of single frames that are cut: one is whole before the
// next one begins. Those of large messages are counted from 1.
const cutChannel = 0

// longestFrame is the length of the longest frame in b.
func longestFrame(b []byte) (longest int) {
	for len(b) > 0 {
		_, _, size := wire.FirstFrame(b)
		longest = max(longest, size)
		b = b[size:]
	}
	return longest
}

// refined returns the frames in c, those that are longer than limit cut into
// fragments of half of that each.
func refined(pool *Pool, c *chunk, limit int) (finer chunkList) {
	add := func(k wire.Kind, parts ...[]byte) {
		n := wire.FrameOverhead
		for _, p := range parts {
			n += len(p)
		}
		if finer.tail == nil || !finer.tail.room(n) {
			part := pool.get(largeChunk)
			part.account, part.message = c.account, c.message
			finer.push(part)
		}
		finer.tail.b = wire.AppendFrame(finer.tail.b, wire.LaneBulk, k, parts...)
		finer.tail.frames++
	}
	payload := max(limit/2-wire.FrameOverhead-wire.MaxFragmentHead, wire.MaxPayload/64)
	for b := c.whole(); len(b) > 0; {
		k, body, size := wire.FirstFrame(b)
		b = b[size:]
		if size <= limit {
			add(k, body)
			continue
		}
		whole := wire.Fragment{Channel: cutChannel, First: true, Last: true, Kind: k, Total: uint32(len(body)), Payload: body}
		if k == wire.KindFragment {
			var err error
			if whole, err = wire.DecodeFragment(body); err != nil {
				panic("BUG: our own fragment: " + err.Error())
			}
		}
		for left := whole.Payload; len(left) > 0; {
			n := min(len(left), payload)
			f := whole
			f.First = whole.First && len(left) == len(whole.Payload)
			f.Last = whole.Last && n == len(left)
			var head [wire.MaxFragmentHead]byte
			add(wire.KindFragment, f.AppendHead(head[:0]), left[:n])
			left = left[n:]
		}
	}
	return finer
}

// bytesOf walks over the concatenation of parts.
type bytesOf struct {
	parts [][]byte
	off   int // into the first of parts
}

// appendTo appends the next n bytes to dst.
func (b *bytesOf) appendTo(dst []byte, n int) []byte {
	for n > 0 {
		p := b.parts[0][b.off:]
		if len(p) > n {
			b.off += n
			return append(dst, p[:n]...)
		}
		b.parts, b.off = b.parts[1:], 0
		dst = append(dst, p...)
		n -= len(p)
	}
	return dst
}
