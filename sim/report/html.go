// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	_ "embed" // the page's style and script
	"io"

	"github.com/arke-mesh/arke/sim/report/internal/markup"
)

//go:embed page/page.css
var pageCSS string

//go:embed page/page.js
var pageJS string

// policy lets the page load nothing.
const policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

// WriteHTML writes the report as a page: one file that needs no other, nor a
// network. A report that was read from JSON has no history to draw, so its
// page has tables only.
func (r *Report) WriteHTML(w io.Writer) error {
	p := newPage(r)
	data, err := markup.Data("data", p.Data)
	if err != nil {
		return err
	}
	clock := "virtual"
	if r.Level == "net" {
		clock = "real"
	}
	return markup.Document(w, markup.El("html", markup.Attr("lang", "en"), p.head(), markup.El("body",
		patterns(),
		p.header(),
		markup.El("main",
			p.assertions(), p.violations(), p.latency(), p.percentiles(), p.outcomes(), p.topicSection(), p.tunnelSection(), p.memberSection(),
			p.nodeSection(), p.viewSection(), p.timeSection(), p.faultSection(), p.metricSection(), p.scenarioSection()),
		markup.El("footer", markup.Text("Times count from the beginning of the run, in "+clock+" seconds. 1 KB is 1,000 bytes.")),
		markup.El("p", markup.Attr("id", "readout"), markup.Attr("aria-hidden", "true")),
		data,
		markup.Script(pageJS),
	)))
}
