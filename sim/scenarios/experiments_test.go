// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/scenario"
)

// This test checks that the files beside the shipped ones, by which the levels
// are compared, are read and expanded as they are.
func TestExperimentsAreScenarios(t *testing.T) {
	files, err := filepath.Glob("../experiments/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		s, err := scenario.Parse(file, data)
		require.NoError(t, err)
		x, err := s.Expand()
		require.NoError(t, err)
		want := scenario.Levels()
		switch {
		case x.Name == "slow-link": // it is about the kernel
			want = []string{"net"}
		case len(x.Networks) > 0:
			want = []string{"sim", "net"}
		}
		require.ElementsMatch(t, want, x.Levels, "they run at every level that can")
	}
}
