// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"strings"
)

// near returns up to five metrics whose names are like the one that was asked
// for, the likeliest first.
func near(name string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for _, m := range Metrics() {
		d := distance(name, m.Name)
		if len(name) >= 3 && strings.Contains(m.Name, name) {
			d = min(d, 2)
		}
		if d <= max(2, len(name)/3) {
			found = append(found, candidate{m.Name, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, c := range found[:min(5, len(found))] {
		names = append(names, c.name)
	}
	return names
}

// distance is how many bytes must be changed, added or taken out to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
