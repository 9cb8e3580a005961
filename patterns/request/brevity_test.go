// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// This test checks that handlers count as brief after sixteen brief ones in a row, not
// after others, and after twice as many for each that took long.
func TestHandlersAreBriefUntilOneTakesLong(t *testing.T) {
	var b brevity
	until := func() (n int) {
		for !b.brief() {
			b.ended(briefTime)
			n++
		}
		return n
	}
	require.Equal(t, 16, until())
	b.ended(briefTime + 1)
	require.Equal(t, 16, until(), "neither brief nor long")
	for _, want := range []int{32, 64, 128} {
		b.ended(longTime + 1)
		require.Equal(t, want, until())
	}
	for range 100 {
		b.ended(time.Hour)
	}
	require.Equal(t, 16<<12, until())
	b.ended(0)
	require.True(t, b.brief())
}
