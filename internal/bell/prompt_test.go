// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package bell

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestALateBellIsLeftAlone proves that a program which is too busy to hear a bell in time
// waits at it less and less, and that one late ring is soon forgotten.
func TestALateBellIsLeftAlone(t *testing.T) {
	const inTime, tooLate = 20 * time.Microsecond, 9 * time.Millisecond
	var p promptness
	skipped := func() (n int) {
		for !p.trusts() {
			n++
		}
		return n
	}
	for _, step := range []struct {
		took  time.Duration
		skips int
	}{
		{inTime, 0},
		{tooLate, 16},
		{tooLate, 32},
		{tooLate, 64},
		{inTime, 0},
		{inTime, 0}, // 16 is left of the pause
		{tooLate, 32},
		{inTime, 0},
		{inTime, 0},
		{inTime, 0},
		{inTime, 0},
		{inTime, 0},
		{inTime, 0},
		{tooLate, 16},
	} {
		p.heard(step.took)
		require.Equal(t, step.skips, skipped())
	}
	for range 20 {
		p.heard(tooLate)
	}
	require.Equal(t, 4096, skipped())
}
