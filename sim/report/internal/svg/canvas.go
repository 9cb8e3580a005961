// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package svg

import (
	"strconv"
	"strings"

	"github.com/arke-mesh/arke/sim/report/internal/markup"
)

// Anchors of text.
const (
	Start  = "start"
	Middle = "middle"
	End    = "end"
)

// Canvas collects the elements of one drawing.
type Canvas struct {
	shapes        markup.Group
	width, height float64
	label         string
	data          []markup.Part
}

// New returns an empty canvas. The label is what a screen reader says.
func New(width, height float64, label string) *Canvas {
	return &Canvas{width: width, height: height, label: label}
}

// Time says where on the drawing time runs, for scripts: from x left to x right,
// from 0 to so many milliseconds.
func (c *Canvas) Time(value string) {
	c.data = append(c.data, markup.Attr("data-time", value))
}

// Grow makes the canvas at least so high.
func (c *Canvas) Grow(height float64) {
	c.height = max(c.height, height)
}

// Rect draws a rectangle. With a title it says so when pointed at.
func (c *Canvas) Rect(x, y, w, h float64, class, title string) {
	c.draw(markup.El("rect", markup.Attr("x", num(x)), markup.Attr("y", num(y)), markup.Attr("width", num(max(w, 0))),
		markup.Attr("height", num(max(h, 0))), markup.Class(class), titled(title)))
}

// Line draws a straight line.
func (c *Canvas) Line(x1, y1, x2, y2 float64, class string) {
	c.draw(markup.El("line", markup.Attr("x1", num(x1)), markup.Attr("y1", num(y1)), markup.Attr("x2", num(x2)),
		markup.Attr("y2", num(y2)), markup.Class(class)))
}

// Path draws p, or nothing if p is empty.
func (c *Canvas) Path(p *Path, class, title string) {
	if !p.Empty() {
		c.draw(markup.El("path", markup.Attr("d", p.b.String()), markup.Class(class), titled(title)))
	}
}

// Text writes text with its baseline at y.
func (c *Canvas) Text(x, y float64, anchor, class, text string) {
	c.text(x, y, anchor, class, "", text)
}

// FitText writes text, cut to the width; the whole of it appears when pointed
// at. Size is the font size that the class has. It returns whether there was
// room for anything.
func (c *Canvas) FitText(x, y, width, size float64, anchor, class, text string) bool {
	short := Fit(text, width, size)
	switch short {
	case "":
		return false
	case text:
		c.Text(x, y, anchor, class, text)
	default:
		c.text(x, y, anchor, class, text, short)
	}
	return true
}

func (c *Canvas) text(x, y float64, anchor, class, title, text string) {
	var anchored markup.Part
	if anchor != Start {
		anchored = markup.Attr("text-anchor", anchor)
	}
	c.draw(markup.El("text", markup.Attr("x", num(x)), markup.Attr("y", num(y)), anchored, markup.Class(class), titled(title), markup.Text(text)))
}

// Node returns the drawing as an element to put into a page.
func (c *Canvas) Node() markup.Node {
	return markup.El("svg", append([]markup.Part{
		markup.Attr("viewBox", "0 0 "+num(c.width)+" "+num(c.height)), markup.Attr("role", "img"), markup.Attr("aria-label", c.label),
	}, append(c.data, c.shapes)...)...)
}

func (c *Canvas) draw(shape markup.Node) { c.shapes = append(c.shapes, shape) }

// titled returns what a browser shows when the shape is pointed at.
func titled(title string) markup.Part {
	if title == "" {
		return nil
	}
	return markup.El("title", markup.Text(title))
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
