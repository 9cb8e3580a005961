// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
)

// This test checks the borders of calm: what lasts disturbs until it is undone
// or everything is healed, a node that is taken away at first, what undoes a
// fault not by itself; and each for a while after that.
func TestItIsNotCalmNearAFault(t *testing.T) {
	h := &history.History{Safety: 60 * sec, End: 70 * sec, Faults: []history.Fault{
		{At: 10 * sec, Until: 12 * sec, Do: "pause"},
		{At: 14 * sec, Until: 14 * sec, Do: "corrupt"},
		{At: 30 * sec, Until: -1, Do: "crash"},
		{At: 40 * sec, Until: 40 * sec, Do: "heal"},
		{At: 50 * sec, Until: -1, Do: "cut"},
	}}
	c := check.NewCalm(h, check.Rules{})
	require.Equal(t, 5*sec, c.After)
	for _, x := range []struct {
		from, until time.Duration
		calm        bool
	}{
		{0, 10 * sec, true},
		{9 * sec, 10*sec + 1, false},
		{18 * sec, 20 * sec, false},
		{19 * sec, 30 * sec, true},
		{20 * sec, 40 * sec, false},
		{34 * sec, 34 * sec, false},
		{35 * sec, 50 * sec, true},
		{64 * sec, 67 * sec, false},
		{65 * sec, 67 * sec, true},
	} {
		require.Equal(t, x.calm, c.Between(x.from, x.until), "%v", x)
	}
	require.Equal(t, 8*sec, check.NewCalm(h, check.LevelRules("net")).After)
}
