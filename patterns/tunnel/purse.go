// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

// purse is a node's budget for what all its tunnels may have received and not
// read: the sum of their windows. It decides who gets how much of it, so that
// those who are there already never keep new ones out. A pure core.
type purse struct {
	bytes int // the budget
	used  int // the sum of the windows
}

// open returns the window of a new tunnel; 0 = there is nothing left. Three
// quarters of the budget are for windows of the usual size, the last one is for
// small ones.
func (p *purse) open() int {
	for _, window := range [...]int{firstWindow, poorWindow} {
		limit := p.bytes
		if window == firstWindow {
			limit -= p.bytes / 4
		}
		if p.used+window <= limit {
			p.used += window
			return window
		}
	}
	return 0
}

// grow returns the window of a tunnel that has one of this size and whose
// reader keeps up: twice as much, while half of the budget is free, or as much
// as it had; small windows grow up to the usual size in three quarters.
func (p *purse) grow(size int) int {
	larger := min(2*size, maxWindow)
	limit := p.bytes / 2
	if larger <= firstWindow {
		limit = p.bytes - p.bytes/4
	}
	if larger <= size || p.used+larger-size > limit {
		return size
	}
	p.used += larger - size
	return larger
}

// shrink returns what a tunnel with a window of this size should do with: less,
// if it is larger than usual and three quarters are used. Nothing is given back
// by that: close does.
func (p *purse) shrink(size int) int {
	if size <= firstWindow || p.used <= p.bytes-p.bytes/4 {
		return size
	}
	return max(size/2, firstWindow)
}

// keep counts what came of a tunnel that has given its window back, as long as
// it waits for a relay.
func (p *purse) keep(n int) { p.used += n }

// close gives back n of what open, grow and keep gave.
func (p *purse) close(n int) { p.used -= n }
