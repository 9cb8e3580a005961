// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package plural

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneThingIsOneAndOthersAreMany(t *testing.T) {
	// This test writes numbers of things.
	for n, noun := range map[string]string{"0": "bytes", "1": "byte", "2": "bytes"} {
		require.Equal(t, n+" "+noun, Of(int(n[0]-'0'), "byte"))
	}
	require.Equal(t, "deliveries", Noun(2, "delivery"))
	require.Equal(t, "lives", Noun(0, "life"))
	require.Equal(t, "life", Noun(1, "life"))
}
