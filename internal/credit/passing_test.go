// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package credit

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhoCantChangeCreditHoldsItBack(t *testing.T) {
	// This test passes on what a sender may send that was told of 64 KiB: a total goes on
	// as soon as the window here has room for it, or when the sender has nothing left; what
	// is no news goes on at once; and what the sender was not told of breaks the protocol.
	p := NewPassing(64 << 10)
	require.True(t, p.Tell(64<<10), "no news")
	require.False(t, p.Tell(80<<10), "nothing has gone on yet")
	require.True(t, p.Came(20<<10))
	require.False(t, p.Tell(80<<10), "it stands here")
	p.Left(16 << 10)
	require.True(t, p.Tell(80<<10))
	require.False(t, p.Tell(80<<10+1))
	require.Equal(t, 4<<10, p.Held())
	require.False(t, p.Came(60<<10+1))
	require.True(t, p.Came(60<<10))
	require.False(t, p.Tell(1<<20), "of what it was told nothing is left, but it stands here")
	p.Left(64 << 10)
	require.True(t, p.Tell(1<<20), "a receiver's piece may be larger than the window here")
	require.True(t, p.Came(1<<20-80<<10))
	require.False(t, p.Came(0))
}

func TestTheWindowOfWhoPassesOnGrows(t *testing.T) {
	// This test passes a window on in less than a second: it grows as others do, and
	// belongs to the budget.
	b := NewBudget(1 << 20)
	p := NewPassing(b.Open())
	require.True(t, p.Came(64<<10))
	require.True(t, p.Left(64<<10))
	p.Resize(int64(time.Second), b)
	require.Equal(t, 128<<10, p.Size())
	require.Equal(t, 128<<10, b.Used())
	require.True(t, p.Tell(64<<10+128<<10))
}

func TestSenderAndReceiverOfSealedCreditNeverWaitForEachOther(t *testing.T) {
	// This test cuts messages of all sizes by the credit that windows of each size give,
	// which who passes on holds back as its own window says, and which the sender gives
	// back at times: all arrives, what stands there is bounded, and nobody waits for the
	// others for ever.
	for _, size := range []int{PoorWindow, FirstWindow} {
		for _, through := range []int{PoorWindow, FirstWindow, 1 << 20} {
			t.Run(fmt.Sprint(size, " through ", through), func(t *testing.T) { neverHeldUp(t, size, through) })
		}
	}
}

func neverHeldUp(t *testing.T, size, through int) {
	rng := rand.New(rand.NewPCG(2, uint64(size+through)))
	far, between, balance := NewWindow(size), NewPassing(through), NewBalance(uint64(size))
	budget := NewBudget(64 << 20)
	var passing, unread []int
	var held []uint64
	hear := func() {
		for i := len(held) - 1; i >= 0; i-- {
			if between.Tell(held[i]) {
				balance.Heard(held[i])
				held = held[i+1:]
				return
			}
		}
	}
	for range 300 {
		for left := []int{0, 1, 63, 64, 65, 500, 5000, 70_000, 300_000}[rng.IntN(9)]; ; {
			n, ok := balance.Piece(left, chunk)
			if !ok {
				require.NotEmpty(t, append(unread, passing...), "nobody can go on with %d left", left)
			}
			if ok {
				require.True(t, between.Came(n))
				passing = append(passing, n)
				left -= n
			}
			for len(passing) > 0 && (!ok || rng.IntN(2) == 0) {
				require.True(t, far.Came(passing[0]))
				between.Left(Cost(passing[0]))
				unread, passing = append(unread, Cost(passing[0])), passing[1:]
				hear()
			}
			for len(unread) > 0 && (!ok || rng.IntN(3) == 0) {
				part := 1 + rng.IntN(unread[0])
				far.Read(part)
				if unread[0] -= part; unread[0] == 0 {
					unread = unread[1:]
				}
				if far.Turned() {
					far.Resize(0, budget)
				}
				if far.Grant() {
					held = append(held, far.Total())
					hear()
					break
				}
			}
			if ok && left == 0 {
				break
			}
		}
		if rng.IntN(4) == 0 {
			if total, ok := balance.Return(); ok {
				require.True(t, between.Returned(total, budget))
				require.True(t, far.Returned(total, budget))
			}
			if far.Grant() {
				held = append(held, far.Total())
			}
			hear()
		}
	}
}
