// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"time"
)

// stream is a seeded random stream: integers only, so that a seed expands to
// the same scenario on every architecture.
type stream struct{ src *rand.Rand }

// newStream derives a stream from a seed and a path of names. Different paths
// give independent streams, so that one action more in a file does not change
// what the others draw.
func newStream(seed uint64, names ...string) stream {
	h := fnv.New128a()
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], seed)
	h.Write(word[:])
	for _, name := range names {
		h.Write([]byte(strconv.Itoa(len(name)) + ":" + name))
	}
	sum := h.Sum(nil)
	return stream{rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])))}
}

// below returns a number in [0, n); 0 if n is not positive.
func (s stream) below(n int64) int64 {
	if n <= 0 {
		return 0
	}
	return s.src.Int64N(n)
}

// between returns a number in [lo, hi].
func (s stream) between(lo, hi int64) int64 {
	if hi <= lo {
		return lo
	}
	return lo + s.below(hi-lo+1)
}

// moment returns a time in [lo, hi] that is a whole number of milliseconds if
// there is one.
func (s stream) moment(lo, hi Duration) Duration {
	d := Duration(s.between(int64(lo), int64(hi)))
	if whole := d / Duration(time.Millisecond) * Duration(time.Millisecond); whole >= lo {
		return whole
	}
	return d
}

// within returns a moment of a range.
func (s stream) within(d Durations) Duration { return s.moment(d.Min, d.Max) }

// chance is true once in so many times.
func (s stream) chance(n int64) bool { return s.below(n) == 0 }

// order returns a random permutation of the numbers below n.
func (s stream) order(n int) []int { return s.src.Perm(n) }
