// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package credit

// Passing is the credit of one direction at who passes chunks on and can't say how much
// credit is given: the receiver has sealed each of its totals. All that is left to decide
// is when a total goes on to the sender. Until then the sender has no more than it was
// told of before, so what may stand here stays bounded.
//
// The first credit is sealed, too: it is between PoorWindow and FirstWindow.
type Passing struct {
	w    Window // its size is how much should be under way, and held what stands here
	came uint64 // ever
	told uint64 // the largest total that has gone on; at first the least that it can be
}

// NewPassing returns one with a window of that size.
func NewPassing(size int) Passing { return Passing{w: Window{size: size}, told: PoorWindow} }

// Size is how much should be under way, in bytes.
func (p *Passing) Size() int { return p.w.size }

// Held is the cost of what came and has not left.
func (p *Passing) Held() int { return p.w.held }

// Came takes a chunk of n bytes in. False: the sender was not told of so much credit.
func (p *Passing) Came(n int) bool {
	cost := Cost(n)
	if p.came+uint64(cost) > max(p.told, FirstWindow) {
		return false
	}
	p.came += uint64(cost)
	p.w.held += cost
	return true
}

// Returned takes in all the credit that the sender says it has given back, as
// Window.Returned does.
func (p *Passing) Returned(total uint64, b *Budget) bool {
	if p.w.Asks(total) {
		p.w.grow(b)
		return true
	}
	n := total - p.w.returned
	if n > max(p.told, FirstWindow)-p.came {
		return false
	}
	p.w.returned = total
	p.came += n
	p.w.streak = 0
	p.w.given = int(min(max(p.told, p.came)-p.came, MaxBalance))
	p.w.shrinkTo(PoorWindow, b)
	return true
}

// Left notes that so much of what was held has gone on, and says whether it is time to
// Resize.
func (p *Passing) Left(cost int) (resize bool) {
	p.w.Read(cost)
	return p.w.Turned()
}

// Resize is Window.Resize.
func (p *Passing) Resize(now int64, b *Budget) {
	p.w.given = int(min(max(p.told, p.came)-p.came, MaxBalance))
	p.w.Resize(now, b)
}

// Tell says whether the sender may be told of that total now: it has room in the window;
// or the sender has nothing left to send with, as receivers tell of credit in pieces that
// may be larger than the window here.
func (p *Passing) Tell(total uint64) bool {
	gone := p.came - uint64(p.w.held)
	if total > p.told && total > gone+uint64(p.w.size) && (p.w.held > 0 || p.told >= p.came+minPiece) {
		return false
	}
	p.told = max(p.told, total)
	return true
}
