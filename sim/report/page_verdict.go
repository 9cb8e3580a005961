// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/arke-mesh/arke/sim/report/internal/markup"

// assertions is the section of what the scenario claims.
func (p *page) assertions() markup.Node {
	const title = "Assertions"
	switch {
	case len(p.Claims) == 0 && p.Judged:
		return section("assertions", title, note("The scenario asserts nothing."))
	case len(p.Claims) == 0:
		return section("assertions", title, note("The run was not judged."))
	}
	var rows markup.Group
	for _, c := range p.Claims {
		result := "✗ fails"
		if c.OK {
			result = "✓ holds"
		}
		measured := markup.Group{markup.Text(c.Value)}
		if c.Reason != "" {
			measured = append(measured, markup.Text(" "), markup.El("span", markup.Class("quiet"), markup.Text(c.Reason)))
		}
		rows = append(rows, row(okClass(c.OK), markup.El("td", markup.Class("mark"), markup.Text(result)),
			markup.El("td", code(c.Text)), markup.El("td", measured), cell(c.Kind)))
	}
	return section("assertions", title,
		table("claims", row("", column("result"), column("claim"), column("measured"), column("kind")), tbody(rows)),
		note("“sometimes” claims prove that the run reached what the scenario is about; one that does not hold fails the run."))
}

// violations is the section of broken promises.
func (p *page) violations() markup.Node {
	const title = "Violations"
	switch {
	case len(p.Broken) == 0 && !p.Judged:
		return section("violations", title, note("Nobody looked: the run was not judged."))
	case len(p.Broken) == 0:
		return section("violations", title, note("None: the checkers that are always on found no broken promise."))
	}
	var rows markup.Group
	for _, b := range p.Broken {
		rows = append(rows, row("fail", number(b.At), cell(b.Checker), cell(b.Text)))
	}
	return section("violations", title,
		table("list", row("", figures("at"), column("checker"), column("what was broken")), tbody(rows)), note(p.BrokenMore))
}
