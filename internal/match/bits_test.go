// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match_test

import "math/bits"

// set is a set of small numbers: a bit for each.
type set []uint64

func (s *set) add(i int) {
	for i/64 >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[i/64] |= 1 << (i % 64)
}

func (s set) remove(i int) {
	if i/64 < len(s) {
		s[i/64] &^= 1 << (i % 64)
	}
}

// word returns 64 members as bits.
func (s set) word(i int) uint64 {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// gather appends the values of those of 64 numbers, from first on, that are in
// the word.
func gather(word uint64, first int, values []int, dst []int) []int {
	for ; word != 0; word &= word - 1 {
		dst = append(dst, values[first+bits.TrailingZeros64(word)])
	}
	return dst
}

// register gives entries numbers, and uses them again. A number is found by its
// entry.
type register struct {
	numbers map[entry][]int
	entries []entry // by number; the zero entry has none
	values  []int   // by number
	free    []int
	live    int
}

func (r *register) add(e entry) int {
	n := len(r.entries)
	if last := len(r.free) - 1; last >= 0 {
		n = r.free[last]
		r.free = r.free[:last]
		r.entries[n], r.values[n] = e, e.value
	} else {
		r.entries, r.values = append(r.entries, e), append(r.values, e.value)
	}
	if r.numbers == nil {
		r.numbers = make(map[entry][]int)
	}
	r.numbers[e] = append(r.numbers[e], n)
	r.live++
	return n
}

func (r *register) remove(e entry) (n int, ok bool) {
	all := r.numbers[e]
	if len(all) == 0 {
		return 0, false
	}
	n = all[len(all)-1]
	if r.numbers[e] = all[:len(all)-1]; len(all) == 1 {
		delete(r.numbers, e)
	}
	r.entries[n], r.values[n] = entry{}, 0
	r.free = append(r.free, n)
	r.live--
	return n, true
}
