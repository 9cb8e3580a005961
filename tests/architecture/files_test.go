// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// sources walks every Go file that is written by hand.
func sources(t *testing.T, visit func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".pb.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		visit(strings.TrimPrefix(filepath.ToSlash(path), root+"/"), string(text))
		return nil
	})
	require.NoError(t, err)
}

// TestEveryFileNamesItsLicence checks the two SPDX lines.
func TestEveryFileNamesItsLicence(t *testing.T) {
	const header = "// SPDX-FileCopyrightText: The Arke Authors\n// SPDX-License-Identifier: Apache-2.0\n"
	sources(t, func(path, text string) {
		require.True(t, strings.HasPrefix(text, header), "%s does not begin with the SPDX lines", path)
	})
}

// TestFilesStaySmall checks that no product file hides a second idea: 600 lines
// at most.
func TestFilesStaySmall(t *testing.T) {
	sources(t, func(path, text string) {
		if !strings.HasSuffix(path, "_test.go") {
			require.LessOrEqual(t, strings.Count(text, "\n"), 600, path)
		}
	})
}

// TestEveryPackageIsDocumented checks that each package has a doc.go, except
// programs, whose main.go says what they are.
func TestEveryPackageIsDocumented(t *testing.T) {
	for _, p := range list(t) {
		if len(p.GoFiles) == 0 || slices.Contains(p.GoFiles, "main.go") {
			continue
		}
		require.Contains(t, p.GoFiles, "doc.go", p.ImportPath)
	}
}

// TestNothingIsCalledUtil checks that every folder and file says what it is.
func TestNothingIsCalledUtil(t *testing.T) {
	sources(t, func(path, _ string) {
		for _, part := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune("/._", r) }) {
			require.NotContains(t, []string{"util", "utils", "common", "helper", "helpers", "manager", "misc"}, part, path)
		}
	})
}

// TestTheMapOfContributingNamesWhatExists checks that each folder and file in the tables
// of CONTRIBUTING.md is there. A file without a folder is beside the one before it.
func TestTheMapOfContributingNamesWhatExists(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	require.NoError(t, err)
	seen := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		folder := ""
		for i, name := range strings.Split(line, "`") {
			if i%2 == 0 || strings.Contains(name, " ") || name == "arke" || name == "testdata" {
				continue
			}
			name = strings.TrimSuffix(name, "/*")
			if !strings.Contains(name, "/") && strings.Contains(name, ".") && name != "." {
				name = filepath.Join(folder, name)
			}
			folder = filepath.Dir(name)
			_, err := os.Stat(filepath.Join(root, name))
			require.NoError(t, err, line)
			seen++
		}
	}
	require.Greater(t, seen, 40)
}
