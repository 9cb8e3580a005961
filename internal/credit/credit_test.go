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

const chunk = 64 << 10

func TestCreditIsToldInLargePieces(t *testing.T) {
	// This test reads what came bit by bit: credit is told when a quarter of the
	// window was read, or a sixteenth if nothing is left to read.
	w := NewWindow(64 << 10)
	require.True(t, w.Came(60_000))
	total := w.Total()
	for _, step := range []struct{ read, told int }{
		{10_000, 0}, {6_000, 0}, {1_000, 17_000}, {10_000, 0}, {33_000, 43_000},
	} {
		w.Read(step.read)
		require.Equal(t, step.told > 0, w.Grant())
		total += uint64(step.told)
		require.Equal(t, total, w.Total())
	}
	require.True(t, w.Came(3_000))
	w.Read(3_000)
	require.False(t, w.Grant(), "not worth a frame")
	require.True(t, w.Came(2_000))
	w.Read(2_000)
	require.True(t, w.Grant())
	require.Equal(t, total+5_000, w.Total())
}

func TestWhoPassesOnGivesWhatTheReceiverGave(t *testing.T) {
	// This test passes credit on: all that the receiver has given at once, if the
	// window in between has room for it; else as any window does; never more.
	w := NewWindow(64 << 10)
	require.False(t, w.GrantUpTo(64<<10), "it has all of that already")
	require.True(t, w.Came(60_000))
	require.False(t, w.GrantUpTo(200_000), "nothing has gone on yet")
	w.Read(100)
	require.False(t, w.GrantUpTo(200_000), "not worth a frame")
	require.True(t, w.GrantUpTo(64<<10+50), "but if that is all there is")
	w.Read(20_000)
	require.True(t, w.GrantUpTo(64<<10+10_000))
	require.EqualValues(t, 64<<10+10_000, w.Total())
	require.False(t, w.GrantUpTo(1<<40))
	w.Read(39_900)
	require.True(t, w.GrantUpTo(1<<40))
	require.Equal(t, w.Size(), w.given)
	w = NewWindowUpTo(64<<10, 1000)
	require.EqualValues(t, 1000, w.Total())
	require.True(t, w.GrantUpTo(2000))
	require.EqualValues(t, 2000, w.Total())
}

func TestWithoutCreditNothingComes(t *testing.T) {
	// This test fills a window to the byte, and with short chunks, which cost
	// more than they have.
	w := NewWindow(64 << 10)
	require.False(t, w.Came(64<<10+1))
	require.True(t, w.Came(64<<10))
	require.False(t, w.Came(0))
	w = NewWindow(4 << 10)
	for range 64 {
		require.True(t, w.Came(1))
	}
	require.False(t, w.Came(1))
	require.Equal(t, 4<<10, w.Held())
}

func TestAWindowWhoseReaderKeepsUpGrows(t *testing.T) {
	// This test reads whole windows: it grows if that took no more than a second
	// and little is left unread.
	second := int64(time.Second)
	for name, c := range map[string]struct {
		took int64
		left int
		want int
	}{
		"at once":       {1000, 0, 128 << 10},
		"in a second":   {second, 0, 128 << 10},
		"slower":        {second + 1, 0, 64 << 10},
		"reader behind": {1000, 20_000, 64 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBudget(1 << 20)
			w := NewWindow(b.Open())
			w.Came(64 << 10)
			w.Read(64<<10 - 100)
			require.False(t, w.Turned())
			w.Grant()
			if c.left > 0 {
				w.Came(c.left)
			}
			w.Read(100)
			require.True(t, w.Turned())
			w.Resize(c.took, b)
			require.Equal(t, c.want, w.Size())
			require.Equal(t, c.want, b.Used())
			require.False(t, w.Turned())
		})
	}
}

func TestSenderAndReceiverNeverWaitForEachOther(t *testing.T) {
	// This test has a sender cut messages of all sizes by the credit that a
	// window of each size gives it, straight and through a window in between,
	// with readers that read some of what came at random, and chunks bit by bit, and
	// a sender that gives credit back before all was read: all arrives, credit is never overdrawn, and none waits for the other for ever.
	for _, size := range []int{PoorWindow, FirstWindow, 100_000, MaxWindow} {
		for _, through := range []int{0, PoorWindow, FirstWindow} {
			t.Run(fmt.Sprint(size, " through ", through), func(t *testing.T) {
				neverStuck(t, size, through)
			})
		}
	}
}

func neverStuck(t *testing.T, size, through int) {
	rng := rand.New(rand.NewPCG(1, uint64(size)))
	far := NewWindow(size)
	near, between, first := &far, Window{}, size
	if through > 0 {
		between = NewWindowUpTo(through, uint64(size))
		near, first = &between, int(between.Total())
	}
	balance := NewBalance(uint64(first))
	var passing, unread []int
	var read uint64
	budget := NewBudget(64 << 20)
	hear := func() {
		if through > 0 {
			between.GrantUpTo(far.Total())
		}
		balance.Heard(near.Total())
	}
	for range 300 {
		for left := []int{0, 1, 63, 64, 65, 500, 5000, 70_000, 300_000}[rng.IntN(9)]; ; {
			n, ok := balance.Piece(left, chunk)
			if !ok {
				require.NotEmpty(t, append(unread, passing...), "nobody can go on with %d left", left)
			}
			if ok {
				require.GreaterOrEqual(t, balance.Left(), 0)
				require.True(t, near.Came(n))
				require.LessOrEqual(t, n, chunk)
				passing = append(passing, n)
				left -= n
			}
			for len(passing) > 0 && (through == 0 || !ok || rng.IntN(2) == 0) {
				if through > 0 {
					require.True(t, far.Came(passing[0]))
					between.Read(Cost(passing[0]))
				}
				unread, passing = append(unread, Cost(passing[0])), passing[1:]
				hear()
			}
			for len(unread) > 0 && (!ok || rng.IntN(3) == 0) {
				part := unread[0]
				if rng.IntN(2) == 0 {
					part = 1 + rng.IntN(part)
				}
				far.Read(part)
				read += uint64(part)
				require.Equal(t, read, far.ReadTotal())
				if unread[0] -= part; unread[0] == 0 {
					unread = unread[1:]
				}
				if far.Grant() {
					hear()
					break
				}
			}
			if ok && left == 0 {
				break
			}
		}
		if through == 0 && rng.IntN(4) == 0 {
			if total, ok := balance.Return(); ok {
				require.True(t, far.Returned(total, budget))
			}
			if far.Grant() {
				hear()
			}
		}
	}
}

