// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// This test checks that the heap gives events in the order of (time, key,
// sequence) against the dumbest possible queue, a list that is sorted anew
// each time, under random pushes, pops and removals with many ties.
func TestQueueAgreesWithASortedList(t *testing.T) {
	for seed := range uint64(20) {
		rng := newPCG(seed, "queue")
		var q queue
		var list []*event
		for range 2000 {
			switch op := rng.below(10); {
			case op < 6:
				e := &event{at: int64(rng.below(8)), key: key{
					kind: kind(rng.below(3)), node: uint32(rng.below(2)), peer: uint32(rng.below(2)),
					n: rng.below(2), name: string(rune('a' + rng.below(2))),
				}}
				q.push(e)
				list = append(list, e)
			case op < 9:
				require.Equal(t, len(list) == 0, q.peek() == nil)
				if len(list) == 0 {
					continue
				}
				slices.SortFunc(list, func(a, b *event) int {
					if a.before(b) {
						return -1
					}
					return 1
				})
				require.Same(t, list[0], q.peek())
				require.Same(t, list[0], q.pop())
				list = list[1:]
			default:
				if len(list) == 0 {
					continue
				}
				i := int(rng.below(uint64(len(list))))
				require.True(t, q.remove(list[i]))
				require.False(t, q.remove(list[i]), "an event can be taken out once")
				list = slices.Delete(list, i, i+1)
			}
		}
		require.Len(t, q.events, len(list))
	}
}

// This test checks that the order of insertion decides between events of the
// same key only: pushing in another order gives the same sequence of keys.
func TestQueueOrderDoesNotDependOnInsertion(t *testing.T) {
	var events []event
	for k := range kindNames {
		for n := range uint64(5) {
			events = append(events, event{at: int64(n % 2), key: key{kind: kind(k), n: n}})
		}
	}
	drain := func(order []int) (keys []key) {
		var q queue
		for _, i := range order {
			e := events[i]
			q.push(&e)
		}
		for e := q.pop(); e != nil; e = q.pop() {
			keys = append(keys, e.key)
		}
		return keys
	}
	order := make([]int, len(events))
	for i := range order {
		order[i] = i
	}
	want := drain(order)
	rng := newPCG(1, "shuffle")
	for range 20 {
		for i := range order {
			j := int(rng.below(uint64(len(order))))
			order[i], order[j] = order[j], order[i]
		}
		require.Equal(t, want, drain(order))
	}
}

// This test checks that simultaneous events with the same key come out in the
// order in which they went in.
func TestQueueKeepsTheOrderOfEqualKeys(t *testing.T) {
	var q queue
	for i := range 100 {
		q.push(&event{at: 5, size: i})
	}
	for i := range 100 {
		require.Equal(t, i, q.pop().size)
	}
}

// This test checks the generator's numbers, so that a change that would
// silently give every published seed another meaning is noticed.
func TestSeedKeepsItsMeaning(t *testing.T) {
	rng := newPCG(7, "rand", "node", "1", "pick")
	got := []uint64{rng.uint64(), rng.uint64(), rng.below(1000), rng.below(1 << 63)}
	require.Equal(t, []uint64{0x5521534aed40c489, 0x1ec7b41fcb269960, 870, 0x6525127f24bdb2d6}, got)
}

// This test checks that below is within its bound and reaches all of it.
func TestBelowIsUniform(t *testing.T) {
	rng := newPCG(1, "below")
	var count [7]int
	for range 70_000 {
		count[rng.below(7)]++
	}
	for _, c := range count {
		require.InDelta(t, 10_000, c, 500)
	}
}

// This test checks the arithmetic of part against big numbers, far beyond what
// int64 products could hold.
func TestPartIsExact(t *testing.T) {
	rng := newPCG(1, "part")
	for range 10_000 {
		n := int64(rng.below(1<<62)) - 1<<61
		num := int64(rng.below(2*million)) - million
		den := int64(rng.below(2*million)) + 1
		want := new(big.Int).Mul(big.NewInt(n), big.NewInt(num))
		want.Div(want, big.NewInt(den)) // rounds down for positive den
		if want.IsInt64() {
			require.Equal(t, want.Int64(), part(n, num, den), "%d %d %d", n, num, den)
		}
	}
}

// This test checks that a timer of a drifting clock is over, by that clock, when
// it fires, and no more than a few ns later.
func TestDriftingTimersAreOverWhenTheyFire(t *testing.T) {
	rng := newPCG(2, "drift")
	for range 10_000 {
		s := (&skew{}).next(0, 0, int64(rng.below(1_900_000))-950_000)
		at, d := int64(rng.below(1e15)), int64(rng.below(1e13))
		passed := s.real(d) + s.drifted(at+s.real(d)) - s.drifted(at)
		require.GreaterOrEqual(t, passed, d)
		require.LessOrEqual(t, passed, d+5)
	}
}

// This test checks that a change of the drift makes no jump.
func TestDriftChangesWithoutAJump(t *testing.T) {
	s := &skew{}
	var last int64
	for i, ppm := range []int64{100, -200, 0, 5000, -million, 3} {
		now := int64(i) * int64(time.Hour)
		s = s.next(now, 0, ppm)
		require.Equal(t, last, s.drifted(now))
		last = s.drifted(now + int64(time.Hour))
	}
	require.Equal(t, int64(1-million), (&skew{}).next(0, 0, -5*million).drift, "time does not stand still")
}
