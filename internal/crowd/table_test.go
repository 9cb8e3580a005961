// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package crowd

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// This test checks that a full table takes an entry of who has less in place of one of
// who has most, until all have the same, and refuses who has as much.
func TestTheLargestHolderGivesWay(t *testing.T) {
	seeded := rand.New(rand.NewPCG(1, 2))
	table := NewTable[int, string, int](100, seeded.IntN)
	for k := range 100 {
		gone, ok := table.Put(k, "greedy", k)
		require.True(t, ok)
		require.Nil(t, gone)
	}
	_, ok := table.Put(100, "greedy", 100)
	require.False(t, ok)
	taken := 0
	for k := range 60 {
		gone, ok := table.Put(200+k, "modest", k)
		if !ok {
			break
		}
		require.Less(t, gone.Key, 100, "one of the greedy one's")
		require.Equal(t, gone.Key, gone.Value)
		taken++
	}
	require.Equal(t, 50, taken)
	require.Equal(t, 100, table.Len())
	require.Len(t, table.keys, 100)
	require.Equal(t, 100, table.crowd.Len())
	_, ok = table.Get(100)
	require.False(t, ok)

	table.Set(200, 9)
	v, ok := table.Get(200)
	require.True(t, ok)
	require.Equal(t, 9, v)
	require.Panics(t, func() { table.Set(100, 1) })
	for k := range table.All() {
		table.Delete(k)
		table.Delete(k)
	}
	require.Zero(t, table.Len()+len(table.keys)+table.crowd.Len())
}
