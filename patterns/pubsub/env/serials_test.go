// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPathsFloorLeavesOutWhatIsBeingPublished(t *testing.T) {
	// This test signs while messages that were sealed before have not been given to
	// their links: the floor is below them, and above all that are done.
	var s serials
	one, two := s.Take(), s.Take()
	serial, floor := s.Sign()
	require.Greater(t, serial, two)
	require.Less(t, floor, one)
	s.Done(one)
	_, floor = s.Sign()
	require.GreaterOrEqual(t, floor, one)
	require.Less(t, floor, two)
	s.Done(two)
	serial, floor = s.Sign()
	require.Equal(t, serial, floor)
	require.Greater(t, s.Take(), floor)
}
