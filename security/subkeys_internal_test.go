// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSubkeyCacheIsBoundedAndKeepsWhatIsUsed proves that the cache never holds
// more than twice its limit, and that what is used again and again stays while
// others come and go.
func TestSubkeyCacheIsBoundedAndKeepsWhatIsUsed(t *testing.T) {
	var g generations[int, int]
	g.put(-1, 42)
	for i := range 10 * subkeyCache {
		g.put(i, i)
		if i%(subkeyCache/2) == 0 {
			v, ok := g.get(-1)
			require.True(t, ok, i)
			require.Equal(t, 42, v)
		}
		require.LessOrEqual(t, len(g.young), subkeyCache)
		require.LessOrEqual(t, len(g.old), subkeyCache)
	}
	for i := 9 * subkeyCache; i < 10*subkeyCache; i++ {
		_, ok := g.get(i)
		require.True(t, ok, "the latest are there")
	}
	_, ok := g.get(0)
	require.False(t, ok, "the first are forgotten")
}
