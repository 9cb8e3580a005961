// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report/internal/svg"
)

const (
	bandRow  = 17.0 // height of a row of faults
	bandRows = 8    // of single faults; if more are needed, there is a row for each kind
)

// band is a fault as it is drawn.
type band struct {
	history.Fault
	from, to time.Duration
}

func (b band) point() bool { return b.to <= b.from }

// bands returns the faults to draw. An action that ends another one is not
// drawn: it is where the other one's band ends.
func bands(h *history.History) []band {
	type end struct {
		at   time.Duration
		node string
	}
	over := map[end]bool{}
	for _, f := range h.Faults {
		if f.Until > f.At {
			for _, n := range f.Nodes {
				over[end{f.Until, n}] = true
			}
		}
	}
	var all []band
	for _, f := range h.Faults {
		if slices.Contains(ends, f.Do) && f.Until <= f.At && len(f.Nodes) > 0 &&
			!slices.ContainsFunc(f.Nodes, func(n string) bool { return !over[end{f.At, n}] }) {
			continue
		}
		from, to := extent(f, h)
		all = append(all, band{f, from, to})
	}
	slices.SortStableFunc(all, func(a, b band) int { return cmp.Compare(a.from, b.from) })
	return all
}

// placed is a band with a row and a label.
type placed struct {
	band
	row    int
	inside bool
}

// pack gives each band a row in which neither it nor its label touches
// another one, and returns how many rows it took.
func pack(a axis, all []band) (out []placed, rows int) {
	var free []float64 // where the rows are free again
	for _, b := range all {
		x0, x1 := a.x(b.from), max(a.x(b.to), a.x(b.from)+2)
		width := svg.Width(label(b.Fault), smallSize) + 8
		inside := width <= x1-x0
		end := x1 + 3
		if !inside {
			end = min(x1+width+3, wide)
		}
		row := slices.IndexFunc(free, func(f float64) bool { return f <= x0 })
		if row < 0 {
			row = len(free)
			free = append(free, 0)
		}
		free[row] = end
		out = append(out, placed{b, row, inside})
	}
	return out, len(free)
}

// label is what stands beside a band.
func label(f history.Fault) string {
	if f.Text != "" {
		return f.Text
	}
	return strings.TrimSpace(f.Do + " " + strings.Join(f.Nodes, ","))
}

// lane draws every fault below y and returns how high that is.
func lane(c *svg.Canvas, a axis, all []band, y float64) float64 {
	if len(all) == 0 {
		return 0
	}
	packed, rows := pack(a, all)
	if rows > bandRows {
		return kinds(c, a, all, y)
	}
	c.Text(left-8, y+12, svg.End, "label", "faults")
	for _, p := range packed {
		top := y + float64(p.row)*bandRow
		x0, x1 := a.x(p.from), a.x(p.to)
		title := label(p.Fault) + ": " + when(p.band)
		c.Rect(x0, top+2, max(x1-x0, 2), bandRow-4, "fault f-"+family4(p.Do), title)
		if p.inside {
			c.Text(x0+4, top+12, svg.Start, "small", label(p.Fault))
			continue
		}
		x := max(x1, x0+2) + 4
		c.FitText(x, top+12, wide-x-2, smallSize, svg.Start, "small", label(p.Fault))
	}
	return float64(rows)*bandRow + 4
}

// kinds draws a row for each kind of fault, with its name and number on the
// left, that is the higher the more of them are in effect.
func kinds(c *svg.Canvas, a axis, all []band, y float64) float64 {
	var order []string
	groups := map[string][]band{}
	for _, b := range all {
		if groups[b.Do] == nil {
			order = append(order, b.Do)
		}
		groups[b.Do] = append(groups[b.Do], b)
	}
	for i, do := range order {
		top := y + float64(i)*bandRow
		c.Text(left-8, top+12, svg.End, "label", fmt.Sprintf("%s × %d", do, len(groups[do])))
		c.Line(left, top+bandRow-1, right, top+bandRow-1, "grid")
		values := a.inEffect(groups[do])
		largest := slices.Max(values)
		a.spark(c, top+2, bandRow-3, values, largest, "fault f-"+family4(do))
		c.Text(right+14, top+12, svg.Start, "axis", fmt.Sprintf("at most %.0f at once", largest))
	}
	return float64(len(order))*bandRow + 4
}

// inEffect returns how many bands there were at once, at most, in each bucket.
func (a axis) inEffect(all []band) []float64 {
	type edge struct {
		at   time.Duration
		step float64
	}
	var edges []edge
	for _, b := range all {
		edges = append(edges, edge{b.from, 1}, edge{max(b.to, b.from+1), -1})
	}
	slices.SortFunc(edges, func(x, y edge) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.step, y.step)) })
	values, now := make([]float64, a.n), 0.0
	for i, e := range edges {
		now += e.step
		if i+1 == len(edges) || edges[i+1].at == e.at {
			continue
		}
		for b := a.index(e.at); b <= a.index(edges[i+1].at-1); b++ {
			values[b] = max(values[b], now)
		}
	}
	return values
}

// shade draws the times of faults behind a plot. A node that never comes back
// disturbs only at first.
func shade(c *svg.Canvas, a axis, all []band, top, bottom float64) {
	short := slices.Clone(all)
	for i, b := range short {
		if b.Until < 0 && !slices.Contains(lasting, b.Do) {
			short[i].to = min(b.to, b.from+Nearby)
		}
	}
	var p svg.Path
	for _, s := range merge(a, short) {
		p.Box(s[0], top, s[1]-s[0], bottom-top)
	}
	c.Path(&p, "shade", "")
}

// merge returns the stretches of the canvas that bands cover, none touching
// another.
func merge(a axis, all []band) [][2]float64 {
	var out [][2]float64
	for _, b := range all {
		x0, x1 := a.x(b.from), a.x(b.to)
		x1 = max(x1, x0+1.5)
		if n := len(out); n > 0 && x0 <= out[n-1][1]+0.2 {
			out[n-1][1] = max(out[n-1][1], x1)
			continue
		}
		out = append(out, [2]float64{x0, x1})
	}
	return out
}

// phases draws where the workload begins and where the liveness phase does,
// with text above top.
func phases(c *svg.Canvas, a axis, h *history.History, top, bottom float64) {
	last := left
	for _, p := range []struct {
		at   time.Duration
		text string
	}{{h.Start, "workload begins"}, {h.Safety, "all healed: liveness phase"}} {
		if p.at <= 0 || p.at > a.end {
			continue
		}
		x := a.x(p.at)
		c.Line(x, top-12, x, bottom, "phase")
		if x+3 >= last {
			c.FitText(x+4, top-4, wide-x-6, smallSize, svg.Start, "small quiet", p.text)
			last = x + 4 + svg.Width(p.text, smallSize)
		}
	}
}

// family4 sorts actions into the four that have a look of their own.
func family4(do string) string {
	switch do {
	case "crash", "silence", "stop":
		return "away"
	case "pause":
		return "frozen"
	case "cut", "clog", "degrade", "corrupt":
		return "links"
	case "start", "restart", "resume", "mend", "unclog", "heal":
		return "back"
	}
	return "other"
}

// when says in words when a fault was in effect.
func when(b band) string {
	switch {
	case b.point():
		return "at " + clock(b.from)
	case b.Until < 0:
		return "from " + clock(b.from) + ", never undone"
	}
	return "from " + clock(b.from) + " to " + clock(b.to)
}

// clock writes a time of the run.
func clock(t time.Duration) string {
	if t < 0 {
		return "never"
	}
	return fmt.Sprintf("%.3f s", t.Seconds())
}
