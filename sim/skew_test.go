// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// This test checks the arithmetic of part against big numbers, far beyond what
// int64 products could hold.
func TestPartIsExact(t *testing.T) {
	rng := newPCG(1, "part")
	for range 10_000 {
		n := int64(rng.below(1<<62)) - 1<<61
		num := int64(rng.below(2*million)) - million
		den := int64(rng.below(2*million)) + 1
		want := new(big.Int).Mul(big.NewInt(n), big.NewInt(num))
		want.Div(want, big.NewInt(den)) // rounds down for positive den
		if want.IsInt64() {
			require.Equal(t, want.Int64(), part(n, num, den), "%d %d %d", n, num, den)
		}
	}
}

// This test checks that a timer of a drifting clock is over, by that clock, when
// it fires, and no more than a few ns later.
func TestDriftingTimersAreOverWhenTheyFire(t *testing.T) {
	rng := newPCG(2, "drift")
	for range 10_000 {
		s := (&skew{}).next(0, 0, int64(rng.below(1_900_000))-950_000)
		at, d := int64(rng.below(1e15)), int64(rng.below(1e13))
		passed := s.real(d) + s.drifted(at+s.real(d)) - s.drifted(at)
		require.GreaterOrEqual(t, passed, d)
		require.LessOrEqual(t, passed, d+5)
	}
}

// This test checks that a change of the drift makes no jump.
func TestDriftChangesWithoutAJump(t *testing.T) {
	s := &skew{}
	var last int64
	for i, ppm := range []int64{100, -200, 0, 5000, -million, 3} {
		now := int64(i) * int64(time.Hour)
		s = s.next(now, 0, ppm)
		require.Equal(t, last, s.drifted(now))
		last = s.drifted(now + int64(time.Hour))
	}
	require.Equal(t, int64(1-million), (&skew{}).next(0, 0, -5*million).drift, "time does not stand still")
}
