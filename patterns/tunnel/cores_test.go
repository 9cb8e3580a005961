// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCreditIsToldInLargePieces(t *testing.T) {
	// This test reads what came bit by bit: credit is told when a quarter of the
	// window was read, or a sixteenth if nothing is left to read.
	w := newWindow(64 << 10)
	require.True(t, w.came(60_000))
	for _, step := range []struct{ read, due int }{
		{10_000, 0}, {6_000, 0}, {1_000, 17_000}, {10_000, 0}, {33_000, 43_000},
	} {
		w.read(step.read)
		d := w.due()
		require.Equal(t, step.due, d)
		w.give(d)
	}
	require.Equal(t, 64<<10, w.lent())
	require.True(t, w.came(3_000))
	w.read(3_000)
	require.Zero(t, w.due(), "not worth a frame")
	require.True(t, w.came(2_000))
	w.read(2_000)
	require.Equal(t, 5_000, w.due())
}

func TestWithoutCreditNothingComes(t *testing.T) {
	// This test fills a window to the byte, and with short chunks, which cost
	// more than they have.
	w := newWindow(64 << 10)
	require.False(t, w.came(64<<10+1))
	require.True(t, w.came(64<<10))
	require.False(t, w.came(0))
	w = newWindow(4 << 10)
	for range 64 {
		require.True(t, w.came(1))
	}
	require.False(t, w.came(1))
	require.Equal(t, 4<<10, w.lent())
}

func TestAWindowTurnsFastOrSlow(t *testing.T) {
	// This test reads whole windows: fast is within a second and with little
	// left unread.
	second := int64(time.Second)
	for name, c := range map[string]struct {
		took      int64
		left      int
		wantWhole bool
		wantFast  bool
	}{
		"at once":       {1000, 0, true, true},
		"in a second":   {second, 0, true, true},
		"slower":        {second + 1, 0, true, false},
		"reader behind": {1000, 20_000, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWindow(64 << 10)
			w.came(64 << 10)
			w.read(64<<10 - 100)
			whole, _ := w.turned(c.took)
			require.False(t, whole)
			w.give(w.due())
			if c.left > 0 {
				w.came(c.left)
			}
			w.read(100)
			whole, fast := w.turned(c.took)
			require.Equal(t, c.wantWhole, whole)
			require.Equal(t, c.wantFast, fast)
		})
	}
}

func TestSenderAndReceiverNeverWaitForEachOther(t *testing.T) {
	// This test has a sender cut messages of all sizes by the credit that a
	// window of each size gives it, with a reader that reads some of what came
	// at random: all arrives, credit is never overdrawn, and the two never
	// wait for each other.
	for _, size := range []int{poorWindow, firstWindow, 100_000, maxWindow} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(size)))
			w := newWindow(size)
			credit, unread := size, []int(nil)
			for range 300 {
				for left := []int{0, 1, 63, 64, 65, 500, 5000, 70_000, 300_000}[rng.IntN(9)]; ; {
					n, ok := piece(left, credit)
					if !ok {
						require.NotEmpty(t, unread, "nobody can go on with %d of credit and %d left", credit, left)
					}
					if ok {
						credit -= cost(n)
						require.GreaterOrEqual(t, credit, 0)
						require.True(t, w.came(n))
						require.LessOrEqual(t, n, maxChunk)
						unread = append(unread, n)
						left -= n
					}
					for len(unread) > 0 && (!ok || rng.IntN(3) == 0) {
						w.read(cost(unread[0]))
						unread = unread[1:]
						if d := w.due(); d > 0 {
							w.give(d)
							credit += d
							break
						}
					}
					require.LessOrEqual(t, w.lent(), size)
					if ok && left == 0 {
						break
					}
				}
			}
		})
	}
}

