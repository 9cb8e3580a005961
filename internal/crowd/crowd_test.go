// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package crowd

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// This test checks a crowd against a plain count, over many random additions and
// removals.
func TestCrowdKnowsWhoHasMost(t *testing.T) {
	seeded := rand.New(rand.NewPCG(3, 4))
	c := New[byte]()
	sources := make(map[uint64]byte)
	for id := range uint64(5000) {
		source := byte(seeded.IntN(9) * seeded.IntN(3))
		c.Add(id, source)
		sources[id] = source
		for len(sources) > 0 && seeded.IntN(100) < 49 {
			gone := uint64(seeded.IntN(int(id + 1)))
			c.Remove(gone)
			delete(sources, gone)
		}
		require.Equal(t, len(sources), c.Len())
		if len(sources) == 0 {
			continue
		}
		counts, most := make(map[byte]int), 0
		for _, s := range sources {
			counts[s]++
			most = max(most, counts[s])
		}
		require.Equal(t, most, counts[sources[c.Victim(seeded.IntN)]])
	}
	for id := range sources {
		c.Remove(id)
	}
	require.Zero(t, len(c.sources)+len(c.seats)+c.top)
}
