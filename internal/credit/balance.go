// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package credit

const (
	// minPiece: a sender with less credit waits for more, if more is left of its
	// message: a receiver that has read all never leaves it with so little.
	minPiece = 512
	// MaxBalance is more than anybody means.
	MaxBalance = 1 << 31
)

// Balance is the sending side of a credit.
type Balance struct {
	left  int
	heard uint64 // the largest total that was heard of

	returned uint64 // ever
	spent    uint64
	busy     bool // something was used up since the last Idle, or it is new
	asked    bool //  since the last Idle, and since more was heard of
}

// NewBalance returns a balance with the first credit that was heard of.
func NewBalance(first uint64) Balance {
	return Balance{left: int(min(first, MaxBalance)), heard: first, busy: true}
}

// Left is what may be sent.
func (b *Balance) Left() int { return b.left }

// Spent is what was used up since the beginning.
func (b *Balance) Spent() uint64 { return b.spent }

// Heard takes in all the credit that the other side says it has given since the
// beginning, and says whether that is more than before.
func (b *Balance) Heard(total uint64) bool {
	if total <= b.heard {
		return false
	}
	b.left = int(min(uint64(b.left)+min(total-b.heard, MaxBalance), MaxBalance))
	b.heard = total
	b.asked = false
	return true
}

// Spend uses up the credit of n bytes cut into chunks of at most chunk bytes.
// False: there is not so much, and nothing was used up.
func (b *Balance) Spend(n, chunk int) bool {
	cost := CostOf(n, chunk)
	if cost > b.left {
		return false
	}
	b.Take(cost)
	return true
}

// Take uses up so much credit, which there is.
func (b *Balance) Take(cost int) {
	b.left -= cost
	b.spent += uint64(cost)
	b.busy = true
}

// Idle says whether nothing was used up since the last call.
func (b *Balance) Idle() bool {
	idle := !b.busy
	b.busy, b.asked = false, false
	return idle
}

// Ask returns what Return did last: to say that again asks for credit. False: that was
// done, or what was sent will bring new credit.
func (b *Balance) Ask() (total uint64, ok bool) {
	ok = !b.asked && b.left >= minPiece
	if ok {
		b.asked, b.busy = true, true
	}
	return b.returned, ok
}

// Return gives up what is left beyond PoorWindow, and returns how much was given up since
// the beginning. False: there is nothing to give up.
func (b *Balance) Return() (total uint64, ok bool) {
	n := b.left - PoorWindow
	if n <= 0 {
		return b.returned, false
	}
	b.left = PoorWindow
	b.returned += uint64(n)
	return b.returned, true
}

// Piece uses up the credit of one chunk of the next left bytes of a message, of
// at most chunk bytes, and returns its length. ok is false if the sender has to
// wait for more credit. A message without bytes is one empty chunk.
func (b *Balance) Piece(left, chunk int) (n int, ok bool) {
	if n = min(left, chunk); Cost(n) > b.left {
		if b.left < minPiece {
			return 0, false
		}
		n = b.left
	}
	b.Take(Cost(n))
	return n, true
}

// Refund gives back the credit of a chunk of n bytes that was not sent.
func (b *Balance) Refund(n int) { b.Take(-Cost(n)) }

// CostOf is the credit that n bytes use up, cut into chunks of at most chunk
// bytes.
func CostOf(n, chunk int) int {
	whole, rest := n/chunk, n%chunk
	if rest > 0 || whole == 0 {
		return whole*chunk + Cost(rest)
	}
	return whole * chunk
}
