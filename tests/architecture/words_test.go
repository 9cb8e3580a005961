// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// retired reads the words of the last table of docs/glossary.md.
func retired(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(root + "/docs/glossary.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "| Retired | Use |\n|---|---|\n")
	require.True(t, found)
	words := map[string]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		require.Len(t, cells, 4, line)
		for word := range strings.SplitSeq(cells[1], ",") {
			words[strings.TrimSpace(word)] = strings.TrimSpace(cells[2])
		}
	}
	require.NotEmpty(t, words)
	return words
}

var wordsOf = regexp.MustCompile(`[A-Z]+[a-z0-9]*|[a-z0-9]+`)

// TestRetiredWordsStayAway checks exported identifiers, and the names of types,
// files and packages.
func TestRetiredWordsStayAway(t *testing.T) {
	words := retired(t)
	check := func(file, name string) {
		for _, part := range wordsOf.FindAllString(name, -1) {
			part = strings.ToLower(part)
			use, bad := words[part]
			if !bad {
				use, bad = words[strings.TrimSuffix(part, "s")]
			}
			if bad {
				t.Errorf("%s: %s has the retired word %q; use: %s (docs/glossary.md)", file, name, part, use)
			}
		}
	}
	sources(t, func(file, text string) {
		check(file, strings.TrimSuffix(path.Base(file), ".go"))
		check(file, path.Base(path.Dir(file)))
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() {
					check(file, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					checkSpec(s, func(name string) { check(file, name) })
				}
			}
		}
	})
}

// checkSpec checks the name of a type and of what it exports, and exported
// constants and variables.
func checkSpec(s ast.Spec, check func(string)) {
	exported := func(names []*ast.Ident) {
		for _, n := range names {
			if n.IsExported() {
				check(n.Name)
			}
		}
	}
	switch s := s.(type) {
	case *ast.ValueSpec:
		exported(s.Names)
	case *ast.TypeSpec:
		check(s.Name.Name)
		ast.Inspect(s.Type, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok {
				exported(f.Names)
			}
			return true
		})
	}
}
