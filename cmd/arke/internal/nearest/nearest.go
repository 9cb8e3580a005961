// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package nearest

import (
	"slices"
	"strings"
)

// Name returns the name that s may have been meant for, "" if none is near:
// it begins with s, or differs in a few letters.
func Name(s string, names []string) string {
	best, least := "", 1+max(1, len(s)/3)
	for _, name := range slices.Sorted(slices.Values(names)) {
		d := distance(s, name)
		if len(s) > 1 && strings.HasPrefix(name, s) {
			d = 1
		}
		if d < least {
			best, least = name, d
		}
	}
	return best
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
