// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"sort"
	"strings"
)

// hint returns what follows an unknown name: the known names that look like
// it, or all of them if they are few, or nothing.
func hint(name string, known []string) string {
	if found := near(name, known); len(found) > 0 {
		return "; did you mean " + strings.Join(found, " or ") + "?"
	}
	if len(known) == 0 || len(known) > 24 {
		return ""
	}
	return "; there is " + strings.Join(known, ", ")
}

// near returns up to three known names at most two edits away from name, the
// nearest first.
func near(name string, known []string) []string {
	if len(name) > 64 {
		return nil
	}
	type candidate struct {
		name string
		far  int
	}
	limit := min(2, (len(name)+1)/2)
	var found []candidate
	for _, k := range known {
		if far := edits(strings.ToLower(name), strings.ToLower(k), limit); far <= limit {
			found = append(found, candidate{k, far})
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].far < found[j].far })
	names := make([]string, 0, 3)
	for i := 0; i < len(found) && i < 3; i++ {
		names = append(names, found[i].name)
	}
	return names
}

// edits is the number of insertions, deletions, substitutions and swaps of
// neighbours that turn a into b; limit+1 stands for more than limit.
func edits(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
