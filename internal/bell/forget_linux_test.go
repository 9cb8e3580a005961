// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package bell

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatWasRungForOthersIsForgotten proves that who begins to wait does not hear what
// was rung long before, for somebody who had not waited: it would count as late.
func TestWhatWasRungForOthersIsForgotten(t *testing.T) {
	b := New()
	defer b.Close()
	b.Ring()
	require.True(t, b.Begin())
	require.False(t, b.rung.Load())
}
