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
	"testing/fstest"

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

func allBugs(t *testing.T) []Bug {
	t.Helper()
	bugs, err := Bugs()
	require.NoError(t, err)
	return bugs
}

// This test checks that each bug has a name of its own, says what it does, and
// names a promise and its section.
func TestEveryBugIsDescribed(t *testing.T) {
	bugs := allBugs(t)
	require.Len(t, bugs, 85)
	names := make(map[string]bool)
	for _, b := range bugs {
		require.Regexp(t, `^[a-z]+(-[a-z]+)+$`, b.Name)
		require.NotEmpty(t, b.Layer, b.Name)
		require.NotEmpty(t, b.Breaks, b.Name)
		require.Regexp(t, `^[1-9]: .{12,}$`, b.Promise, b.Name)
		require.NotEmpty(t, b.hunks, b.Name)
		require.False(t, names[b.Name], b.Name)
		names[b.Name] = true
		found, err := Find(bugs, b.Name)
		require.NoError(t, err)
		require.Equal(t, b, found)
	}
	_, err := Find(bugs, "none")
	require.ErrorContains(t, err, `"none"`)
}

// This test checks that a bug's file is read as it is meant, and that one with
// a mistake is named.
func TestABugIsRead(t *testing.T) {
	const head = "Breaks: a is not b\nPromise: 4: a is b\n"
	shelf := func(text string) fstest.MapFS {
		return fstest.MapFS{"bugs/patterns/request/a-b.diff": {Data: []byte(text)}}
	}
	bugs, err := read(shelf(head + "@@\n \ta = b // so far\n+\tb++\n-\tc   :=  d\n@@\n-\t}\n"))
	require.NoError(t, err)
	require.Equal(t, []Bug{{
		Name: "a-b", Layer: "patterns/request", Breaks: "a is not b", Promise: "4: a is b",
		hunks: []hunk{
			{from: []string{"a = b", "c := d"}, to: []string{"\ta = b // so far", "\tb++"}},
			{from: []string{"}"}},
		},
	}}, bugs)
	for text, want := range map[string]string{
		"":                               "the first line begins with Breaks:",
		"Breaks: a\n@@\n-b\n":            "the first line begins with Breaks:",
		head:                             `the line "" begins neither`,
		head + "@@\n-a\nb\n":             `the line "b" begins neither`,
		head + "@@\n-a\n@@\n+b\n // c\n": "no line by which its place is found",
	} {
		_, err := read(shelf(text))
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "sim/mutation/bugs/patterns/request/a-b.diff", text)
	}
}

// bugOf makes a bug of its hunks' text.
func bugOf(t *testing.T, name, layer, hunks string) Bug {
	t.Helper()
	b := Bug{Name: name, Layer: layer}
	require.NoError(t, b.parse("Breaks: x\nPromise: 4: y\n@@\n"+hunks))
	return b
}

var someFiles = map[string]string{
	"a.go": "func a() {\n\tone()\n\n\t// Why.\n\ttwo() // and why\n}\n",
	"b.go": "func b() {\n\tif x {\n\t\tone()\n\t\tthree()\n\t\tfour()\n\t}\n}\n",
}

// This test checks that the place of a hunk is found in whichever file of the
// package it is, however it is indented, aligned and commented.
func TestAHunkFindsItsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		hunks string
		want  map[string]string
	}{
		"added": {
			" one()\n+\tsix()\n two()\n",
			map[string]string{"a.go": "func a() {\n\tone()\n\tsix()\n\ttwo()\n}\n"},
		},
		"replaced": {
			" if  x  {\n-one()\n+\t\tsix()\n",
			map[string]string{"b.go": "func b() {\n\tif  x  {\n\t\tsix()\n\t\tthree()\n\t\tfour()\n\t}\n}\n"},
		},
		"removed": {
			"-\tthree()\n",
			map[string]string{"b.go": "func b() {\n\tif x {\n\t\tone()\n\t\tfour()\n\t}\n}\n"},
		},
		"in several files and places": {
			"-two()\n@@\n-four()\n@@\n-if x {\n+if y {\n",
			map[string]string{
				"a.go": "func a() {\n\tone()\n\n\t// Why.\n}\n",
				"b.go": "func b() {\nif y {\n\t\tone()\n\t\tthree()\n\t}\n}\n",
			},
		},
	} {
		got, err := bugOf(t, "a-b", "layer", c.hunks).patch(someFiles)
		require.NoError(t, err, name)
		for file, want := range c.want {
			require.Equal(t, unindented(want), unindented(got[file]), name)
		}
		require.Len(t, got, len(c.want), name)
	}
}

