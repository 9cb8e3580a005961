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

var referencesIn = flag.String("references", "../..", "root of a module: print how many references its packages have between files")

// entangled is how many references between files a package may have for 1,000 lines,
// where it has more than most may (mostEntangled). These are no aims: a package that
// gets more entangled is to be cut, as topics were, of which a third of the former 37
// went with two parts that know nothing of the rest.
var entangled = map[string]float64{
	"patterns/pubsub": 21, "patterns/request": 39, "relay": 38, "security": 36, "gateway": 36, "cluster": 34, "overlay": 32, "overlay/session": 30,
	"overlay/p2p": 28, "sim/check": 27, "sim/scenario": 27, "cmd/arke/internal/cli": 26, "sim": 26, "internal/inbox": 26,
}

const (
	mostEntangled = 24
	// smallPackage is in lines: fewer say little.
	smallPackage = 1000
)

// TestFilesOfAPackageAreNotEntangled proves that no package has more references between
// its files than it may: pairs of files (A, B) such that A uses what B declares, for each
// 1,000 lines. With -v it prints all; -references DIR looks at another module.
//
//	go test ./tests/architecture -run Entangled -v
func TestFilesOfAPackageAreNotEntangled(t *testing.T) {
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
		name = strings.TrimPrefix(name, module)
		most, named := entangled[name]
		if !named {
			most = mostEntangled
		}
		are := 1000 * float64(pairs) / float64(lines)
		t.Logf("%5.1f per 1,000 lines: %4d references, %2d files, %5d lines  %s", are, pairs, len(files), lines, name)
		if lines >= smallPackage && *referencesIn == "../.." {
			require.LessOrEqual(t, are, most, "%s: cut it into packages by what its parts know", name)
		}
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
