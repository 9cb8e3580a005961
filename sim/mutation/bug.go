// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	Promise string // the promise that this breaks, behind its number: see doc.go
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

// place is where a hunk belongs: lines of a file, counted from 0.
type place struct {
	file        string
	first, last int
}

// patch returns those of a package's files, by name, that b changes, with the
// bug in them.
func (b Bug) patch(files map[string]string) (map[string]string, error) {
	places := make(map[string][]int) // the hunks by file
	at := make([]place, len(b.hunks))
	for i, h := range b.hunks {
		p, err := h.find(files)
		if err != nil {
			return nil, fmt.Errorf("mutation: %s, hunk %d: %w", b.file(), i+1, err)
		}
		at[i] = p
		places[p.file] = append(places[p.file], i)
	}
	out := make(map[string]string)
	for file, hunks := range places {
		// From the end, so that the lines before keep their numbers.
		slices.SortFunc(hunks, func(i, j int) int { return cmp.Compare(at[j].first, at[i].first) })
		lines := strings.Split(files[file], "\n")
		end := len(lines)
		for _, i := range hunks {
			if at[i].last >= end {
				return nil, fmt.Errorf("mutation: %s: two hunks overlap in %s/%s:%d", b.file(), b.Layer, file, at[i].first+1)
			}
			end = at[i].first
			lines = slices.Replace(lines, at[i].first, at[i].last+1, b.hunks[i].to...)
		}
		out[file] = strings.Join(lines, "\n")
	}
	return out, nil
}

// find returns the only place where the hunk's lines follow each other.
func (h hunk) find(files map[string]string) (place, error) {
	var found []place
	var near place // where the most of its first lines are
	most := 0
	for _, file := range slices.Sorted(maps.Keys(files)) {
		code, numbers := significant(files[file])
		for i := range code {
			n := 0
			for n < len(h.from) && i+n < len(code) && code[i+n] == h.from[n] {
				n++
			}
			p := place{file, numbers[i], numbers[max(i+n-1, i)]}
			if n > most {
				most, near = n, p
			}
			if n == len(h.from) {
				found = append(found, p)
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		var all []string
		for _, p := range found {
			all = append(all, fmt.Sprintf("%s:%d", p.file, p.first+1))
		}
		return place{}, fmt.Errorf("its lines are in several places (%s); more lines around them tell which one is meant:\n%s",
			strings.Join(all, ", "), h)
	case most > 0:
		return place{}, fmt.Errorf("its lines are in no file of the package; %s:%d has the first %d of them:\n%s",
			near.file, near.first+1, most, h)
	}
	return place{}, fmt.Errorf("its lines are in no file of the package:\n%s", h)
}

// String lists the lines by which the hunk is found.
func (h hunk) String() string { return "\t" + strings.Join(h.from, "\n\t") }

// significant returns a file's lines that are more than white space and
// comments, each reduced by essence, and their numbers.
func significant(text string) (code []string, numbers []int) {
	for i, line := range strings.Split(text, "\n") {
		if e := essence(line); e != "" {
			code, numbers = append(code, e), append(numbers, i)
		}
	}
	return code, numbers
}

// essence is what of a line counts when a hunk's place is looked for: neither
// indentation nor alignment nor a comment at its end.
func essence(line string) string {
	words := strings.Fields(line)
	if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "//") }); i >= 0 {
		words = words[:i]
	}
	return strings.Join(words, " ")
}
