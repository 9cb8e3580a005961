// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed bugs
var embedded embed.FS

// folder is where the bugs are, seen from this package.
const folder = "bugs"

// Bug is one hand-made bug.
type Bug struct {
	Name    string // as ARKE_MUTANT has it
	Layer   string // folder of the package that has it
	Breaks  string // what the program does wrong
	Promise string // what DESIGN.md says, and where
	hunks   []hunk
}

// hunk is one place that a bug changes.
type hunk struct {
	from []string // the lines as the product has them, each reduced by essence
	to   []string // the lines with the bug
}

// Bugs reads the bugs that this package holds, ordered by layer and name. An
// error means that one of the files is not as the package documentation says.
func Bugs() ([]Bug, error) { return read(embedded) }

// Find returns the bug of that name.
func Find(bugs []Bug, name string) (Bug, error) {
	i := slices.IndexFunc(bugs, func(b Bug) bool { return b.Name == name })
	if i < 0 {
		return Bug{}, fmt.Errorf("mutation: there is no bug %q", name)
	}
	return bugs[i], nil
}

// file is where the bug is written down, for error messages.
func (b Bug) file() string { return path.Join("sim/mutation", folder, b.Layer, b.Name+".diff") }

func read(files fs.FS) ([]Bug, error) {
	var bugs []Bug
	return bugs, fs.WalkDir(files, folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		b := Bug{
			Name:  strings.TrimSuffix(path.Base(name), ".diff"),
			Layer: strings.TrimPrefix(path.Dir(name), folder+"/"),
		}
		if err := b.parse(string(text)); err != nil {
			return fmt.Errorf("mutation: %s: %w", b.file(), err)
		}
		bugs = append(bugs, b)
		return nil
	})
}

// parse reads a bug's file: two lines of description, then its hunks.
func (b *Bug) parse(text string) error {
	head, rest, _ := strings.Cut(text, "\n@@\n")
	breaks, promise, _ := strings.Cut(head, "\n")
	var ok, also bool
	b.Breaks, ok = strings.CutPrefix(breaks, "Breaks: ")
	b.Promise, also = strings.CutPrefix(promise, "Promise: ")
	if !ok || !also {
		return errors.New("the first line begins with Breaks:, the second with Promise:, and the third is @@")
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(rest, "\n"), "\n@@\n") {
		h, err := parseHunk(part)
		if err != nil {
			return err
		}
		b.hunks = append(b.hunks, h)
	}
	return nil
}

func parseHunk(text string) (hunk, error) {
	var h hunk
	for line := range strings.SplitSeq(text, "\n") {
		mark, code := "", ""
		if line != "" {
			mark, code = line[:1], line[1:]
		}
		if !strings.Contains(" -+", mark) || mark == "" {
			return h, fmt.Errorf("the line %q begins neither with a space nor with - or +", line)
		}
		if e := essence(code); mark != "+" && e != "" {
			h.from = append(h.from, e)
		}
		if mark != "-" {
			h.to = append(h.to, code)
		}
	}
	if len(h.from) == 0 {
		return h, errors.New("a hunk has no line by which its place is found")
	}
	return h, nil
}
