// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"math/bits"
	"time"
)

// longest bounds the price of what passes at once, however much that is.
const longest = time.Hour

// Limit lets Units pass in each Per, and as many at once, after a quiet while, as in
// Burst. The zero value lets everything pass.
type Limit struct {
	Units      int64
	Per, Burst time.Duration
}

// price is for how long n units are paid; n is not negative.
func (l Limit) price(n int64) int64 {
	if l.Units == 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n), uint64(l.Per))
	if hi >= uint64(l.Units) {
		return int64(longest)
	}
	price, _ := bits.Div64(hi, lo, uint64(l.Units))
	return int64(min(price, uint64(longest)))
}

// Meter is how much of a limit one holder has used of late. The zero value is nothing.
// It is not for several goroutines.
type Meter struct{ paidAt int64 }

// Open says whether anything may pass now. What has passed is paid for afterwards, so
// a thing that is larger than all of the burst may pass, too.
func (m *Meter) Open(l Limit, now int64) bool {
	return l.Units == 0 || m.paidAt-now < int64(l.Burst)
}

// Take notes that n units pass.
func (m *Meter) Take(l Limit, now, n int64) { m.paidAt = max(m.paidAt, now) + l.price(n) }

// Pass is Open and, where that is so, Take.
func (m *Meter) Pass(l Limit, now, n int64) bool {
	open := m.Open(l, now)
	if open {
		m.Take(l, now, n)
	}
	return open
}
