// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package credit

import "sync/atomic"

// Budget is what the windows of one owner may have together, in bytes: of all
// tunnels of a node, or of one client's at its relay. It decides who gets how
// much, so that those who are there already never keep new ones out. Methods may
// be called concurrently.
type Budget struct {
	bytes int64
	used  atomic.Int64
	share Share // nil = nobody else shares
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

// Open returns the size of a new window; 0 = there is nothing left. Three
// quarters of the budget are for windows of the usual size, the last one is for
// small ones.
func (b *Budget) Open() int {
	if b.take(FirstWindow, b.bytes-b.bytes/4) {
		return FirstWindow
	}
	if b.take(PoorWindow, b.bytes) {
		return PoorWindow
	}
	return 0
}

// Grow returns the new size of a window of this size: twice as much, while half
// of the budget is free, or as much as it had; small windows grow up to the
// usual size in three quarters.
func (b *Budget) Grow(size int) int {
	larger, limit := min(2*size, MaxWindow), b.bytes/2
	if larger <= FirstWindow {
		limit = b.bytes - b.bytes/4
	}
	if larger <= size || !b.take(larger-size, limit) {
		return size
	}
	return larger
}

// shrink returns what a window of this size should do with: less, if it is
// larger than usual and three quarters are used. Nothing is given back by that:
// Close does.
func (b *Budget) shrink(size int) int {
	if size <= FirstWindow || b.used.Load() <= b.bytes-b.bytes/4 {
		return size
	}
	return max(size/2, FirstWindow)
}

// Close gives back n bytes of what Open and Grow gave.
func (b *Budget) Close(n int) {
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
