// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// This test checks that a peer alone has half of everything, and that what it holds
// keeps nobody from a share of the other half, however many come.
func TestNobodyIsRefusedItsShare(t *testing.T) {
	b := New[string](1000)
	for range 1000 {
		b.Take("greedy", 1)
	}
	require.Equal(t, 500, b.Used())
	for i := range 10 {
		require.True(t, b.Take(fmt.Sprint(i), 500/11), "a share of half of it")
	}
	require.False(t, b.Take("greedy", 1))
	require.False(t, b.Take("0", 1), "beyond its share")
	b.Give("greedy", 500)
	require.True(t, b.Take("0", 40), "there is room again")
}

// This test checks that the limit holds, whatever is asked for, and that who has
// given everything back is forgotten.
func TestTheLimitHolds(t *testing.T) {
	b := New[int](100)
	require.False(t, b.Take(1, 101))
	require.False(t, b.Take(1, math.MaxInt))
	for k := range 1000 {
		b.Take(k, 3)
	}
	require.LessOrEqual(t, b.Used(), 100)
	for k := range 1000 {
		if n := b.held[k]; n > 0 {
			b.Give(k, n)
		}
	}
	require.Zero(t, b.Used())
	require.Empty(t, b.held)
	require.Panics(t, func() { b.Give(1, 1) })
}
