// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
)

// This test checks that every tunnel that may be open gets credit, however much
// the others have, and that all of it together stays within the limit.
func TestEveryTunnelHasItsShareOfCredit(t *testing.T) {
	for _, l := range []Limits{{}, {Tunnels: 10, TunnelBytes: 100 << 10}, {Tunnels: 1, TunnelBytes: 1 << 20}, {Tunnels: 1000, TunnelBytes: 1000 * 512}} {
		l = l.withDefaults()
		a := newAllowance(l)
		sum := 0
		for range l.Tunnels {
			window, err := a.take()
			require.NoError(t, err)
			require.GreaterOrEqual(t, window, minSure)
			sum += window
		}
		require.LessOrEqual(t, sum, l.TunnelBytes)
		_, err := a.take()
		require.ErrorIs(t, err, ErrTooManyTunnels)
		a.giveBack(a.sure)
		_, err = a.take()
		require.NoError(t, err)
	}
	poor := newAllowance(Limits{Tunnels: 100, TunnelBytes: 1000})
	for range 3 {
		_, err := poor.take()
		require.NoError(t, err)
	}
	_, err := poor.take()
	require.ErrorIs(t, err, ErrTooManyTunnels, "there are places, but no credit")
}

// This test checks by chance what must hold for any use of credit: nothing is
// lost or made, the limit holds, and a client that has sent all it may gets
// more as soon as the node has taken it.
func TestCreditIsNeitherLostNorMade(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	l := Limits{Tunnels: 20, TunnelBytes: 1 << 20}.withDefaults()
	a := newAllowance(l)
	type tunnel struct {
		intake
		held []int
	}
	var open []*tunnel
	for range 20_000 {
		switch {
		case len(open) < 20 && rng.IntN(20) == 0:
			window, err := a.take()
			require.NoError(t, err)
			open = append(open, &tunnel{intake: intake{given: window, window: window}})
		case len(open) == 0:
			continue
		}
		i := rng.IntN(len(open))
		x := open[i]
		switch rng.IntN(10) {
		case 0:
			if rng.IntN(30) == 0 {
				a.giveBack(x.has())
				open = append(open[:i], open[i+1:]...)
			}
		case 1, 2, 3, 4:
			n := rng.IntN(session.MaxChunk + 1)
			before := x.given
			if came := x.came(n); came {
				x.held = append(x.held, n)
			} else {
				require.Less(t, before, session.ChunkCost(n))
				require.Equal(t, before, x.given)
			}
		default:
			for len(x.held) > 0 {
				n := x.held[0]
				x.held = x.held[1:]
				x.passed(n, &a)
			}
			require.Zero(t, x.intake.held)
			require.GreaterOrEqual(t, x.given, a.sure/2, "the client starves")
		}
		lent := 0
		for _, x := range open {
			require.GreaterOrEqual(t, x.given, 0)
			lent += max(x.has()-a.sure, 0)
		}
		require.Equal(t, lent, a.lent)
		require.LessOrEqual(t, a.lent, a.pool)
		require.Equal(t, len(open), a.open)
	}
}

// This test checks that a tunnel which is busy gets more credit, up to a
// bound, and that it shrinks when others need it.
func TestABusyTunnelGetsMoreCredit(t *testing.T) {
	l := Limits{Tunnels: 1000, TunnelBytes: 8 << 20}.withDefaults()
	a := newAllowance(l)
	window, err := a.take()
	require.NoError(t, err)
	require.Equal(t, firstWindow, window)
	x := intake{given: window, window: window}
	use := func() {
		for range 100 {
			require.True(t, x.came(4<<10))
			x.passed(4<<10, &a)
		}
	}
	for range 20 {
		use()
	}
	require.Equal(t, maxWindow, x.window)
	require.Greater(t, x.given, maxWindow*3/4)
	for range 999 {
		_, err := a.take()
		require.NoError(t, err)
	}
	use()
	require.LessOrEqual(t, x.given, 64<<10)
	require.GreaterOrEqual(t, x.given, a.sure/2)
}
