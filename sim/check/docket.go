// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// keptViolations is how many violations of one checker a verdict lists.
const keptViolations = 100

// docket collects the violations of one checker.
type docket struct {
	checker string
	total   int
	list    []Violation
}

// add notes a violation. At most so many are kept that the earliest are among
// them if they come roughly in order.
func (d *docket) add(at time.Duration, format string, args ...any) {
	d.total++
	if len(d.list) < 100*keptViolations {
		d.list = append(d.list, Violation{Checker: d.checker, At: at, Text: fmt.Sprintf(format, args...)})
	}
}

func (d *docket) kept() []Violation {
	slices.SortFunc(d.list, compareViolations)
	return d.list[:min(len(d.list), keptViolations)]
}

func compareViolations(a, b Violation) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Checker, b.Checker), cmp.Compare(a.Text, b.Text))
}
