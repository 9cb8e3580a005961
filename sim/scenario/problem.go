// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"sort"
	"strings"
)

// maxProblems is how many problems one error tells at most.
const maxProblems = 10

// Problem is one reason why a scenario can't be run.
type Problem struct {
	File   string // "" if the scenario is not from a file
	Line   int    // 1 is the first; 0 if unknown
	Path   string // where in the scenario: "timeline[2].nodes[0]"; "" for the whole
	Reason string
}

// String returns "file:line: path: reason", without what is unknown.
func (p Problem) String() string {
	var b strings.Builder
	switch {
	case p.File != "" && p.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", p.File, p.Line)
	case p.File != "":
		fmt.Fprintf(&b, "%s: ", p.File)
	}
	if p.Path != "" {
		fmt.Fprintf(&b, "%s: ", p.Path)
	}
	b.WriteString(p.Reason)
	return b.String()
}

// Error is what Parse, Validate, Expand and Generate return: everything that is
// wrong with a scenario, in the order of the file.
type Error struct {
	Problems []Problem
}

// Error returns one line for each problem, ten at most.
func (e *Error) Error() string {
	lines := make([]string, 0, maxProblems+1)
	for i, p := range e.Problems {
		if i == maxProblems {
			lines = append(lines, fmt.Sprintf("and %d more", len(e.Problems)-maxProblems))
			break
		}
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// problems collects what is wrong.
type problems []Problem

func (p *problems) add(path, format string, args ...any) {
	*p = append(*p, Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
}

// err returns nil if there is no problem.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return &Error{Problems: p}
}

// in places the problems into a file. The line of a path that the file does
// not have is that of the nearest thing around it.
func (p problems) in(file string, lines map[string]int) problems {
	for i := range p {
		p[i].File = file
		if p[i].Line == 0 {
			p[i].Line = lineOf(p[i].Path, lines)
		}
	}
	sort.SliceStable(p, func(i, j int) bool { return p[i].Line < p[j].Line })
	return p
}

func lineOf(path string, lines map[string]int) int {
	for {
		if line, ok := lines[path]; ok {
			return line
		}
		cut := strings.LastIndexAny(path, ".[")
		if cut < 0 {
			return lines[""]
		}
		path = path[:cut]
	}
}
