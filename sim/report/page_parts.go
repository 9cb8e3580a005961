// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/arke-mesh/arke/sim/report/internal/markup"

// section is a part of the page with a heading.
func section(id, title string, parts ...markup.Part) markup.Node {
	return markup.El("section", append([]markup.Part{markup.Attr("id", id), markup.El("h2", markup.Text(title))}, parts...)...)
}

// table is a table with the head row given.
func table(class string, head markup.Node, bodies ...markup.Node) markup.Node {
	return markup.El("table", markup.Class(class), markup.El("thead", head), markup.Group(bodies))
}

func tbody(rows markup.Group) markup.Node { return markup.El("tbody", rows) }

func row(class string, cells ...markup.Node) markup.Node {
	return markup.El("tr", markup.Class(class), markup.Group(cells))
}

// column is the head of a column of words, figures that of one of numbers.
func column(name string) markup.Node { return columnOf("", name) }

func figures(name string) markup.Node { return columnOf("n", name) }

func columnOf(class, name string) markup.Node {
	return markup.El("th", markup.Attr("scope", "col"), markup.Class(class), markup.Text(name))
}

func rowHead(s string) markup.Node {
	return markup.El("th", markup.Attr("scope", "row"), markup.Text(s))
}

func cell(s string) markup.Node { return markup.El("td", markup.Text(s)) }

func number(s string) markup.Node { return markup.El("td", markup.Class("n"), markup.Text(s)) }

// numbers is several cells of numbers.
func numbers(all []string) markup.Group {
	var cells markup.Group
	for _, s := range all {
		cells = append(cells, number(s))
	}
	return cells
}

func code(s string) markup.Node { return markup.El("code", markup.Text(s)) }

// note is a remark, or nil if there is none.
func note(s string) markup.Node {
	if s == "" {
		return nil
	}
	return markup.El("p", markup.Class("note"), markup.Text(s))
}

// figure is a drawing, which may be nil, with words below it.
func figure(drawing markup.Node, caption string) markup.Node {
	return markup.El("figure", drawing, markup.El("figcaption", markup.Text(caption)))
}

// after returns s with a space before it, unless it is empty.
func after(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}

func okClass(ok bool) string {
	if ok {
		return "ok"
	}
	return "fail"
}

func mark(ok bool) string {
	if ok {
		return "✓ "
	}
	return "✗ "
}
