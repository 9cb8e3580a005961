// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/arke-mesh/arke/sim/report/internal/markup"

// head is what a browser reads and nobody sees.
func (p *page) head() markup.Node {
	meta := func(name, content string) markup.Node {
		return markup.El("meta", markup.Attr("name", name), markup.Attr("content", content))
	}
	return markup.El("head",
		markup.El("meta", markup.Attr("charset", "utf-8")),
		meta("viewport", "width=device-width, initial-scale=1"),
		markup.El("meta", markup.Attr("http-equiv", "Content-Security-Policy"), markup.Attr("content", policy)),
		meta("color-scheme", "light dark"),
		markup.El("title", markup.Textf("%s, seed %d: %s", p.Name, p.Seed, p.Verdict)),
		markup.Style(pageCSS))
}

// header says what was run, how it ended, and how to run it again.
func (p *page) header() markup.Node {
	var facts markup.Group
	for _, f := range p.Facts {
		facts = append(facts, markup.El("div", markup.El("dt", markup.Text(f.Name)), markup.El("dd", markup.Text(f.Value))))
	}
	var about, broke markup.Node
	if p.About != "" {
		about = markup.El("p", markup.Class("about"), markup.Text(p.About))
	}
	if p.Error != "" {
		broke = markup.El("p", markup.Class("broken"), markup.El("strong", markup.Text("The run did not come to its end:")), markup.Text(" "+p.Error))
	}
	return markup.El("header",
		markup.El("p", markup.Class("kicker"), markup.Text("Arke simulation report")),
		markup.El("h1", markup.Text(p.Name+" "), markup.El("span", markup.Class("badge "+okClass(p.OK)), markup.Text(mark(p.OK)+p.Verdict))),
		about,
		markup.El("p", markup.Class("lead"), markup.Text(p.Lead)),
		broke,
		markup.El("dl", markup.Class("facts"), facts),
		markup.El("p", markup.Class("replay"), markup.El("span", markup.Text("Run it again:")), markup.Text(" "), code(p.Replay)))
}

// patterns are what drawings fill areas with, beside colours.
func patterns() markup.Node {
	pattern := func(id, size string, parts ...markup.Part) markup.Node {
		return markup.El("pattern", append([]markup.Part{
			markup.Attr("id", id), markup.Attr("width", size), markup.Attr("height", size), markup.Attr("patternUnits", "userSpaceOnUse"),
			markup.El("rect", markup.Attr("width", size), markup.Attr("height", size), markup.Class(id+"-ground")),
		}, parts...)...)
	}
	return markup.El("svg", markup.Attr("width", "0"), markup.Attr("height", "0"), markup.Attr("aria-hidden", "true"), markup.Class("defs"), markup.El("defs",
		pattern("hatch", "6", markup.Attr("patternTransform", "rotate(45)"),
			markup.El("line", markup.Attr("x1", "0"), markup.Attr("y1", "0"), markup.Attr("x2", "0"), markup.Attr("y2", "6"), markup.Class("hatch-line"))),
		pattern("dots", "5",
			markup.El("circle", markup.Attr("cx", "2.5"), markup.Attr("cy", "2.5"), markup.Attr("r", "1"), markup.Class("dots-dot")))))
}
