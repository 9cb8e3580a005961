// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"html"
	"strings"
)

// Package html/template is not used: it finds methods by name, so that the
// linker has to keep every method of the program.

// constant is text in the page's language. Only constants convert to it without
// being asked.
type constant string

// sheet is a page that is being written.
type sheet struct{ b strings.Builder }

// put writes text of the page, in which each %s stands for a value. Values are
// escaped, so that they are text wherever they stand: in elements, and in
// attributes that have quotes and hold neither code nor an address.
func (s *sheet) put(text constant, values ...any) {
	for i, v := range values {
		values[i] = html.EscapeString(fmt.Sprint(v))
	}
	fmt.Fprintf(&s.b, string(text), values...)
}

// code writes what a browser does not unescape: a style, a script, data. It
// can't end its own element: a backslash there changes nothing inside of a quoted
// text, and nowhere else does correct code have these.
func (s *sheet) code(open constant, body string, end constant) {
	body = strings.ReplaceAll(body, "</", `<\/`)
	s.b.WriteString(string(open) + strings.ReplaceAll(body, "<!--", `<\!--`) + string(end))
}

// note writes a remark, unless there is none.
func (s *sheet) note(text string) {
	if text != "" {
		s.put("<p class=\"note\">%s</p>\n", text)
	}
}

// table writes a table and its head, and what rows writes. A column whose name
// begins with # is one of numbers.
func (s *sheet) table(class constant, columns []string, rows func()) {
	s.put("<table class=\"%s\"><thead><tr>", class)
	for _, c := range columns {
		if name, isNumber := strings.CutPrefix(c, "#"); isNumber {
			s.put(`<th scope="col" class="n">%s</th>`, name)
		} else {
			s.put(`<th scope="col">%s</th>`, c)
		}
	}
	s.put("</tr></thead>\n")
	rows()
	s.put("</table>\n")
}

// row writes a row of a table: its head, more words, and numbers.
func (s *sheet) row(head string, words []string, values ...string) {
	s.put(`<tr><th scope="row">%s</th>`, head)
	for _, w := range words {
		s.put("<td>%s</td>", w)
	}
	for _, v := range values {
		s.put(`<td class="n">%s</td>`, v)
	}
	s.put("</tr>\n")
}
