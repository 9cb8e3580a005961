// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// public are the packages of this module that users import. Package arkegrpc is
// one more, in a module of its own.
var public = []string{".", "node", "arkehttp", "arketest"}

// noPromise is what the first sentence of every other package says.
const noPromise = "makes no promise to users"

// TestInnerPackagesMakeNoPromise checks that a user who finds a package on
// pkg.go.dev sees from its first sentence whether it is meant for users.
func TestInnerPackagesMakeNoPromise(t *testing.T) {
	for _, p := range list(t) {
		path, _ := folderOf(p.ImportPath)
		if slices.Contains(strings.Split(path, "/"), "internal") || within(path, "examples") || !slices.Contains(p.GoFiles, "doc.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, "doc.go"), nil, parser.ParseComments|parser.PackageClauseOnly)
		require.NoError(t, err)
		if parsed.Name.Name == "main" {
			continue // nobody can import a command
		}
		first := new(doc.Package).Synopsis(parsed.Doc.Text())
		require.Equal(t, !slices.Contains(public, path), strings.Contains(first, noPromise),
			"%s: it is for users, or its first sentence says that it %s, or it goes under an internal folder", path, noPromise)
	}
}
