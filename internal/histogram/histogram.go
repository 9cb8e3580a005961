// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package histogram

import (
	"math"
	"sync/atomic"
	"time"
)

// Schema is the native histogram's: 2^Schema buckets between two powers of two.
const Schema = 2

const (
	perPower = 1 << Schema
	// lowest and highest are powers of two of seconds: about 1 µs, and 64 s.
	lowest  = -20
	highest = 6
	// Buckets is how many there are.
	Buckets = (highest-lowest)*perPower + 1
	// First is the native index of the first: it holds what is up to 2^lowest s.
	First = lowest * perPower
)

// bounds are the upper ends of the buckets between 0.5 and 1, as fractions; the
// first one is where the bucket before them ends.
var bounds = [perPower]float64{0.5, 0.5946035575013605, 0.7071067811865475, 0.8408964152537144}

// Histogram is a number of durations by their length. The zero value is ready;
// methods may be called concurrently.
type Histogram struct {
	buckets [Buckets]atomic.Uint64
	nanos   atomic.Uint64
}

// Observe counts d; what is not positive counts as one nanosecond.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 1)
	h.buckets[index(d)].Add(1)
	h.nanos.Add(uint64(d))
}

// index returns the bucket of d, which is positive.
func index(d time.Duration) int {
	fraction, power := math.Frexp(d.Seconds()) // fraction in [0.5, 1)
	i := 0
	for i < perPower && bounds[i] < fraction {
		i++
	}
	return min(max((power-1)*perPower+i-First, 0), Buckets-1)
}

// Snapshot is what a Histogram held when it was read.
type Snapshot struct {
	Counts [Buckets]uint64
	Count  uint64
	Sum    float64 // seconds
}

// Read takes the counts into s. What is observed meanwhile may be in it or not.
func (h *Histogram) Read(s *Snapshot) {
	s.Count = 0
	for i := range h.buckets {
		s.Counts[i] = h.buckets[i].Load()
		s.Count += s.Counts[i]
	}
	s.Sum = time.Duration(h.nanos.Load()).Seconds()
}

// Upper is the upper end of bucket i, in seconds, which belongs to it.
func Upper(i int) float64 { return math.Exp2(float64(First+i) / perPower) }

// Powers is how many classic buckets Snapshot.Classic has: at each second power
// of two.
const Powers = (highest-lowest)/2 + 1

// Power is the upper end of classic bucket i, in seconds.
func Power(i int) float64 { return math.Ldexp(1, lowest+2*i) }

// Classic returns how many observations were at most Power(i) for each i.
func (s *Snapshot) Classic() (counts [Powers]uint64) {
	var sum uint64
	for i := range s.Counts[:] {
		sum += s.Counts[i]
		if i%(2*perPower) == 0 {
			counts[i/(2*perPower)] = sum
		}
	}
	// What is beyond the last bound is in the last bucket, which has no bound.
	counts[Powers-1] -= s.Counts[Buckets-1]
	return counts
}