func TestCostOfAWholeMessage(t *testing.T) {
	// This test compares what TrySend asks for with what the chunks use up.
	for _, n := range []int{0, 1, 64, 1000, maxChunk - 1, maxChunk, maxChunk + 1, maxChunk + 64, 5*maxChunk + 7, 10 * maxChunk} {
		sum := 0
		for left := n; ; {
			k, ok := piece(left, maxCredit)
			require.True(t, ok)
			sum += cost(k)
			if left -= k; left == 0 {
				break
			}
		}
		require.Equal(t, sum, costOf(n), n)
	}
}

func TestThePurseKeepsItsBudget(t *testing.T) {
	// This test opens, grows and closes at random: the budget is never passed,
	// small windows are there until all is given, and in the end all is back.
	rng := rand.New(rand.NewPCG(7, 7))
	p := purse{bytes: 16 << 20}
	var open []int
	for range 20_000 {
		switch k := rng.IntN(10); {
		case k < 4:
			if size := p.open(); size > 0 {
				open = append(open, size)
			} else {
				require.Greater(t, p.used+poorWindow, p.bytes)
			}
		case k < 8 && len(open) > 0:
			i := rng.IntN(len(open))
			size := p.grow(open[i])
			require.GreaterOrEqual(t, size, open[i])
			require.LessOrEqual(t, size, maxWindow)
			open[i] = size
			if less := p.shrink(size); less < size {
				require.Greater(t, p.used, p.bytes/4*3)
				require.GreaterOrEqual(t, less, firstWindow)
				p.close(size - less)
				open[i] = less
			}
		case len(open) > 0:
			i := rng.IntN(len(open))
			p.close(open[i])
			open[i] = open[len(open)-1]
			open = open[:len(open)-1]
		}
		sum := 0
		for _, n := range open {
			sum += n
		}
		require.Equal(t, sum, p.used)
		require.LessOrEqual(t, p.used, p.bytes)
	}
	for _, n := range open {
		p.close(n)
	}
	require.Zero(t, p.used)
}

func TestEnds(t *testing.T) {
	// This test plays the orders in which two sides can end, and looks at what
	// each has to say, whether it may send, and whether it is over.
	for name, c := range map[string]struct {
		steps string // c = close send, C = close, t = told what is due, e = hears an end, E = hears a closed end
		due   ending
		over  bool
		send  bool
	}{
		"nothing":                 {"", endingNone, false, true},
		"asked to end":            {"c", endingSend, false, false},
		"told":                    {"ct", endingNone, false, false},
		"both":                    {"cte", endingNone, true, false},
		"the other first":         {"e", endingNone, false, true},
		"the other, then we":      {"ect", endingNone, true, false},
		"not told yet":            {"ec", endingSend, false, false},
		"the other is closed":     {"E", endingSend, false, false},
		"and we say so":           {"Et", endingNone, true, false},
		"closed after close send": {"ctC", endingClosed, false, false},
		"and told":                {"ctCt", endingNone, false, false},
		"close send after closed": {"Cc", endingClosed, false, false},
		"both closed":             {"CtE", endingNone, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			var e ends
			for _, step := range c.steps {
				switch step {
				case 'c':
					e.want(endingSend)
				case 'C':
					e.want(endingClosed)
				case 't':
					e.told = e.due()
				case 'e':
					e.hear(endingSend)
				case 'E':
					e.hear(endingClosed)
				}
			}
			require.Equal(t, c.due, e.due())
			require.Equal(t, c.over, e.over())
			require.Equal(t, c.send, e.maySend())
		})
	}
	e := ends{err: errNoCredit}
	e.want(endingSend)
	require.True(t, e.over())
	require.Equal(t, endingNone, e.due())
	require.False(t, e.maySend())
}

func TestTheTurnstileIsFair(t *testing.T) {
	// This test lets three in, of which the second gives up.
	var s turnstile
	require.Nil(t, s.enter())
	require.False(t, s.try())
	second, third := s.enter(), s.enter()
	require.True(t, s.forget(second))
	require.Equal(t, third, s.leave())
	require.False(t, s.forget(third), "it is its turn")
	require.Nil(t, s.leave())
	require.True(t, s.try())
	require.Nil(t, s.leave())
}
