// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// This test checks that the tests which are named in the place of scenarios are there.
func TestWhatNoScenarioCatchesHasItsTests(t *testing.T) {
	for _, e := range Beyond() {
		files, err := filepath.Glob(filepath.Join(root, e.Folder, "*_test.go"))
		require.NoError(t, err)
		var all strings.Builder
		for _, name := range files {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			all.Write(text)
		}
		require.NotEmpty(t, e.Tests, e.Defence)
		for _, name := range e.Tests {
			require.Contains(t, all.String(), "\nfunc "+name+"(t ", e.Folder)
		}
	}
}
