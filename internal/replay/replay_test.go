// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// This test checks that serials which are out of order by less than the window are
// all taken, once, and that none is ever taken twice.
func TestEachSerialIsTakenOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	serials := make([]uint64, 10_000)
	for i := range serials {
		serials[i] = 3 * uint64(i+1) // there are some of other groups between them
	}
	for from := 0; from < len(serials); from += Size / 2 {
		part := serials[from:min(from+Size/2, len(serials))]
		random.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
	}
	var w Window
	taken := make(map[uint64]bool)
	for i, s := range serials {
		require.True(t, w.Fresh(s))
		require.False(t, taken[s])
		taken[s] = true
		require.False(t, w.Fresh(serials[random.IntN(i+1)]))
		require.LessOrEqual(t, len(w.seen), Size)
	}
	require.EqualValues(t, 30_000, w.Newest())
}

// This test checks that a floor refuses what is older, whether it was seen or not, and
// keeps what is not.
func TestAFloorRefusesWhatIsOlder(t *testing.T) {
	var w Window
	for _, s := range []uint64{5, 9, 7} {
		require.True(t, w.Fresh(s))
	}
	w.Raise(7)
	w.Raise(3)
	require.True(t, w.Below(7))
	require.False(t, w.Below(8))
	for serial, fresh := range map[uint64]bool{4: false, 7: false, 8: true, 9: false, 10: true} {
		require.Equal(t, fresh, w.Fresh(serial), serial)
	}
	require.EqualValues(t, 10, w.Newest())
}

func TestInOrderCostsNoAllocation(t *testing.T) {
	var w Window
	n := uint64(0)
	for range Size {
		n++
		w.Fresh(n)
	}
	require.Zero(t, testing.AllocsPerRun(1000, func() { n++; w.Fresh(n) }))
}
