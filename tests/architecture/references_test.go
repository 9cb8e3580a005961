// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"bytes"
	"flag"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var referencesIn = flag.String("references", "", "root of a module: print how many references its packages have between files")

// TestCountReferencesBetweenFiles prints, with -references DIR, how entangled the
// files of each package of a module are: pairs of files (A, B) such that A uses
// what B declares, for each 1,000 lines. It proves nothing.
//
//	go test ./tests/architecture -run CountReferences -v -references "$PWD"
func TestCountReferencesBetweenFiles(t *testing.T) {
	if *referencesIn == "" {
		t.Skip("say -references DIR")
	}
	exports, packages := map[string]string{}, map[string][]string{}
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}\t{{.Dir}}\t{{join .GoFiles \" \"}}", "./...")
	list.Dir = *referencesIn
	out, err := list.Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		p := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		exports[p[0]] = p[1]
		if strings.HasPrefix(p[0], module) {
			for _, f := range strings.Fields(p[3]) {
				packages[p[0]] = append(packages[p[0]], filepath.Join(p[2], f))
			}
		}
	}
	fset := token.NewFileSet()
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for name, files := range packages {
		pairs, lines := references(t, fset, from, name, files)
		t.Logf("%5.1f per 1,000 lines: %4d references, %2d files, %5d lines  %s",
			1000*float64(pairs)/float64(lines), pairs, len(files), lines, strings.TrimPrefix(name, module))
	}
}

// references counts the pairs of files of which the first uses what the second
// declares, and the lines of all.
func references(t *testing.T, fset *token.FileSet, from types.Importer, name string, paths []string) (pairs, lines int) {
	t.Helper()
	var files []*ast.File
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		f, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		if files = append(files, f); !strings.HasSuffix(path, ".pb.go") {
			lines += bytes.Count(text, []byte("\n"))
		}
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	of, err := (&types.Config{Importer: from}).Check(name, fset, files, &info)
	require.NoError(t, err)
	seen := map[[2]string]bool{}
	for use, object := range info.Uses {
		a, b := fset.Position(use.Pos()).Filename, fset.Position(object.Pos()).Filename
		if object.Pkg() == of && a != b && !seen[[2]string{a, b}] {
			seen[[2]string{a, b}] = true
			pairs++
		}
	}
	return pairs, lines
}
