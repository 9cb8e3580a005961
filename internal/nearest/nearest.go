// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package nearest

import (
	"fmt"
	"slices"
	"strings"
)

// maxNames is how many names are proposed.
const maxNames = 3

// Names returns up to three of the names that s may have been meant for, the nearest
// first, equally near ones in their order. A name is near if it begins with s, or
// differs in so many letters at most. Case does not count.
func Names(s string, letters int, names []string) []string {
	type candidate struct {
		name string
		far  int
	}
	s = strings.ToLower(s)
	var found []candidate
	for _, name := range names {
		low := strings.ToLower(name)
		switch {
		case len(s) > 1 && strings.HasPrefix(low, s):
			found = append(found, candidate{name, 1})
		case max(len(low)-len(s), len(s)-len(low)) > letters: // as many letters are to insert
		default:
			if d := distance(s, low); d <= letters {
				found = append(found, candidate{name, d})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.far - b.far })
	near := make([]string, 0, maxNames)
	for _, c := range found[:min(len(found), maxNames)] {
		near = append(near, c.name)
	}
	return near
}

// Name returns the first of Names with a third of the letters, at least one; in
// alphabetical order if several are equally near. "" = none is near.
func Name(s string, names []string) string {
	if near := Names(s, max(1, len(s)/3), slices.Sorted(slices.Values(names))); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Hint asks whether Name was meant, which is shown by format; "" if none is near.
func Hint(s string, names []string, format string) string {
	meant := Name(s, names)
	if meant == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean "+format+"?", meant)
}

// distance is the number of letters to insert, delete, replace, or exchange with
// the next one to make b of a.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
