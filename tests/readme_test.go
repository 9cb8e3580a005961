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

func TestTestsThatAreLeftOutAreRunByCI(t *testing.T) {
	// This test checks the lists of tests that make test leaves out: each exists, the
	// slow ones where make slow looks for them, and CI calls what runs them.
	for list, folders := range map[string][]string{
		"SLOW": {"../sim", "../gateway", "../patterns/pubsub", "."},
		"LONG": {".."},
	} {
		_, names, found := strings.Cut(read(t, "../Makefile"), "\n"+list+" = ")
		require.True(t, found, list)
		names, _, _ = strings.Cut(names, "\n")
		var sources strings.Builder
		for _, folder := range folders {
			err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
				if strings.HasSuffix(path, "_test.go") {
					sources.WriteString(read(t, path))
				}
				return err
			})
			require.NoError(t, err)
		}
		for name := range strings.SplitSeq(names, "|") {
			require.Equal(t, 1, strings.Count(sources.String(), "\nfunc "+name+"(t *testing.T) {"), "%s: %s", list, name)
		}
	}
	require.Regexp(t, `(?m)^make .*\btest race slow\b`, read(t, "../.ci/run"))
}
