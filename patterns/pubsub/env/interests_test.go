// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/internal/fake"
)

// TestCoveringAgreesWithMatching proves covers against its meaning: whatever
// the second pattern matches, the first does.
func TestCoveringAgreesWithMatching(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	covering := 0
	for range 20_000 {
		a, b := fake.RandomPattern(r.IntN, true), fake.RandomPattern(r.IntN, true)
		if !covers(a, b) {
			continue
		}
		covering++
		for range 20 {
			topic := fake.RandomPattern(r.IntN, false)
			if match.Matches(b, topic) {
				require.True(t, match.Matches(a, topic), "%s covers %s, but not for %s", a, b, topic)
			}
		}
	}
	require.Greater(t, covering, 500)
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"a.>", "a.b", true},
		{"a.>", "a.b.>", true},
		{"a.>", "a", false},
		{"a.*", "a.*", true},
		{"a.*", "a.>", false},
		{"a.b", "a.*", false},
		{"*.b", "a.b", true},
		{">", "*.>", true},
		{"a.*.c", "a.b", false},
	} {
		require.Equal(t, c.want, covers(c.a, c.b), "%s %s", c.a, c.b)
	}
}

// TestCoarserPatternsLoseNothing proves that what does not fit becomes coarser
// until it does, and that everything that matched still does.
func TestCoarserPatternsLoseNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, count := range []int{1, 10, 1000, 20_000} {
		var is []wire.Interest
		for i := range count {
			is = append(is, wire.Interest{Pattern: fmt.Sprintf("g.%d.%d.x%d", r.IntN(3), r.IntN(50), i), Signed: r.IntN(9) == 0})
		}
		is = append(is, wire.Interest{Pattern: "g.*", Queue: "q", Weight: 1})
		coarse, ok := Coarsen(slices.Clone(is), MaxPayload)
		require.True(t, ok)
		require.LessOrEqual(t, wire.InterestsSize(coarse), MaxPayload)
		require.Contains(t, coarse, is[len(is)-1], "queues stay as they are")
		for _, i := range is {
			require.True(t, i.Queue != "" || Covered(coarse, i.Pattern, i.Signed), i.Pattern)
		}
	}
	var queues []wire.Interest
	for i := range 1000 {
		queues = append(queues, wire.Interest{Pattern: fmt.Sprint("g.", i), Queue: "q", Weight: 1})
	}
	_, ok := Coarsen(queues, MaxPayload)
	require.False(t, ok)
}
