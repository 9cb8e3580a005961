// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"slices"

	"github.com/arke-mesh/arke/patterns"
)

// kind tells the handlers of a member apart: each takes its own time.
type kind uint8

const (
	kindRequest kind = iota // and survey
	kindPush
	kindBroadcast
	kinds
)

func kindOf(p patterns.Pattern) kind {
	switch p {
	case patterns.PatternPush:
		return kindPush
	case patterns.PatternBroadcast:
		return kindBroadcast
	}
	return kindRequest
}

// How many of the last handlers an effort remembers, and how many of these have to agree
// that it takes so long. The fewer, the sooner one that was quick is believed, and the more
// often bad luck is taken for slowness.
const (
	effortMemory = 16
	effortRecent = 4
)

// effort knows what the handlers of one kind took of late, in nanoseconds. It is a pure core. It
// remembers the last few as they are: their least, mean and greatest hold for
// handlers of any distribution, also where most are quick and some are very slow, and
// follow a change at once. Until a handler has ended, all are 0.
type effort struct {
	took [effortMemory]int64
	n    int // how many have ended; took has the last of them
	sum  int64
}

// learn notes how long a handler took.
func (e *effort) learn(took int64) {
	at := &e.took[e.n%effortMemory]
	e.sum += took - *at
	*at = took
	e.n++
}

// known is what is remembered, in any order.
func (e *effort) known() []int64 { return e.took[:min(e.n, effortMemory)] }

// least is what each of the last few took at least.
func (e *effort) least() int64 {
	if e.n == 0 {
		return 0
	}
	least := int64(never)
	for i := max(0, e.n-effortRecent); i < e.n; i++ {
		least = min(least, e.took[i%effortMemory])
	}
	return least
}

// most is the longest time that is remembered.
func (e *effort) most() int64 {
	if e.n == 0 {
		return 0
	}
	return slices.Max(e.known())
}

// usual is the mean, but no less than what the last few took.
func (e *effort) usual() int64 {
	if e.n == 0 {
		return 0
	}
	return max(e.sum/int64(len(e.known())), e.least())
}
