// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package svg

import (
	"html"
	"html/template"
	"strconv"
	"strings"
)

// Anchors of text.
const (
	Start  = "start"
	Middle = "middle"
	End    = "end"
)

// Canvas collects the elements of one drawing.
type Canvas struct {
	b             strings.Builder
	width, height float64
	label, attrs  string
}

// New returns an empty canvas. The label is what a screen reader says.
func New(width, height float64, label string) *Canvas {
	return &Canvas{width: width, height: height, label: label}
}

// Data puts an attribute data-name="value" on the drawing, for scripts.
func (c *Canvas) Data(name, value string) {
	c.attrs += " data-" + name + `="` + html.EscapeString(value) + `"`
}

// Grow makes the canvas at least so high.
func (c *Canvas) Grow(height float64) {
	c.height = max(c.height, height)
}

// Rect draws a rectangle. With a title it says so when pointed at.
func (c *Canvas) Rect(x, y, w, h float64, class, title string) {
	c.b.WriteString(`<rect x="` + num(x) + `" y="` + num(y) + `" width="` + num(max(w, 0)) + `" height="` + num(max(h, 0)) + `"`)
	c.class(class)
	c.finish("rect", title)
}

// Line draws a straight line.
func (c *Canvas) Line(x1, y1, x2, y2 float64, class string) {
	c.b.WriteString(`<line x1="` + num(x1) + `" y1="` + num(y1) + `" x2="` + num(x2) + `" y2="` + num(y2) + `"`)
	c.class(class)
	c.b.WriteString("/>")
}

// Circle draws a disc.
func (c *Canvas) Circle(x, y, r float64, class, title string) {
	c.b.WriteString(`<circle cx="` + num(x) + `" cy="` + num(y) + `" r="` + num(r) + `"`)
	c.class(class)
	c.finish("circle", title)
}

// Path draws p, or nothing if p is empty.
func (c *Canvas) Path(p *Path, class, title string) {
	if p.Empty() {
		return
	}
	c.b.WriteString(`<path d="` + p.b.String() + `"`)
	c.class(class)
	c.finish("path", title)
}

// Text writes text with its baseline at y.
func (c *Canvas) Text(x, y float64, anchor, class, text string) {
	c.b.WriteString(`<text x="` + num(x) + `" y="` + num(y) + `"`)
	if anchor != Start {
		c.b.WriteString(` text-anchor="` + anchor + `"`)
	}
	c.class(class)
	c.b.WriteString(">" + html.EscapeString(text) + "</text>")
}

// FitText writes text, cut to the width; the whole of it appears when pointed
// at. Size is the font size that the class has. It returns whether there was
// room for anything.
func (c *Canvas) FitText(x, y, width, size float64, anchor, class, text string) bool {
	short := Fit(text, width, size)
	if short == "" {
		return false
	}
	if short == text {
		c.Text(x, y, anchor, class, text)
		return true
	}
	c.b.WriteString(`<text x="` + num(x) + `" y="` + num(y) + `"`)
	if anchor != Start {
		c.b.WriteString(` text-anchor="` + anchor + `"`)
	}
	c.class(class)
	c.b.WriteString("><title>" + html.EscapeString(text) + "</title>" + html.EscapeString(short) + "</text>")
	return true
}

// HTML returns the drawing as an element to put into a page.
func (c *Canvas) HTML() template.HTML {
	var b strings.Builder
	b.WriteString(`<svg viewBox="0 0 ` + num(c.width) + " " + num(c.height) + `" role="img" aria-label="` +
		html.EscapeString(c.label) + `"` + c.attrs + ">")
	b.WriteString(c.b.String())
	b.WriteString("</svg>")
	return template.HTML(b.String()) // every text in it was escaped above
}

func (c *Canvas) class(class string) {
	if class != "" {
		c.b.WriteString(` class="` + html.EscapeString(class) + `"`)
	}
}

func (c *Canvas) finish(element, title string) {
	if title == "" {
		c.b.WriteString("/>")
		return
	}
	c.b.WriteString("><title>" + html.EscapeString(title) + "</title></" + element + ">")
}

// num writes a coordinate: one decimal is a tenth of a pixel.
func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	s = strings.TrimSuffix(s, ".0")
	if s == "-0" {
		return "0"
	}
	return s
}
