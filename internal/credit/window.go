// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package credit

import (
	"math"
	"time"
)

// Sizes, in bytes.
const (
	// MinCost is what the shortest chunk uses up.
	MinCost = 64
	// FirstWindow is the credit of a new window, PoorWindow that of one that is
	// opened when most of the budget is given away, and the least that an idle one
	// keeps. One whose reader keeps up grows to MaxWindow.
	FirstWindow = 64 << 10
	PoorWindow  = 512
	MaxWindow   = 4 << 20
)

// growTime is how fast a window must be read to grow.
const growTime = time.Second

// Cost is the credit that a chunk of n bytes uses up.
func Cost(n int) int { return max(n, MinCost) }

// Window is the receiving side of a credit: what the other side may send, what
// came and was not read, and when to tell of more.
type Window struct {
	size   int    // given and held together may be so much
	given  int    // the other side may still send so much
	held   int    // came, and was not read
	streak int    // read since since
	since  int64  // ns; when the streak began
	total  uint64 // given, ever

	returned uint64 // ever
}

// NewWindow returns a window of so many bytes, all of which are given.
func NewWindow(size int) Window { return NewWindowUpTo(size, math.MaxUint64) }

// NewWindowUpTo is NewWindow for who passes chunks on to a receiver that has
// given limit so far.
func NewWindowUpTo(size int, limit uint64) Window {
	given := min(uint64(size), limit)
	return Window{size: size, given: int(given), total: given}
}

// Size is what may be given and held together, in bytes.
func (w *Window) Size() int { return w.size }

// Held is the cost of what came and was not read.
func (w *Window) Held() int { return w.held }

// Total is all the credit that was given since the beginning.
func (w *Window) Total() uint64 { return w.total }

// AllReturned is all the credit that was given back since the beginning.
func (w *Window) AllReturned() uint64 { return w.returned }

// ReadTotal is the credit of all that was read since the beginning.
func (w *Window) ReadTotal() uint64 { return w.total - w.returned - uint64(w.given) - uint64(w.held) }

// Came takes a chunk of n bytes in. False: there was no credit for it, so the
// other side has broken the protocol.
func (w *Window) Came(n int) bool {
	if Cost(n) > w.given {
		return false
	}
	w.given -= Cost(n)
	w.held += Cost(n)
	return true
}

// Read notes that so much of what was held was read, in credit.
func (w *Window) Read(cost int) {
	w.held -= cost
	w.streak += cost
}

// Grant gives new credit if enough of it has come together, and says so: the
// other side is to be told of the new Total.
func (w *Window) Grant() bool { return w.GrantUpTo(math.MaxUint64) }

// GrantUpTo is Grant for who passes chunks on to a receiver that has given limit
// in total: never more than that, and what is left of it at once, since the
// receiver has put it together already.
func (w *Window) GrantUpTo(limit uint64) bool {
	if limit <= w.total {
		return false
	}
	d, enough := w.size-w.given-w.held, w.size/4
	switch {
	case w.held == 0 && w.given < minPiece: // the other side may wait for it
		enough = 1
	case w.held == 0:
		enough = w.size / 16
	}
	if left := limit - w.total; uint64(max(d, 0)) >= left {
		d, enough = int(left), 1
	}
	if d < enough || d <= 0 {
		return false
	}
	w.given += d
	w.total += uint64(d)
	return true
}

// Turned says whether a whole window was read since the last Resize: it is time
// for one.
func (w *Window) Turned() bool { return w.streak >= w.size }

// Resize lets a window grow whose reader keeps up, as far as the budget goes: it has read
// a whole one within a second, or one of less than the usual size, and has left little
// unread. Under pressure a window shrinks by what is neither given nor held. now is in
// ns, of any clock.
func (w *Window) Resize(now int64, b *Budget) {
	fast := (now-w.since <= int64(growTime) || w.size < FirstWindow) && w.held <= w.size/4
	w.streak, w.since = 0, now
	if fast {
		w.size = b.Grow(w.size)
	}
	w.shrinkTo(b.shrink(w.size), b)
}

// Returned takes in all the credit that the other side says it has given back since the
// beginning, and shrinks the window by that: it is not given again before the window
// grows. Grant is due: what came meanwhile may be all that the other side had left.
// A total that it has said before asks for credit, see Asks. False: the other side had
// not so much.
func (w *Window) Returned(total uint64, b *Budget) bool {
	if w.Asks(total) {
		w.grow(b)
		return true
	}
	n := total - w.returned
	if n > uint64(w.given) {
		return false
	}
	w.returned = total
	w.given -= int(n)
	w.streak = 0
	w.shrinkTo(PoorWindow, b) // what was not given yet is not needed either
	return true
}

// Asks says whether a total of Returned asks for credit: the other side does so little
// by little by what it sends, unless it can send all or nothing.
func (w *Window) Asks(total uint64) bool { return total <= w.returned }

// grow makes a window that is smaller than usual larger, if little of it is unread.
func (w *Window) grow(b *Budget) {
	if w.size < FirstWindow && w.held <= w.size/4 {
		w.size = b.Grow(w.size)
	}
}

// shrinkTo gives back what a window has beyond size, but for what is given or held.
func (w *Window) shrinkTo(size int, b *Budget) {
	if size = max(size, w.given+w.held); size < w.size {
		b.give(w.size - size)
		w.size = size
	}
}
