// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// This test checks what a holder leases, and when it gives it back: nothing within
// its own units, then step by step, and not with every unit that comes or goes.
func TestAPortionLeasesStepByStep(t *testing.T) {
	b := New[string](100)
	p := b.Portion("a", 4, 10)
	for _, c := range []struct {
		units int
		ok    bool
		used  int // of the budget, afterwards
		why   string
	}{
		{4, true, 0, "its own"},
		{5, true, 10, "one more is leased with others"},
		{14, true, 10, "these"},
		{5, true, 10, "which are kept"},
		{3, true, 10, "while it may need them soon"},
		{2, true, 0, "and given back when it holds little"},
		{54, true, 50, "many at once; alone it may have half"},
		{55, false, 50, "and no more"},
		{54, true, 50, "what it holds is its own nevertheless"},
		{20, true, 26, "most is given back, but for a step"},
		{0, true, 0, "and all"},
	} {
		require.Equal(t, c.ok, p.Cover(c.units), c.why)
		require.Equal(t, c.used, b.Used(), c.why)
	}
}

// This test checks that near its share a holder gets the last units one by one.
func TestTheLastUnitsAreLeasedOneByOne(t *testing.T) {
	b := New[int](100)
	p := b.Portion(1, 0, 30)
	require.True(t, p.Cover(30))
	require.True(t, p.Cover(45))
	require.Equal(t, 45, b.Used())
	require.True(t, p.Cover(50))
	require.False(t, p.Cover(51))
}

// This test checks over many random moves of many holders that each can always hold
// its own units, that all together never hold more than those and the budget, and
// that nothing stays leased in the end.
func TestOwnUnitsAreNobodyElses(t *testing.T) {
	const holders, own, limit = 20, 5, 100
	seeded := rand.New(rand.NewPCG(5, 6))
	b := New[int](limit)
	var portions [holders]Portion[int]
	var held [holders]int
	for k := range portions {
		portions[k] = b.Portion(k, own, 1+k%7)
	}
	for range 20_000 {
		k := seeded.IntN(holders)
		want := seeded.IntN(60)
		ok := portions[k].Cover(want)
		require.True(t, ok || want > own && want > held[k])
		if ok {
			held[k] = want
		}
		sum := 0
		for _, n := range held {
			sum += n
		}
		require.LessOrEqual(t, sum, holders*own+limit)
	}
	for k := range portions {
		portions[k].Cover(0)
	}
	require.Zero(t, b.Used())
}