func TestCostOfAWholeMessage(t *testing.T) {
	// This test compares what a whole message costs with what its chunks use up.
	for _, n := range []int{0, 1, 64, 1000, chunk - 1, chunk, chunk + 1, chunk + 64, 5*chunk + 7, 10 * chunk} {
		b := NewBalance(MaxBalance)
		for left := n; ; {
			k, ok := b.Piece(left, chunk)
			require.True(t, ok)
			if left -= k; left == 0 {
				break
			}
		}
		require.Equal(t, MaxBalance-b.Left(), CostOf(n, chunk), n)
		c := NewBalance(uint64(CostOf(n, chunk)))
		require.True(t, c.Spend(n, chunk))
		require.Zero(t, c.Left())
		require.False(t, c.Spend(0, chunk))
	}
}

func TestCreditIsATotal(t *testing.T) {
	// This test hears totals out of order, twice, and one that nobody means.
	b := NewBalance(1000)
	require.True(t, b.Heard(5000))
	require.False(t, b.Heard(3000))
	require.False(t, b.Heard(5000))
	require.Equal(t, 5000, b.Left())
	n, ok := b.Piece(100, chunk)
	require.True(t, ok)
	b.Refund(n)
	require.Equal(t, 5000, b.Left())
	require.True(t, b.Heard(1<<63))
	require.Equal(t, MaxBalance, b.Left())
	last := NewBalance(1 << 63)
	require.Equal(t, MaxBalance, last.Left())
}

// idle is what all that has come, was read and can be given back leaves of a window.
func idle(w *Window, b *Budget) {
	if n := w.given - PoorWindow; n > 0 {
		w.Returned(uint64(n), b)
	}
}

func TestIdleWindowsLeaveTheBudgetToBusyOnes(t *testing.T) {
	// This test opens both windows of 16,384 tunnels in the 64 MiB that a relay has for a
	// client: there is room for all, before and after the first ones have given back what
	// they do not use, and then for busy ones of the usual size and more.
	b := NewBudget(64 << 20)
	var all []Window
	for range 2 * 16384 {
		size := b.Open()
		require.Positive(t, size, "of %d", len(all))
		all = append(all, NewWindow(size))
	}
	for i := range all {
		idle(&all[i], b)
	}
	require.Equal(t, len(all)*PoorWindow, b.Used())
	busy := &all[len(all)-1]
	for now := range int64(12) {
		require.True(t, busy.Came(busy.given))
		busy.Read(busy.held)
		busy.Resize(now, b)
		require.True(t, busy.Grant())
	}
	require.Equal(t, MaxWindow, busy.Size())
}

func TestBusyWindowsShareTheBudget(t *testing.T) {
	// This test has the windows of 16,384 tunnels become busy at once, and read as fast as
	// their senders send: the budget holds, each has its fair part within some turns, and
	// new ones can be opened still.
	b := NewBudget(64 << 20)
	all := make([]Window, 2*16384)
	for i := range all {
		all[i] = NewWindow(b.Open())
	}
	for now := range int64(50) {
		for i := range all {
			w := &all[i]
			w.Came(w.given)
			w.Read(w.held)
			if w.Turned() {
				w.Resize(now, b)
			}
			w.Grant()
		}
		require.LessOrEqual(t, b.Used(), 64<<20)
	}
	sum := 0
	for i := range all {
		require.GreaterOrEqual(t, all[i].Size(), b.fair()/2)
		sum += all[i].Size()
	}
	require.Equal(t, b.Used(), sum)
	require.Positive(t, b.Open())
}

func TestABudgetIsKept(t *testing.T) {
	// This test opens, grows and closes at random: the budget is never passed,
	// small windows are there until all is given, and in the end all is back.
	rng := rand.New(rand.NewPCG(7, 7))
	b := NewBudget(16 << 20)
	var open []int
	for range 20_000 {
		switch k := rng.IntN(10); {
		case k < 4:
			if size := b.Open(); size > 0 {
				open = append(open, size)
			} else {
				require.Greater(t, b.Used()+PoorWindow, 16<<20)
			}
		case k < 8 && len(open) > 0:
			i := rng.IntN(len(open))
			size := b.Grow(open[i])
			require.GreaterOrEqual(t, size, open[i])
			require.LessOrEqual(t, size, MaxWindow)
			open[i] = size
			if less := b.shrink(size); less < size {
				require.Greater(t, b.Used(), 10<<20)
				require.GreaterOrEqual(t, less, b.fair())
				b.give(size - less)
				open[i] = less
			}
		case len(open) > 0:
			i := rng.IntN(len(open))
			b.Close(open[i])
			open[i] = open[len(open)-1]
			open = open[:len(open)-1]
		}
		sum := 0
		for _, n := range open {
			sum += n
		}
		require.Equal(t, sum, b.Used())
		require.LessOrEqual(t, b.Used(), 16<<20)
	}
	for _, n := range open {
		b.Close(n)
	}
	require.Zero(t, b.Used())
}
