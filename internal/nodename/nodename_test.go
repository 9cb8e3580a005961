// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package nodename

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestANodeIsItsNameAndTheEndOfItsPeerID(t *testing.T) {
	// This test writes nodes with and without a name.
	const id = "12D3KooWEbJ618shC1HKcFHFSCQLSg4FfX3aVpJUhbABdY4WisyM"
	for want, name := range map[string]string{
		"dY4WisyM":                "",
		"relay-1 (dY4WisyM)":      "relay-1",
		"a\ufffd[31mb (dY4WisyM)": "a\x1b[31mb",
	} {
		require.Equal(t, want, Of(name, id))
	}
	require.Equal(t, "short", Of("", "short"))
	require.Equal(t, "nobody", Of("nobody", ""))
}
