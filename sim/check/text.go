// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// shownViolations is how many violations WriteText lists.
const shownViolations = 20

// WriteText writes the verdict for people: every assertion with its value, then
// the first violations, and how many of them each checker found. It writes once.
func (v *Verdict) WriteText(w io.Writer) error {
	var b strings.Builder
	width := 0
	for _, a := range v.Assertions {
		width = max(width, len(a.Text))
	}
	for _, a := range v.Assertions {
		v.writeResult(&b, a, width)
	}
	v.writeViolations(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (v *Verdict) writeResult(b *strings.Builder, a Result, width int) {
	word := "FAIL"
	if a.OK {
		word = "PASS"
	}
	what := a.Value
	if a.Reason != "" {
		what = a.Reason
	}
	fmt.Fprintf(b, "%s  %-9s  %-*s  %s\n", word, a.Kind, width, a.Text, what)
}

func (v *Verdict) writeViolations(b *strings.Builder) {
	names := slices.Sorted(maps.Keys(v.Counts))
	if len(names) == 0 {
		fmt.Fprintf(b, "PASS  checkers   no violations\n")
		return
	}
	total := 0
	var counts []string
	for _, name := range names {
		total += v.Counts[name]
		counts = append(counts, fmt.Sprintf("%s %d", name, v.Counts[name]))
	}
	fmt.Fprintf(b, "FAIL  checkers   %d violations: %s\n", total, strings.Join(counts, ", "))
	shown := v.Violations[:min(len(v.Violations), shownViolations)]
	for _, x := range shown {
		fmt.Fprintf(b, "      %12v  %-9s  %s\n", x.At, x.Checker, x.Text)
	}
	if rest := total - len(shown); rest > 0 {
		fmt.Fprintf(b, "      and %d more\n", rest)
	}
}
