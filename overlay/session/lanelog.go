// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "github.com/arke-mesh/arke/internal/wire"

// laneLog is what one lane has to send and what of it is kept, in the order of
// sending:
//
//	gone | sent, not acknowledged | not sent
//
// Frames are numbered from 1 in that order. A frame is gone when the peer has
// acknowledged it; when a connection broke, what the peer has not received is not
// sent again. Pure: no lock, goroutine or clock.
type laneLog struct {
	chunkList
	at   *chunk // where sending goes on; nil = all is sent
	off  int    // bytes of it that are sent
	last int    // where in tail the frame begins that was appended last

	pushed  uint64 // frames that have a number
	taken   uint64 // of these, handed to the connection
	written uint64 // of these, whose Write has returned: their memory is not read any more
	acked   uint64 // frames the peer has acknowledged
}

// empty says that everything was sent.
func (g *laneLog) empty() bool { return g.at == nil }

// append adds an encoded frame's room: the chunk to append size bytes to. window is
// the limit of what is kept: chunks are a small part of it, because a chunk is kept
// until all of it is acknowledged.
func (g *laneLog) append(pool *Pool, acc account, size, window int) *chunk {
	c := g.tail
	if c == nil || !c.room(size) || len(c.b) >= chunkFill || c.account != acc || c.message != 0 {
		capacity := size
		if g.tail != nil && window >= 8*largeChunk { // it is not a trickle
			capacity = largeChunk
		}
		c = pool.get(capacity)
		c.account = acc
		g.add(c)
	} else if g.at == nil {
		g.at, g.off = c, len(c.b)
	}
	g.pushed++
	c.frames++
	g.last = len(c.b)
	return c
}

// add puts a chunk at the end; its frames have numbers from here on.
func (g *laneLog) add(c *chunk) {
	c.first = g.pushed + 1
	g.pushed += c.frames
	g.push(c)
	if g.at == nil {
		g.at, g.off = c, 0
	}
}

// span is a run of frames of one chunk to be written.
type span struct {
	b, loan []byte // one behind the other
	frames  uint64
	lane    wire.Lane
	account account
}

// unsent is how many bytes take would return.
func (g *laneLog) unsent() int {
	if g.at == nil {
		return 0
	}
	return g.at.size() - g.off
}

// fitting is how many bytes of whole frames, of what is to be sent next, are at most
// room; one frame, if least is set, however long.
func (g *laneLog) fitting(room int, least bool) (n int) {
	if n = g.unsent(); g.at.loan.body != nil {
		if n > room && !least {
			return 0
		}
		return n
	}
	n = 0
	for b := g.at.b[g.off:]; n < len(b); {
		_, _, size := wire.FirstFrame(b[n:])
		if n+size > room && (n > 0 || !least) {
			break
		}
		n += size
	}
	return n
}

// take hands out the next n bytes, whole frames of one chunk.
func (g *laneLog) take(n int) span {
	c, before := g.at, g.taken
	s := span{account: c.account, loan: c.loan.body}
	here := n - len(s.loan) // a frame with a loan is sent at once
	s.b = c.b[g.off : g.off+here : g.off+here]
	if g.off += n; g.off == c.size() {
		g.taken = c.last()
		g.at, g.off = c.next, 0
	} else {
		g.taken += countFrames(s.b)
	}
	s.frames = g.taken - before
	return s
}

// wrote notes that the connection has taken all that take returned.
func (g *laneLog) wrote() { g.written = g.taken }

// ack notes that the peer has acknowledged n frames. false means that it can't
// have.
func (g *laneLog) ack(n uint64) bool {
	if n > g.taken {
		return false
	}
	g.acked = max(g.acked, n)
	return true
}

// gone removes and returns the first chunk if none of it is needed any more.
func (g *laneLog) gone() *chunk {
	if c := g.head; c != nil && c != g.at && c.last() <= min(g.acked, g.written) {
		return g.pop()
	}
	return nil
}

// resume notes that a new connection carries the session, and that the peer has
// received n frames: what follows is to be sent again. The former connection does
// not write any more. false means that the peer can't have received n.
// again is called for each chunk with bytes that count as not sent again.
func (g *laneLog) resume(n uint64, again func(acc account, bytes int)) bool {
	if n < g.acked || n > g.taken {
		return false
	}
	sent, end := g.at, g.off // up to here it was sent
	g.taken, g.written = n, n
	c := g.head
	for c != nil && c.last() <= n {
		c = c.next
	}
	if c == nil {
		return true // nothing was sent that did not arrive
	}
	g.at, g.off = c, 0
	if n >= c.first {
		g.off = c.offset(n + 1)
	}
	from := g.off
	for ; c != nil && c != sent; c = c.next {
		again(c.account, c.size()-from)
		from = 0
	}
	if c != nil {
		again(c.account, end-from)
	}
	return true
}

// withdraw makes frame n, if it was not sent, one that the peer skips.
func (g *laneLog) withdraw(n uint64) bool {
	if n <= g.taken || n > g.pushed {
		return false
	}
	if g.head == nil {
		return true // the session is over
	}
	c := g.at
	for c.last() < n {
		c = c.next
	}
	wire.VoidFrame(c.b[c.offset(n):])
	return true
}

// messages counts those that were not sent, for who loses them.
func (g *laneLog) messages() (n int) {
	off := g.off
	for c := g.at; c != nil; c, off = c.next, 0 {
		n += c.messages(off)
	}
	return n
}

// countFrames counts encoded frames.
func countFrames(b []byte) (n uint64) {
	for ; len(b) > 0; n++ {
		_, _, size := wire.FirstFrame(b)
		b = b[size:]
	}
	return n
}

// countMessages counts the messages that end in encoded frames.
func countMessages(b []byte) (n int) {
	for len(b) > 0 {
		k, body, size := wire.FirstFrame(b)
		b = b[size:]
		if k == wire.KindVoid {
			continue
		}
		if f, err := wire.DecodeFragment(body); k == wire.KindFragment && err == nil && !f.Last {
			continue
		}
		n++
	}
	return n
}
