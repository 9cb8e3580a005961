// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/arke-mesh/arke/tests/harness"
)

// pages are those whose commands and links are tried.
var pages = []string{"../README.md", "../cmd/arke/doc.go"}

func TestReadmeIsShortAndItsLinksLead(t *testing.T) {
	// This test checks that the README can be read in one go, and that what it
	// points at in this repository is there.
	text := read(t, pages[0])
	if n := strings.Count(text, "\n"); n > 150 {
		t.Errorf("the README has %d lines", n)
	}
	for _, link := range regexp.MustCompile(`\]\(([^)#]+)`).FindAllStringSubmatch(text, -1) {
		if strings.Contains(link[1], "://") {
			continue
		}
		if _, err := os.Stat(filepath.Join("..", link[1])); err != nil {
			t.Errorf("a link leads nowhere: %v", err)
		}
	}
	make := read(t, "../Makefile")
	for _, target := range regexp.MustCompile(`(?m)^make ([a-z-]+)`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(make, "\n"+target[1]+":") {
			t.Errorf("there is no target %q", target[1])
		}
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
			if !strings.Contains(help.Stdout, "arke "+strings.Join(args, " ")) {
				t.Errorf("%s: there is no command for %q", page, found[0])
			}
			for _, f := range flag.FindAllString(found[2]+found[3], -1) {
				if !strings.Contains(help.Stdout, f+" ") && !strings.Contains(help.Stdout, f+"\n") {
					t.Errorf("%s: %q has no %s", page, found[0], f)
				}
			}
			shown++
		}
	}
	if shown < 30 {
		t.Errorf("only %d commands were found", shown)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSlowTestsAreRunByCI(t *testing.T) {
	// This test checks the list of tests that make test leaves out: each exists,
	// where make slow looks for it, and CI calls that.
	_, list, found := strings.Cut(read(t, "../Makefile"), "\nSLOW = ")
	if !found {
		t.Fatal("the Makefile has no list of slow tests")
	}
	list, _, _ = strings.Cut(list, "\n")
	var sources strings.Builder
	for _, folder := range []string{"../sim", "../gateway", "../patterns/pubsub", "."} {
		err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
			if strings.HasSuffix(path, "_test.go") {
				sources.WriteString(read(t, path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range strings.SplitSeq(list, "|") {
		if n := strings.Count(sources.String(), "\nfunc "+name+"(t *testing.T) {"); n != 1 {
			t.Errorf("there are %d tests %s", n, name)
		}
	}
	if !regexp.MustCompile(`(?m)^make .*\btest slow\b`).MatchString(read(t, "../.ci/run")) {
		t.Error("CI does not run make test slow")
	}
}
