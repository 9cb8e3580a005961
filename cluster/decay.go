// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

// halve returns v after age of exponential decay that takes half of it away
// per half. Integers throughout: floating point may be fused differently on
// another architecture, and picks would differ there.
func halve(v, age, half int64) int64 {
	if v <= 0 || age <= 0 {
		return max(v, 0)
	}
	n := age / half
	if n > 62 {
		return 0
	}
	v >>= n
	// Linear between two halvings: never off by more than 6 %.
	part := (age % half) * 1024 / half
	return v - v/2*part/1024
}

// mix is the finalizer of SplitMix64: every bit of the result depends on every
// bit of x.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	return x
}

// dice draws several numbers from one that the seam gave, so that a pick costs
// one call of it.
type dice uint64

// roll returns a number in [0, n).
func (d *dice) roll(n int) int {
	*d += 0x9e3779b97f4a7c15
	return int(mix(uint64(*d)) % uint64(n))
}