// unindented drops what a hunk may write as it likes.
func unindented(text string) []string {
	code, _ := significant(text)
	return code
}

// This test checks that whoever moves the lines of a hunk reads which bug it
// is, where it could have been, and what it looked for.
func TestAHunkWithoutAPlaceIsExplained(t *testing.T) {
	for hunks, want := range map[string][]string{
		"-one()\n":                          {"hunk 1", "several places (a.go:2, b.go:3)", "\tone()"},
		"-two()\n@@\n-one()\n-nine()\n":     {"hunk 2", "a.go:2 has the first 1 of them", "\tone()\n\tnine()"},
		"-nine()\n":                         {"hunk 1", "in no file of the package:", "\tnine()"},
		" three()\n-four()\n@@\n-three()\n": {"overlap", "layer/b.go:4"},
	} {
		_, err := bugOf(t, "a-b", "layer", hunks).patch(someFiles)
		require.ErrorContains(t, err, "sim/mutation/bugs/layer/a-b.diff", hunks)
		for _, text := range want {
			require.ErrorContains(t, err, text, hunks)
		}
	}
}

// This test checks what becomes of a function that two bugs change in the same
// line: it keeps its place, its lines and its comments, asks which bug is chosen
// first, and each bug has a copy of it.
func TestTwoBugsInOneLine(t *testing.T) {
	file := func(body string) string {
		return "package p\n\n// sum adds.\nfunc (t T) sum(a, b int) (n int) {\n\t" + body + "\n}\n\nfunc (t T) other() {}\n"
	}
	got, err := withSwitches("p.go", file("return a + b"), []version{
		{Bug{Name: "sum-minus", Layer: "p"}, file("return a - b")},
		{Bug{Name: "sum-zero", Layer: "p"}, file("return")},
	})
	require.NoError(t, err)
	require.Equal(t, `package p

// sum adds.
func (t T) sum(a, b int) (n int) { if mutant_sum_minus { return t.sum_sum_minus(a, b) }; if mutant_sum_zero { return t.sum_sum_zero(a, b) };
	return a + b
}

func (t T) other() {}

//line sum-minus.diff:1
func (t T) sum_sum_minus(a, b int) (n int) {
	return a - b
}

//line sum-zero.diff:1
func (t T) sum_sum_zero(a, b int) (n int) {
	return
}
`, got)
}

// This test checks that functions of every shape are called as they were.
func TestCallsArePassedOn(t *testing.T) {
	for signature, want := range map[string]string{
		"f()":                                "f() { if mutant_a_b { f_a_b(); return };",
		"f(int, ...string) error":            "f(parameter0_0 int, parameter1_0 ...string) error { if mutant_a_b { return f_a_b(parameter0_0, parameter1_0...) };",
		"f(_ int, a, _ string) (int, error)": "f(parameter0_0 int, a, parameter1_1 string) (int, error) { if mutant_a_b { return f_a_b(parameter0_0, a, parameter1_1) };",
		"f[K comparable, V any](m map[K]V)":  "f[K comparable, V any](m map[K]V) { if mutant_a_b { f_a_b[K, V](m); return };",
		"(T) f(a int)":                       "(receiver0 T) f(a int) { if mutant_a_b { receiver0.f_a_b(a); return };",
		"(_ *T[K]) f()":                      "(receiver0 *T[K]) f() { if mutant_a_b { receiver0.f_a_b(); return };",
	} {
		file := func(body string) string { return "package p\n\nfunc " + signature + " {" + body + "}\n" }
		got, err := withSwitches("p.go", file(" g() "), []version{{Bug{Name: "a-b"}, file(" h() ")}})
		require.NoError(t, err, signature)
		require.Contains(t, got, "\nfunc "+want+" g() }\n", signature)
	}
}

// This test checks that a bug can't change what is called from elsewhere.
func TestABugChangesBodiesOnly(t *testing.T) {
	const product = "package p\n\nfunc f() {}\n"
	for _, text := range []string{"package p\n\nfunc f(int) {}\n", "package p\n\nvar x int\n\nfunc f() {}\n", "package p\n\nfunc f() {"} {
		_, err := withSwitches("p.go", product, []version{{Bug{Name: "a-b", Layer: "p"}, text}})
		require.ErrorContains(t, err, "sim/mutation/bugs/p/a-b.diff", text)
	}
}
