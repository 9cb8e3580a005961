// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDeadlinesComeOutInOrder(t *testing.T) {
	// Whatever is put in and taken out in between, the first of the deadlines is
	// the earliest of those that are left, and of equal ones the lower number.
	random := rand.New(rand.NewPCG(1, 2))
	var heap deadlines
	var all []*lapse
	for n := range uint64(3000) {
		if len(all) > 0 && random.IntN(3) == 0 {
			i := random.IntN(len(all))
			heap.remove(all[i])
			heap.remove(all[i]) // a second time is nothing
			all = slices.Delete(all, i, i+1)
			continue
		}
		l := &lapse{at: int64(random.IntN(50)), number: n}
		heap.push(l)
		all = append(all, l)
		first := slices.MinFunc(all, func(a, b *lapse) int {
			if a.before(b) {
				return -1
			}
			return 1
		})
		require.Same(t, first, heap[0])
		require.Len(t, heap, len(all))
	}
	for last := (&lapse{}); len(heap) > 0; {
		l := heap[0]
		require.False(t, l.before(last))
		heap.remove(l)
		last = l
	}
}
