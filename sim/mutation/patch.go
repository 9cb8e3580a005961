// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

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
