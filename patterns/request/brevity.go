// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import "time"

// When a member's handlers count as brief: they run on the goroutine that has read their
// request, which saves two thirds of the time that waking another one takes. While one
// runs nothing else is read from its peer, so each that takes long after all makes it
// harder to count as brief again.
const (
	briefTime    = 50 * time.Microsecond // a wake-up, or a few
	longTime     = time.Millisecond
	briefRow     = 16 // so many in a row must have been brief …
	maxLongOnes  = 12 // … and twice as many for each that was long, of so many at most
	enoughInARow = briefRow << maxLongOnes
)

// brevity knows whether a member's handlers are brief. It is a pure core.
type brevity struct {
	row  int // how many in a row were brief
	long int // how many were long
}

// brief says whether the next one should be.
func (b *brevity) brief() bool { return b.row >= briefRow<<b.long }

// ended notes how long a handler took.
func (b *brevity) ended(took time.Duration) {
	switch {
	case took <= briefTime:
		b.row = min(b.row+1, enoughInARow)
		return
	case took > longTime:
		b.long = min(b.long+1, maxLongOnes)
	}
	b.row = 0
}
