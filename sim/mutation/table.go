// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// line is one bug's result for people who wait.
func line(c Catch) string {
	if !c.Caught() {
		return fmt.Sprintf("%s: NOT CAUGHT in %d runs", c.Bug.Name, c.Runs)
	}
	return fmt.Sprintf("%s: caught by %s, seed %d, run %d: %s: %s", c.Bug.Name, c.Scenario, c.Seed, c.Runs, c.Finding.Checker, clip(c.Finding.Text))
}

// clip keeps a text to a line.
func clip(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if r := []rune(text); len(r) > 120 {
		text = string(r[:119]) + "…"
	}
	return text
}

// Share sums up: how many bugs there are, how many were caught, and how many of
// these with the first seed.
func Share(catches []Catch) (bugs, caught, atOnce int) {
	for _, c := range catches {
		if c.Caught() {
			caught++
			if c.Seed == 1 {
				atOnce++
			}
		}
	}
	return len(catches), caught, atOnce
}

// WriteTable writes the score in Markdown: the share, each bug, and what each
// scenario caught first.
func WriteTable(w io.Writer, catches []Catch, seeds int) error {
	var b strings.Builder
	bugs, caught, atOnce := Share(catches)
	fmt.Fprintf(&b, "%d of %d bugs are caught (%d %%), %d of them with the first seed; at most %d seeds were tried.\n\n",
		caught, bugs, 100*caught/max(bugs, 1), atOnce, seeds)
	b.WriteString("| bug | in | what it does | promise broken | caught by | checker or assertion | seeds | runs |\n|---|---|---|---|---|---|---|---|\n")
	for _, c := range catches {
		scenario, checker, seed := cmp.Or(c.Scenario, "**nobody**"), "–", "–"
		if c.Caught() {
			checker, seed = "`"+c.Finding.Checker+"`", fmt.Sprint(c.Seed)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s | %d |\n",
			c.Bug.Name, c.Bug.Layer, c.Bug.Breaks, c.Bug.Promise, scenario, checker, seed, c.Runs)
	}
	b.WriteString("\n| scenario | bugs it caught first |\n|---|---|\n")
	for _, s := range tally(catches) {
		fmt.Fprintf(&b, "| %s | %d |\n", s.scenario, s.bugs)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// firsts is how many bugs a scenario caught before others could.
type firsts struct {
	scenario string
	bugs     int
}

func tally(catches []Catch) []firsts {
	var out []firsts
	for _, c := range catches {
		if !c.Caught() {
			continue
		}
		i := slices.IndexFunc(out, func(f firsts) bool { return f.scenario == c.Scenario })
		if i < 0 {
			i = len(out)
			out = append(out, firsts{scenario: c.Scenario})
		}
		out[i].bugs++
	}
	slices.SortFunc(out, func(a, b firsts) int {
		return cmp.Or(cmp.Compare(b.bugs, a.bugs), cmp.Compare(a.scenario, b.scenario))
	})
	return out
}

// ReadTable returns, by bug, who caught it according to a table that WriteTable
// wrote. What is no such table has nothing.
func ReadTable(text string) map[string]string {
	out := make(map[string]string)
	for row := range strings.Lines(text) {
		cells := strings.Split(row, " | ")
		if len(cells) == 8 && strings.HasPrefix(row, "| `") && !strings.HasPrefix(cells[4], "*") {
			out[strings.Trim(cells[0], "| `")] = cells[4]
		}
	}
	return out
}
