// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
)

// This test takes and gives back chunks of any size, in no order: each has its
// bytes to itself as long as it is taken, and in the end nothing is held.
func TestChunksInSlabsAreApart(t *testing.T) {
	type taken struct {
		data []byte
		slab *slab
		fill byte
	}
	var s slabs
	var all []taken
	r := rand.New(rand.NewPCG(1, 2))
	giveBack := func(i int) {
		require.Equal(t, bytes.Repeat([]byte{all[i].fill}, len(all[i].data)), all[i].data)
		s.giveBack([]*slab{all[i].slab})
		all[i] = all[len(all)-1]
		all = all[:len(all)-1]
	}
	for i := range 5000 {
		size := []int{0, 1, 100, 5000, 40_000, session.MaxChunk}[r.IntN(6)]
		data, in := s.take(size)
		require.Len(t, data, size)
		require.Equal(t, size, cap(data), "nobody writes behind his own")
		for k := range data {
			data[k] = byte(i)
		}
		all = append(all, taken{data, in, byte(i)})
		for len(all) > 20 {
			giveBack(r.IntN(len(all)))
		}
	}
	for len(all) > 0 {
		giveBack(0)
	}
	require.Nil(t, s.filling)
}

// This test checks that short chunks share a slab, and that one that is idle holds
// none.
func TestShortChunksShareASlab(t *testing.T) {
	var s slabs
	var used []*slab
	for range 64 {
		_, in := s.take(1 << 10)
		used = append(used, in)
		require.Same(t, used[0], in)
	}
	_, next := s.take(1)
	require.NotSame(t, used[0], next)
	s.giveBack(used)
	require.Zero(t, used[0].users)
	require.Same(t, next, s.filling, "somebody uses it")
	s.giveBack([]*slab{next})
	require.Nil(t, s.filling)
}
