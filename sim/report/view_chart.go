// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report/internal/svg"
)

const (
	viewHeight = 64.0
	viewStrip  = 17.0
	maxSights  = 6
)

// sight is a cluster's views as they are drawn.
type sight struct{ check.ViewHistory }

func sights(h *history.History) []*sight {
	var all []*sight
	for _, v := range check.ViewHistories(h) {
		all = append(all, &sight{v})
	}
	return all
}

// wrongs are what a step counts besides right views.
var wrongs = []struct {
	name  string
	value func(check.ViewStep) int
}{
	{"missing", func(s check.ViewStep) int { return s.Missing }},
	{"dead", func(s check.ViewStep) int { return s.Dead }},
	{"suspect", func(s check.ViewStep) int { return s.Suspect }},
	{"ejected", func(s check.ViewStep) int { return s.Ejected }},
	{"unreachable", func(s check.ViewStep) int { return s.Unreachable }},
}

// share is how many of a hundred views are right.
func share(s check.ViewStep) float64 {
	if s.Watching == 0 {
		return 100
	}
	return 100 * float64(s.Right) / float64(s.Watching)
}

// strips are the rows below a cluster's plot that have anything to show.
func strips(s *sight) []int {
	var found []int
	for i, w := range wrongs {
		if slices.ContainsFunc(s.Steps, func(x check.ViewStep) bool { return w.value(x) > 0 }) {
			found = append(found, i)
		}
	}
	return found
}

func (s *sight) height() float64 {
	return viewHeight + 26 + viewStrip*float64(len(strips(s)))
}

// draw draws the share of one cluster's views that are right, and below it what
// was wrong with the others.
func (s *sight) draw(c *svg.Canvas, a axis, y float64) {
	c.FitText(left, y+13, right-left, textSize, svg.Start, "label haloed", fmt.Sprintf("cluster %s: %s of it, %s", s.Cluster, plural(s.Observers, "view"), plural(s.Members, "registration")))
	top := y + 20
	scale := svg.Linear(0, 100, top+viewHeight-4, top)
	for _, p := range []float64{0, 50, 100} {
		c.Line(left-4, scale.At(p), right, scale.At(p), "grid")
		c.Text(left-8, scale.At(p)+4, svg.End, "axis", fmt.Sprintf("%.0f %%", p))
	}
	p := rightLine(a, s, scale)
	c.Path(p, "line p50", "")
	c.Text(right+14, top+12, svg.Start, "axis", "views that are right")
	if n := len(s.Steps); n > 0 {
		last := s.Steps[n-1]
		c.Text(right+14, top+28, svg.Start, "axis", fmt.Sprintf("at the end %d of %d", last.Right, last.Watching))
	}
	y = top + viewHeight
	for _, i := range strips(s) {
		values, largest := stripValues(a, s, wrongs[i].value)
		c.Text(left-8, y+12, svg.End, "label", wrongs[i].name)
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
	for i := 0; i < len(s.Steps); {
		x := a.x(s.Steps[i].At)
		low, high, last := 100.0, 0.0, 0.0
		for ; i < len(s.Steps) && a.x(s.Steps[i].At) < x+1; i++ {
			last = share(s.Steps[i])
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
func stripValues(a axis, s *sight, value func(check.ViewStep) int) (values []float64, largest float64) {
	values = make([]float64, a.n)
	for i, p := range s.Steps {
		until, n := a.end, float64(value(p))
		if i+1 < len(s.Steps) {
			until = s.Steps[i+1].At
		}
		for b := a.index(p.At); b < a.n && (time.Duration(b)*a.bucket < until || b == a.index(p.At)); b++ {
			values[b] = max(values[b], n)
		}
		largest = max(largest, n)
	}
	return values, largest
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return svg.Grouped(n) + " " + word + "s"
}
