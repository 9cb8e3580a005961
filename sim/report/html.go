// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	_ "embed" // the page's template, style and script
	"html/template"
	"io"
	"sync"
)

//go:embed page/page.html
var pageHTML string

//go:embed page/page.css
var pageCSS string

//go:embed page/page.js
var pageJS string

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageHTML))
})

// WriteHTML writes the report as a page: one file that needs no other, nor a
// network. A report that was read from JSON has no history to draw, so its
// page has tables only.
func (r *Report) WriteHTML(w io.Writer) error {
	return pageTemplate().Execute(w, newPage(r))
}
