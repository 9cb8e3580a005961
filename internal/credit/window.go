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
	// opened when most of the budget is given away. One whose reader keeps up
	// grows to MaxWindow.
	FirstWindow = 64 << 10
	PoorWindow  = 4 << 10
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

// ReadTotal is the credit of all that was read since the beginning.
func (w *Window) ReadTotal() uint64 { return w.total - uint64(w.given) - uint64(w.held) }

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
	if w.held == 0 {
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

// Resize lets a window grow whose reader keeps up, which has read a whole one
// within a second and left little unread, as far as the budget goes; and shrink
// when that is nearly given away. now is in ns, of any clock.
func (w *Window) Resize(now int64, b *Budget) {
	fast := now-w.since <= int64(growTime) && w.held <= w.size/4
	w.streak, w.since = 0, now
	if fast {
		w.size = b.Grow(w.size)
	}
	if less := b.shrink(w.size); less < w.size && w.given+w.held <= less {
		b.Close(w.size - less)
		w.size = less
	}
}
