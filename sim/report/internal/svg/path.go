// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package svg

import "strings"

// Path is a sequence of pen strokes.
type Path struct {
	b strings.Builder
}

// Move lifts the pen and puts it down at a point.
func (p *Path) Move(x, y float64) { p.b.WriteString("M" + num(x) + " " + num(y)) }

// To draws a straight line to a point.
func (p *Path) To(x, y float64) { p.b.WriteString("L" + num(x) + " " + num(y)) }

// Across draws a horizontal line.
func (p *Path) Across(x float64) { p.b.WriteString("H" + num(x)) }

// Up draws a vertical line.
func (p *Path) Up(y float64) { p.b.WriteString("V" + num(y)) }

// Box adds a rectangle.
func (p *Path) Box(x, y, w, h float64) {
	p.b.WriteString("M" + num(x) + " " + num(y) + "h" + num(w) + "v" + num(h) + "h-" + num(w) + "z")
}

// Close goes back to where the pen was put down.
func (p *Path) Close() { p.b.WriteString("Z") }

// Empty says whether nothing was drawn.
func (p *Path) Empty() bool { return p.b.Len() == 0 }
