// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/arke-mesh/arke/sim/history"
)

//go:embed page/page.css
var pageCSS string

//go:embed page/page.js
var pageJS string

// The chart library: https://github.com/leeoniya/uPlot 1.6.32, unchanged.
var (
	//go:embed page/uplot/uPlot.iife.min.js
	chartJS string
	//go:embed page/uplot/uPlot.min.css
	chartCSS string
	//go:embed page/uplot/LICENSE
	chartLicense string
)

// page is what the sections show.
type page struct {
	*Report
	data   string // the drawing, for the script
	charts map[string]chart
}

type fact struct{ Name, Value string }

// WriteHTML writes the report as a page: one file that needs no other, nor a
// network. A report that was read from JSON has no history to draw, so its page
// has tables only.
func (r *Report) WriteHTML(w io.Writer) error {
	p, err := newPage(r)
	if err != nil {
		return err
	}
	s := &htmlWriter{}
	p.write(s)
	_, err = io.WriteString(w, s.b.String())
	return err
}

func newPage(r *Report) (*page, error) {
	h := r.history
	if h == nil {
		h = &history.History{}
	}
	drawn := draw(h, r.Members)
	data, err := json.Marshal(drawn) // which writes < as \u003c, so that it can't end its element
	if err != nil {
		return nil, err
	}
	return &page{Report: r, charts: drawn.Charts, data: string(data)}, nil
}

func (p *page) verdict() string {
	if p.OK {
		return "PASSED"
	}
	return "FAILED"
}

// lead sums the run up in a sentence.
func lead(r *Report) string {
	var parts []string
	failed := 0
	for _, a := range r.Assertions {
		if !a.OK {
			failed++
		}
	}
	if n := len(r.Assertions); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s hold", n-failed, several(n, "assertion")))
	}
	if n := len(r.Violations); n > 0 {
		parts = append(parts, several(n, "violation"))
	} else if r.Judged {
		parts = append(parts, "no violations")
	}
	if r.Requests > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s were answered with a reply", grouped(r.Outcomes["reply"]), several(r.Requests, "request")))
	}
	parts = append(parts, carried(r)...)
	parts = append(parts, several(r.Nodes, "node")+", "+several(len(r.Faults), "fault"))
	return strings.Join(parts, "; ") + "."
}

func facts(r *Report) []fact {
	orDash := func(s string) string { return cmp.Or(s, "–") }
	all := []fact{
		{"level", orDash(r.Level)},
		{"seed", fmt.Sprint(r.Seed)},
		{"commit", orDash(r.Commit)},
		{"built with", orDash(strings.TrimSpace(r.GoVersion + " " + r.Host))},
		{"trace hash", orDash(r.TraceHash)},
		{"virtual time", fmt.Sprintf("%.1f s", r.VirtualSeconds)},
		{"real time", fmt.Sprintf("%.1f s", r.RealSeconds)},
	}
	if r.Level == "net" {
		all = slices.Delete(all, 4, 6) // it has neither
	} else if r.VirtualPerReal > 0 {
		all = append(all, fact{"virtual / real", fmt.Sprintf("%.3g", r.VirtualPerReal)})
	}
	if r.Events > 0 {
		all = append(all, fact{"events", fmt.Sprintf("%s (%s/s)", grouped(int(r.Events)), amount(r.EventsPerSecond))})
	}
	if r.MemoryPeakBytes > 0 {
		all = append(all, fact{"memory, at most", size(float64(r.MemoryPeakBytes))})
	}
	return append(all, fact{"nodes", fmt.Sprintf("%s (%s)", grouped(r.Nodes), several(r.Lives, "life"))}, fact{"requests", grouped(r.Requests)})
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// carried says in the lead what was published and tunnelled.
func carried(r *Report) (parts []string) {
	count := func(metric string) int { return int(r.Metrics[metric].Value) }
	if n := count("published"); n > 0 {
		parts = append(parts, fmt.Sprintf("%s made %s, and %s were reported as missing",
			several(n, "publication"), several(count("deliveries"), "delivery"), grouped(count("reported"))))
	}
	if n := count("tunnels"); n > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s ended well", grouped(count("tunnels_done")), several(n, "tunnel")))
	}
	return parts
}

// Package html/template is not used: it finds methods by name, so that the
// linker has to keep every method of the program.

// constant is text in the page's language. Only constants convert to it without
// being asked.
type constant string

// htmlWriter is a page that is being written.
type htmlWriter struct{ b strings.Builder }

// put writes text of the page, in which each %s stands for a value. Values are
// escaped, so that they are text wherever they stand: in elements, and in
// attributes that have quotes and hold neither code nor an address.
func (s *htmlWriter) put(text constant, values ...any) {
	for i, v := range values {
		values[i] = html.EscapeString(fmt.Sprint(v))
	}
	fmt.Fprintf(&s.b, string(text), values...)
}

// code writes what a browser does not unescape: a style, a script, data. It
// can't end its own element: a backslash there changes nothing inside of a quoted
// text, and nowhere else does correct code have these.
func (s *htmlWriter) code(open constant, body string, end constant) {
	body = strings.ReplaceAll(body, "</", `<\/`)
	s.b.WriteString(string(open) + strings.ReplaceAll(body, "<!--", `<\!--`) + string(end))
}

// note writes a remark, unless there is none.
func (s *htmlWriter) note(text string) {
	if text != "" {
		s.put("<p class=\"note\">%s</p>\n", text)
	}
}

// table writes a table and its head, and what rows writes. A column whose name
// begins with # is one of numbers.
func (s *htmlWriter) table(class constant, columns []string, rows func()) {
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
func (s *htmlWriter) row(head string, words []string, values ...string) {
	s.put(`<tr><th scope="row">%s</th>`, head)
	for _, w := range words {
		s.put("<td>%s</td>", w)
	}
	for _, v := range values {
		s.put(`<td class="n">%s</td>`, v)
	}
	s.put("</tr>\n")
}
