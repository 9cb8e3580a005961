// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package credit

import "sync/atomic"

// Budget is what the windows of one owner may have together, in bytes: of all
// tunnels of a node, or of one client's at its relay. It decides how large each may be,
// so that the windows that are open never keep new ones out, and busy ones share what
// idle ones do not need. Methods may be called concurrently.
type Budget struct {
	bytes   int64
	used    atomic.Int64
	windows atomic.Int64
	share   Share // nil = no other Budget shares
}

// Share is what the owner of a Budget may have of something that it shares with
// others. Its methods may be called concurrently and do not block.
type Share interface {
	// Take says whether n bytes more may be had; they are from here on.
	Take(n int) bool
	// Give returns n bytes.
	Give(n int)
}

// NewBudget returns a budget of so many bytes.
func NewBudget(bytes int) *Budget { return &Budget{bytes: int64(bytes)} }

// NewSharedBudget returns a budget of so many bytes, as far as there are as many in
// the share.
func NewSharedBudget(bytes int, s Share) *Budget { return &Budget{bytes: int64(bytes), share: s} }

// Used is the sum of the windows.
func (b *Budget) Used() int { return int(b.used.Load()) }

// Open returns the size of a new window; 0 = there is nothing left. Three quarters of the
// budget are for windows of the usual size, the last one is for poor ones only.
func (b *Budget) Open() int {
	size := FirstWindow
	if !b.take(size, b.bytes-b.bytes/4) {
		if size = PoorWindow; !b.take(size, b.bytes) {
			return 0
		}
	}
	b.windows.Add(1)
	return size
}

// pressure is how much may be used before windows beyond their fair part shrink.
func (b *Budget) pressure() int64 { return b.bytes - 3*(b.bytes/8) }

// fair is what each window may have, if all want as much as they get.
func (b *Budget) fair() int {
	return max(int((b.bytes-b.bytes/4)/max(b.windows.Load(), 1)), PoorWindow)
}

// Grow returns the new size of a window of this size, or the same. One below the usual
// size gets that, if the budget is not under pressure. Others double: beyond the usual
// size while half of the budget is free, up to their fair part while a quarter is.
func (b *Budget) Grow(size int) int {
	if size < FirstWindow && b.take(FirstWindow-size, b.pressure()) {
		return FirstWindow
	}
	larger, limit := min(2*size, MaxWindow), b.bytes/2
	if larger <= b.fair() {
		limit = b.bytes - b.bytes/4
	}
	if larger <= size || !b.take(larger-size, limit) {
		return size
	}
	return larger
}

// shrink returns what a window of this size should do with: less, if the budget is under
// pressure and it has more than its fair part. Nothing is given back by that: give does.
func (b *Budget) shrink(size int) int {
	if b.used.Load() <= b.pressure() {
		return size
	}
	return min(size, max(size/2, b.fair()))
}

// Close gives back a window of n bytes.
func (b *Budget) Close(n int) {
	b.windows.Add(-1)
	b.give(n)
}

func (b *Budget) give(n int) {
	b.used.Add(int64(-n))
	if b.share != nil {
		b.share.Give(n)
	}
}

// take gives n bytes if no more than limit are used then.
func (b *Budget) take(n int, limit int64) bool {
	for {
		used := b.used.Load()
		if used+int64(n) > limit {
			return false
		}
		if b.used.CompareAndSwap(used, used+int64(n)) {
			break
		}
	}
	if b.share != nil && !b.share.Take(n) {
		b.used.Add(int64(-n))
		return false
	}
	return true
}
