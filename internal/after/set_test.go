// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package after_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/after"
)

// TestWhatIsInASetIsTakenOnce proves that a flag counts once however often it is added,
// and not at all when it is taken back.
func TestWhatIsInASetIsTakenOnce(t *testing.T) {
	var do after.Set[uint8]
	require.Zero(t, do.Take())
	do.Add(1)
	do.Add(1 | 4)
	do.Add(2)
	do.Drop(2 | 8)
	require.Equal(t, uint8(1|4), do.Take())
	require.Zero(t, do.Take())
}
