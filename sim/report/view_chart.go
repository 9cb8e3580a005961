// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"time"

	"github.com/arke-mesh/arke/sim/report/internal/svg"
)

const (
	viewHeight = 64.0
	viewStrip  = 17.0
	maxSights  = 6
)

// strips are the rows below a cluster's plot that have anything to show.
func strips(s *sight) []string {
	var names []string
	missing, dead := false, false
	for _, x := range s.steps {
		missing, dead = missing || x.missing > 0, dead || x.dead > 0
	}
	if missing {
		names = append(names, "missing")
	}
	if dead {
		names = append(names, "dead")
	}
	for _, state := range []string{"suspect", "ejected", "unreachable"} {
		if len(s.entries[state]) > 0 {
			names = append(names, state)
		}
	}
	return names
}

func (s *sight) height() float64 {
	return viewHeight + 26 + viewStrip*float64(len(strips(s)))
}

// draw draws the share of one cluster's views that are right, and below it what
// was wrong with the others.
func (s *sight) draw(c *svg.Canvas, a axis, y float64) {
	c.FitText(left, y+13, right-left, textSize, svg.Start, "label haloed", fmt.Sprintf("cluster %s: %s of it, %s", s.cluster, plural(s.observers, "view"), plural(s.members, "registration")))
	top := y + 20
	scale := svg.Linear(0, 100, top+viewHeight-4, top)
	for _, p := range []float64{0, 50, 100} {
		c.Line(left-4, scale.At(p), right, scale.At(p), "grid")
		c.Text(left-8, scale.At(p)+4, svg.End, "axis", fmt.Sprintf("%.0f %%", p))
	}
	p := rightLine(a, s, scale)
	c.Path(p, "line p50", "")
	c.Text(right+14, top+12, svg.Start, "axis", "views that are right")
	if n := len(s.steps); n > 0 {
		last := s.steps[n-1]
		c.Text(right+14, top+28, svg.Start, "axis", fmt.Sprintf("at the end %d of %d", last.exact, last.watching))
	}
	y = top + viewHeight
	for _, name := range strips(s) {
		values, largest := stripValues(a, s, name)
		c.Text(left-8, y+12, svg.End, "label", name)
		a.spark(c, y+2, viewStrip-4, values, largest, "wrong")
		c.Line(left, y+viewStrip-2, right, y+viewStrip-2, "grid")
		c.Text(right+14, y+12, svg.Start, "axis", "at most "+svg.Grouped(int(largest)))
		y += viewStrip
	}
}

// rightLine is the share of right views. What happens within a unit of the
// canvas becomes one vertical stroke from the smallest to the largest share.
func rightLine(a axis, s *sight, scale svg.Scale) *svg.Path {
	p := &svg.Path{}
	for i := 0; i < len(s.steps); {
		x := a.x(s.steps[i].at)
		low, high, last := 100.0, 0.0, 0.0
		for ; i < len(s.steps) && a.x(s.steps[i].at) < x+1; i++ {
			last = s.steps[i].share()
			low, high = min(low, last), max(high, last)
		}
		if p.Empty() {
			p.Move(x, scale.At(last))
			continue
		}
		p.Across(x)
		for _, y := range [...]float64{low, high, last} {
			p.Up(scale.At(y))
		}
	}
	if !p.Empty() {
		p.Across(right)
	}
	return p
}

// stripValues returns the largest value in each bucket.
func stripValues(a axis, s *sight, name string) (values []float64, largest float64) {
	var points []point
	switch name {
	case "missing", "dead":
		for _, x := range s.steps {
			n := x.missing
			if name == "dead" {
				n = x.dead
			}
			points = append(points, point{x.at, n})
		}
	default:
		points = s.entries[name]
	}
	values = make([]float64, a.n)
	for i, p := range points {
		until := a.end
		if i+1 < len(points) {
			until = points[i+1].at
		}
		for b := a.index(p.at); b < a.n && (time.Duration(b)*a.bucket < until || b == a.index(p.at)); b++ {
			values[b] = max(values[b], float64(p.n))
		}
		largest = max(largest, float64(p.n))
	}
	return values, largest
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return svg.Grouped(n) + " " + word + "s"
}
