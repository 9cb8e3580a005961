// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"iter"
	"math/bits"
)

// book is a set of hosts, a bit for each: with thousands of nodes a map for
// each of them would be most of the memory.
type book []uint64

func (b *book) add(h *host) {
	word := h.number / 64
	for len(*b) <= word {
		*b = append(*b, 0)
	}
	(*b)[word] |= 1 << (h.number % 64)
}

// all gives the numbers of the hosts.
func (b book) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range b {
			for ; word != 0; word &= word - 1 {
				if !yield(64*i + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

func (b book) has(h *host) bool {
	word := h.number / 64
	return word < len(b) && b[word]>>(h.number%64)&1 == 1
}
