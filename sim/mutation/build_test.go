// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// This test checks that every bug still has its place in the product. Whoever
// changes the lines around one reads here which file to mend.
func TestEveryBugHasItsPlace(t *testing.T) {
	_, err := overlay(os.DirFS(root), allBugs(t))
	require.NoError(t, err)
}

// This test checks that the product compiles with all bugs at once, that one is
// chosen by its name, that no name means none, and that a misspelt one is
// noticed.
func TestTheProductCompilesWithTheBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the whole program")
	}
	program := filepath.Join(t.TempDir(), "arke")
	require.NoError(t, Build(t.Context(), root, program, allBugs(t)))
	for name, want := range map[string]string{"": "arke ", "handled-twice": "arke ", "handled-twise": "there is no bug of that name"} {
		out, err := start(program, name, "version")
		require.Equal(t, name == "handled-twise", err != nil, name)
		require.Contains(t, out, want, name)
	}
}

// This test checks that a program shows the chosen bug and no other, also where
// two of them stand in one line, and that its sources are left alone.
func TestTheVariableChoosesTheBug(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := t.TempDir()
	sources := map[string]string{
		"go.mod":           "module " + module + "\n\ngo 1.26\n",
		"cmd/arke/main.go": "package main\n\nimport \"" + module + "/p\"\n\nfunc main() { print(p.Sum(p.List[int]{4, 3})) }\n",
		"p/p.go":           "package p\n\ntype List[T int] []T\n\nfunc Sum(l List[int]) int {\n\treturn l.at(0) + l.at(1)\n}\n\nfunc (l List[T]) at(i int) T { return l[i] }\n",
	}
	for name, text := range sources {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	bugs := []Bug{
		bugOf(t, "sum-minus", "p", "-return l.at(0) + l.at(1)\n+\treturn l.at(0) - l.at(1)\n"),
		bugOf(t, "sum-times", "p", "-return l.at(0) + l.at(1)\n+\treturn l.at(0) * l.at(1)\n"),
		bugOf(t, "at-same", "p", "-func (l List[T]) at(i int) T { return l[i] }\n+func (l List[T]) at(i int) T { return l[0] }\n"),
	}
	program := filepath.Join(dir, "program")
	require.NoError(t, Build(t.Context(), dir, program, bugs))
	for name, want := range map[string]string{"": "7", "sum-minus": "1", "sum-times": "12", "at-same": "8"} {
		out, err := start(program, name)
		require.NoError(t, err)
		require.Equal(t, want, out, name)
	}
	for name, text := range sources {
		left, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, text, string(left))
	}
	bugs[0] = bugOf(t, "sum-minus", "p", "-return l.at(0) + l.at(1)\n+\treturn minus\n")
	require.ErrorContains(t, Build(t.Context(), dir, program, bugs), "sum-minus.diff:2")
}

func start(program, bug string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), Variable+"="+bug)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// This test checks that no bug, and nothing that could choose one, is in the
// product.
func TestTheProductHasNoBugs(t *testing.T) {
	for _, layer := range []string{"cmd", "security", "overlay", "cluster", "patterns", "node", "relay", "internal"} {
		require.NoError(t, fs.WalkDir(os.DirFS(root), layer, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") {
				return err
			}
			text, err := os.ReadFile(filepath.Join(root, path))
			for _, word := range []string{"mutant", Variable, "mutation"} {
				require.NotContains(t, string(text), word, path)
			}
			return err
		}))
	}
}
