// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTextsAreAllocatedOnce proves that a known text costs nothing, and that only
// so many are known.
func TestTextsAreAllocatedOnce(t *testing.T) {
	var known Texts
	b := []byte("a.b.c")
	require.Equal(t, "a.b.c", known.text(b))
	require.Zero(t, testing.AllocsPerRun(100, func() { known.text(b) }))
	for i := range 3 * maxTexts {
		want := fmt.Sprint(i)
		require.Equal(t, want, known.text([]byte(want)))
		require.LessOrEqual(t, len(known.of), maxTexts)
	}
}
