// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutant

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// This test checks that the table has every bug once, in order, with a name
// and a promise of its own section.
func TestEveryBugIsDescribed(t *testing.T) {
	all := All()
	require.Len(t, all, int(bugs)-1)
	require.GreaterOrEqual(t, len(all), 16)
	kebab := regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`)
	promise := regexp.MustCompile(`^[1-9]: .{12,}$`)
	names := make(map[string]bool)
	for n, i := range all {
		require.Equal(t, Bug(n+1), i.Bug, i.Name)
		require.Regexp(t, kebab, i.Name)
		require.Regexp(t, promise, i.Promise, i.Name)
		require.NotEmpty(t, i.Breaks, i.Name)
		require.False(t, names[i.Name], i.Name)
		names[i.Name] = true
		require.Equal(t, i.Name, i.Bug.String())
		b, ok := Find(i.Name)
		require.True(t, ok)
		require.Equal(t, i.Bug, b)
	}
	require.Equal(t, "none", Bug(0).String())
	_, ok := Find("none")
	require.False(t, ok)
}

// This test checks that every bug is planted in the layer that the table
// names, and nowhere else.
func TestEveryBugIsPlanted(t *testing.T) {
	const root = "../.."
	hook := regexp.MustCompile(`mutant\.On\(mutant\.(\w+)\)`)
	planted := make(map[string][]string) // constant → layers
	for _, layer := range []string{"security", "overlay", "cluster", "patterns", "node", "relay"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, layer), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			folder, err := filepath.Rel(root, filepath.Dir(path))
			for _, m := range hook.FindAllStringSubmatch(string(text), -1) {
				planted[m[1]] = append(planted[m[1]], filepath.ToSlash(folder))
			}
			return err
		}))
	}
	require.Len(t, planted, len(All()))
	for _, i := range All() {
		layers := slices.Compact(planted[constant(i.Name)])
		require.Equal(t, []string{i.Layer}, layers, i.Name)
	}
}

// constant is the Go name of a bug: its name without dashes, in capitals.
func constant(name string) string {
	var out strings.Builder
	for _, word := range strings.Split(name, "-") {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}

// This test checks that a program built without the tag holds neither the code
// of a hook nor the name of the variable, and that one built with it does.
func TestNormalProgramsHaveNoBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs")
	}
	for tags, want := range map[string]bool{"": false, "mutants": true} {
		program := filepath.Join(t.TempDir(), "probe")
		out, err := exec.Command("go", "build", "-tags", tags, "-o", program, "./testdata/probe").CombinedOutput()
		require.NoError(t, err, string(out))
		text, err := os.ReadFile(program)
		require.NoError(t, err)
		require.Equal(t, want, bytes.Contains(text, []byte("the hook is in the program")), "tags %q", tags)
		require.Equal(t, want, bytes.Contains(text, []byte(Variable)), "tags %q", tags)
	}
}

// This test checks that a bug is chosen by its name, that no name means none,
// and that a misspelt one is noticed.
func TestTheVariableChoosesTheBug(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	program := filepath.Join(t.TempDir(), "probe")
	out, err := exec.Command("go", "build", "-tags", "mutants", "-o", program, "./testdata/probe").CombinedOutput()
	require.NoError(t, err, string(out))
	for name, want := range map[string]string{
		"":              "",
		"handled-twice": "the hook is in the program",
		"delta-dropped": "",
		"handled-twise": "there is no bug of that name",
	} {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), Variable+"="+name)
		out, err := cmd.CombinedOutput()
		require.Equal(t, name == "handled-twise", err != nil)
		require.Contains(t, string(out), want)
		require.Equal(t, want == "", len(out) == 0)
	}
}
