// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestMistypedNamesAreRecognised(t *testing.T) {
	// This test checks which command or flag each mistake is said to mean, and
	// that nothing is guessed where nothing is near.
	for args, says := range map[string]string{
		"reqest geo":                "unknown command \"reqest\", did you mean 'arke request'?: see 'arke --help'",
		"reqest geo --json":         "did you mean 'arke request'?",
		"sub a":                     "did you mean 'arke subscribe'?",
		"bench pubish a":            "did you mean 'arke bench publish'?",
		"sim lst":                   "did you mean 'arke sim list'?",
		"xyzzy":                     "unknown command \"xyzzy\": see 'arke --help'",
		"request geo --timout 1s":   "unknown flag --timout, did you mean --timeout?",
		"request geo -timeout 1s":   "unknown flag -timeout, did you mean --timeout?",
		"subscribe a --cuont 1":     "did you mean --count?",
		"serve geo --exce cat":      "did you mean --exec?",
		"serve geo --xyzzy":         "unknown flag --xyzzy: see 'arke serve --help'",
		"request geo --hello there": "text that begins with - goes after --",
		"man reqest":                "did you mean 'arke request'?",
		"completion tcsh":           "choose one of bash, zsh, fish, powershell",
	} {
		c := ran(t, 1, strings.Fields(args)...)
		require.Contains(t, c.err.String(), says, args)
		require.Equal(t, 1, strings.Count(c.err.String(), "\n"), args)
		require.Equal(t, strings.Contains(says, "did you mean"), strings.Contains(c.err.String(), "did you mean"), args)
	}
}

func TestWrongUsageWithJSONIsAnObject(t *testing.T) {
	// This test checks that a program reads of its mistake where it reads the
	// rest, also where the flag stands behind the mistake, and that nobody else
	// gets JSON.
	for _, args := range []string{
		"survey x --json --timeout -1s", "request --json", "members x y --json", "request x --timout 1s --json",
		"publish a.b --json", "status --bogus --json", "sim run --json --bogus", "reqest --json", "publish a.b x --count 0 --json",
	} {
		c := ran(t, 1, strings.Fields(args)...)
		objects := c.objects(t)
		require.Len(t, objects, 1, args)
		require.Equal(t, "usage", objects[0]["outcome"], args)
		require.Equal(t, "arke: "+objects[0]["error"].(string)+"\n", c.err.String(), args)
	}
	for _, args := range []string{"survey x --timeout -1s", "request", "request x y z -- --json"} {
		c := ran(t, 1, strings.Fields(args)...)
		require.Empty(t, c.out.String(), args)
	}
}

func TestNegativeNumbersAreNoFlags(t *testing.T) {
	// This test checks where arguments end up: a number is one wherever it
	// stands, except as the value of a flag.
	for from, to := range map[string]string{
		"publish sea.level -5":                  "publish -- sea.level -5",
		"publish sea.level -0.5 --json":         "publish --json -- sea.level -0.5",
		"publish -5 x --count 3":                "publish --count 3 -- -5 x",
		"request geo --timeout -5s":             "request --timeout -5s -- geo",
		"request geo --timeout=1s -.5":          "request --timeout=1s -- geo -.5",
		"serve geo --queue -1 --echo":           "serve --queue -1 --echo -- geo",
		"bench request geo --rate -1 --json -7": "bench request --rate -1 --json -- geo -7",
		"request geo -":                         "request geo -",
		"request geo --json":                    "request geo --json",
		"request --json -- geo -5":              "request --json -- geo -5",
		"reqest geo -5":                         "reqest geo -5",
	} {
		root := rootCommand(newConsole("").App)
		require.Equal(t, to, strings.Join(separated(root, strings.Fields(from)), " "))
	}
}

func TestEveryCommandHasAnExampleAndAManualPage(t *testing.T) {
	// This test walks all commands that people see: each has a sentence that
	// says what it is for, an example that begins with the program's name, and a
	// page with all of that.
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.Name() == "help" {
			return
		}
		require.NotEmpty(t, cmd.Short, cmd.CommandPath())
		text := string(page(cmd))
		require.True(t, strings.HasPrefix(text, ".TH ARKE"), cmd.CommandPath())
		if cmd.HasParent() {
			require.Regexp(t, `^  (ARKE_\S+ )*arke `, cmd.Example, cmd.CommandPath())
			require.Contains(t, text, ".SH EXAMPLES", cmd.CommandPath())
			require.Contains(t, text, `\fBarke`, cmd.CommandPath())
		}
		for line := range strings.SplitSeq(text, "\n") {
			require.NotRegexp(t, `^'`, line, cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(rootCommand(newConsole("").App))

	dir := t.TempDir()
	ran(t, 0, "man", "--out", dir)
	require.FileExists(t, dir+"/arke.1")
	require.FileExists(t, dir+"/arke-bench-publish.1")
	require.NoFileExists(t, dir+"/arke-demo-member.1")
	c := ran(t, 0, "man", "sim", "run")
	require.Contains(t, c.out.String(), ".TH ARKE\\-SIM\\-RUN 1")
}

func TestCompletionIsThere(t *testing.T) {
	// This test checks that the help names it, that each shell gets a script, and
	// what is offered where no relay runs: nothing, at once, for a cluster, and
	// the scenarios for arke sim.
	c := ran(t, 0, "--help")
	require.Contains(t, c.out.String(), "\n  completion ")
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		c = ran(t, 0, "completion", shell)
		require.Contains(t, c.out.String(), "arke", shell)
	}
	c = ran(t, 0, "__complete", "request", "--socket", t.TempDir()+"/none", "")
	require.Equal(t, ":4\n", c.out.String())
	c = ran(t, 0, "__complete", "sim", "run", "member-")
	require.Contains(t, c.out.String(), "member-crash\n")
}
