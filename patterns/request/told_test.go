// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

func TestKeysOfManyNodesBehindOnePeerAreRemembered(t *testing.T) {
	// This test has nodes behind one gateway tell their present keys: each is used for its
	// own node until its record says another one, and how many are kept is bounded.
	var keys toldKeys
	key := func(n int) security.EphemeralKey { return security.EphemeralKey{1, byte(n), byte(n >> 8)} }
	require.Equal(t, key(1), keys.of(key(1)))
	for n := range 100 {
		keys.put(key(n), key(1000+n))
	}
	for n := range 100 {
		require.Equal(t, key(1000+n), keys.of(key(n)))
	}
	require.Equal(t, key(500), keys.of(key(500)), "that record is newer")
	for n := range 10 * maxTold {
		keys.put(key(n), key(5000+n))
		require.LessOrEqual(t, len(keys.now), maxTold)
		require.Equal(t, key(5000+n), keys.of(key(n)))
	}
}
