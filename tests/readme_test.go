// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/tests/harness"
)

// pages are those whose commands and links are tried.
var pages = []string{"../README.md", "../cmd/arke/doc.go"}

func TestReadmeIsShortAndItsLinksLead(t *testing.T) {
	// This test checks that the README can be read in one go, and that what it
	// points at in this repository is there.
	text := read(t, pages[0])
	require.LessOrEqual(t, strings.Count(text, "\n"), 150, "lines of the README")
	for _, link := range regexp.MustCompile(`\]\(([^)#]+)`).FindAllStringSubmatch(text, -1) {
		if strings.Contains(link[1], "://") {
			continue
		}
		_, err := os.Stat(filepath.Join("..", link[1]))
		require.NoError(t, err, "a link leads nowhere")
	}
	make := read(t, "../Makefile")
	for _, target := range regexp.MustCompile(`(?m)^make ([a-z-]+)`).FindAllStringSubmatch(text, -1) {
		require.Contains(t, make, "\n"+target[1]+":", "there is no such target")
	}
}

func TestCommandsOfThePagesExist(t *testing.T) {
	// This test looks up each command that the README and the manual show: it
	// exists, and has the flags.
	scenario(t)
	command := regexp.MustCompile(`(?m)^(?://\t|.*[|] )?(?:sudo )?(?:bin/)?arke ([a-z]+)( [a-z]+)?([^#\n]*)`)
	flag := regexp.MustCompile(`--[a-z-]+`)
	shown := 0
	for _, page := range pages {
		for _, found := range command.FindAllStringSubmatch(read(t, page), -1) {
			if strings.HasSuffix(page, ".go") && !strings.HasPrefix(found[0], "//\t") {
				continue // a sentence
			}
			args := []string{found[1]}
			if found[1] == "sim" || found[1] == "bench" {
				args = append(args, strings.TrimSpace(found[2]))
			}
			help := harness.Run(t, append(args, "--help")...).Ends(0)
			require.Contains(t, help.Stdout, "arke "+strings.Join(args, " "), "%s: there is no command for %q", page, found[0])
			for _, f := range flag.FindAllString(found[2]+found[3], -1) {
				require.Regexp(t, regexp.QuoteMeta(f)+`[ \n]`, help.Stdout, "%s: %q has no %s", page, found[0], f)
			}
			shown++
		}
	}
	require.GreaterOrEqual(t, shown, 30, "commands")
}

func TestSlowTestsAreRunByCI(t *testing.T) {
	// This test checks the list of tests that make test leaves out: each exists,
	// where make slow looks for it, and CI calls that.
	_, list, found := strings.Cut(read(t, "../Makefile"), "\nSLOW = ")
	require.True(t, found, "the Makefile has no list of slow tests")
	list, _, _ = strings.Cut(list, "\n")
	var sources strings.Builder
	for _, folder := range []string{"../sim", "../gateway", "../patterns/pubsub", "."} {
		err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
			if strings.HasSuffix(path, "_test.go") {
				sources.WriteString(read(t, path))
			}
			return err
		})
		require.NoError(t, err)
	}
	for name := range strings.SplitSeq(list, "|") {
		require.Equal(t, 1, strings.Count(sources.String(), "\nfunc "+name+"(t *testing.T) {"), "tests %s", name)
	}
	require.Regexp(t, `(?m)^make .*\btest slow\b`, read(t, "../.ci/run"))
}
