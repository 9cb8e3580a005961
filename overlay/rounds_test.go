// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// This test checks that links share rounds only after somebody who forwards what they
// receive has asked for them, and that everybody who asks gets the same.
func TestRoundsAreSharedOnRequest(t *testing.T) {
	o := Overlay{base: &base{}}
	require.Nil(t, o.rounds.Load(), "each session has its own")
	shared := RoundsOf(&o)
	require.NotNil(t, shared)
	require.Same(t, shared, RoundsOf(&o))
	require.Same(t, shared, o.rounds.Load())
}
