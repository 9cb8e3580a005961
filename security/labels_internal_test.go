// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLabelsAreDistinctAndInOneFile proves that no two purposes share a label,
// and that no label hides elsewhere in the package.
func TestLabelsAreDistinctAndInOneFile(t *testing.T) {
	seen := make(map[string]string)
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING || !strings.HasPrefix(lit.Value, `"arke/`) {
				return true
			}
			label, err := strconv.Unquote(lit.Value)
			require.NoError(t, err)
			require.Equal(t, "labels.go", e.Name(), label)
			require.NotContains(t, seen, label)
			require.NotContains(t, label, "\x00")
			seen[label] = e.Name()
			return true
		})
	}
	require.Len(t, seen, 32)
}

// TestMessagesCantBeConfused proves that moving a byte from one part, or from
// the label, to the next gives other bytes.
func TestMessagesCantBeConfused(t *testing.T) {
	all := [][]byte{
		message("a"),
		message("ab"),
		message("a", nil),
		message("a", []byte("b")),
		message("a", []byte("b"), nil),
		message("a", nil, []byte("b")),
		message("a", []byte("bc"), []byte("d")),
		message("a", []byte("b"), []byte("cd")),
		message("a", []byte("bcd")),
		message("a", []byte{'b', 0, 0, 0, 2, 'c', 'd'}),
	}
	for i := range all {
		for j := range i {
			require.False(t, bytes.Equal(all[i], all[j]), "%d %d", i, j)
		}
	}
}
