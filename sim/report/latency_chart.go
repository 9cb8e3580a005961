// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report/internal/markup"
	"github.com/arke-mesh/arke/sim/report/internal/svg"
)

const (
	plotHeight = 260.0
	cellRows   = 52 // rows of the latency plot in which replies are counted
	strip      = 18.0
	sentHeight = 30.0
)

// latencyRange widens the range of latencies to 1, 2 or 5 times a power of ten.
func latencyRange(low, high float64) (float64, float64) {
	if high <= 0 {
		return 1, 100
	}
	from := math.Pow(10, math.Floor(math.Log10(low)))
	for _, f := range []float64{5, 2} {
		if low >= f*from {
			from *= f
			break
		}
	}
	to := svg.NiceMax(high)
	if to == 2.5*math.Pow(10, math.Floor(math.Log10(to))) {
		to *= 2
	}
	return from, max(to, from*10)
}

// cell returns the row of a latency, 0 is the lowest.
func (s *series) cell(ms float64) int {
	share := (math.Log10(ms) - math.Log10(s.low)) / (math.Log10(s.high) - math.Log10(s.low))
	return min(max(int(share*cellRows), 0), cellRows-1)
}

// latencyChart draws how long replies took, on a logarithmic scale over the
// time of sending, with the faults above and the other outcomes below.
func latencyChart(a axis, h *history.History, s *series, all []band) markup.Node {
	c := a.canvas(0, "Latency of replies over time, with the faults")
	top := lane(c, a, all, 0) + 16
	bottom := top + plotHeight
	end := bottom + 12 + strip*float64(len(s.order)) + sentHeight
	shade(c, a, all, top, end)
	a.ticks(c, top, end)
	y := svg.Log(s.low, s.high, bottom, top)
	latencyAxis(c, y, s.low, s.high, bottom+12+strip)
	sentStrip(c, a, s, outcomeStrips(c, a, s, bottom+8)+4)
	phases(c, a, h, top, end)
	density(c, a, s, top, bottom)
	lines(c, a, y, s.p50, s.p99)
	latencyLegend(c, top)
	c.Text((left+right)/2, end+30, svg.Middle, "axis", "time since the run began")
	c.Grow(end + 36)
	return c.Node()
}

// density draws how many replies took how long: four shades, each for ten
// times as many as the one before.
func density(c *svg.Canvas, a axis, s *series, top, bottom float64) {
	var paths [4]svg.Path
	h := (bottom - top) / cellRows
	for i, column := range s.cells {
		x0 := a.x(time.Duration(i) * a.bucket)
		x1 := a.x(time.Duration(i+1) * a.bucket)
		for row, n := range column {
			if n > 0 {
				shade := min(int(math.Log10(float64(n))), 3)
				paths[shade].Box(x0, bottom-float64(row+1)*h, x1-x0, h)
			}
		}
	}
	for i := range paths {
		c.Path(&paths[i], fmt.Sprintf("d%d", i), "")
	}
}

// lines draws the percentiles; they are interrupted where there is no reply.
func lines(c *svg.Canvas, a axis, y svg.Scale, p50, p99 []float64) {
	for _, l := range []struct {
		class  string
		values []float64
	}{{"p99", p99}, {"p50", p50}} {
		var p svg.Path
		pen := false
		for i, v := range l.values {
			switch {
			case v == 0:
				pen = false
			case pen:
				p.To(a.mid(i), y.At(v))
			default:
				p.Move(a.mid(i)-0.5, y.At(v))
				p.To(a.mid(i)+0.5, y.At(v))
				pen = true
			}
		}
		c.Path(&p, "line halo", "")
		c.Path(&p, "line "+l.class, "")
	}
}

// latencyAxis draws the ticks of a logarithmic scale, with as many labels as
// have a place above another text, which stands at labelled.
func latencyAxis(c *svg.Canvas, scale svg.Scale, low, high, labelled float64) {
	for _, t := range svg.LogTicks(low, high) {
		at := scale.At(t.At)
		if t.Label == "" || labelled-at < textSize+2 {
			c.Line(left, at, right, at, "grid faint")
			continue
		}
		labelled = at
		c.Line(left-4, at, right, at, "grid")
		c.Text(left-8, at+4, svg.End, "axis", t.Label)
	}
}

// percentileLegend explains what lines has drawn.
func percentileLegend(c *svg.Canvas, y float64) {
	for i, text := range []string{"p99 (dashed)", "p50"} {
		at := y + 18*float64(i)
		c.Line(right+14, at, right+36, at, "line "+text[:3])
		c.Text(right+42, at+4, svg.Start, "axis", text)
	}
}

func latencyLegend(c *svg.Canvas, top float64) {
	x, y := right+14, top+10
	c.Text(x, y, svg.Start, "label", "replies")
	percentileLegend(c, y+16)
	for i := range 4 {
		c.Rect(x+float64(i)*30, y+52, 30, 10, fmt.Sprintf("d%d", i), "")
	}
	for i, text := range []string{"1", "10", "100", "1 k"} {
		c.Text(x+float64(i)*30, y+74, svg.Start, "small", text)
	}
	c.Text(x, y+88, svg.Start, "small", "replies, at least")
	c.Rect(x, y+104, 18, 10, "shade", "")
	c.Text(x+24, y+113, svg.Start, "axis", "a fault in effect")
}

// outcomeStrips draws a row for each outcome other than a reply, and returns
// where they end.
func outcomeStrips(c *svg.Canvas, a axis, s *series, y float64) float64 {
	for _, name := range s.order {
		c.Text(left-8, y+12, svg.End, "label", words(name))
		c.Line(left, y+strip-2, right, y+strip-2, "grid")
		marks(c, a, s.bad[name], y, words(name))
		c.Text(right+14, y+13, svg.Start, "axis", svg.Grouped(s.counts[name])+" "+words(name))
		y += strip
	}
	return y
}

// marks draws what is rare, a bar for each bucket that has any, in a strip that
// begins at y.
func marks(c *svg.Canvas, a axis, values []float64, y float64, what string) {
	largest := slices.Max(values)
	for i, v := range values {
		if v <= 0 {
			continue
		}
		// Even one must be seen; a hundred times as many is three times as high.
		height := min(5+(strip-8)*math.Log10(v)/math.Max(math.Log10(largest), 1), strip-3)
		x0, x1 := a.x(time.Duration(i)*a.bucket), a.x(time.Duration(i+1)*a.bucket)
		c.Rect(x0+0.3, y+strip-2-height, max(x1-x0-0.6, 2), height, "bad",
			fmt.Sprintf("%s: %.0f %s", clock(time.Duration(i)*a.bucket), v, what))
	}
}

// sentStrip draws the rate of requests.
func sentStrip(c *svg.Canvas, a axis, s *series, y float64) {
	largest := 0.0
	for _, v := range s.sent {
		largest = max(largest, v)
	}
	c.Text(left-8, y+18, svg.End, "label", "sent")
	a.spark(c, y, sentHeight, s.sent, largest, "area")
	c.Text(right+14, y+18, svg.Start, "axis", "at most "+svg.Amount(largest/a.bucket.Seconds())+"/s")
}
