// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"time"

	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report/internal/svg"
)

// All drawings with a time axis have the same width and margins, so that what
// is above one another happened at the same time.
const (
	wide  = 1120.0
	left  = 130.0
	right = 920.0

	maxBuckets = 160 // of time, in which requests are summed up
)

// Sizes of text, as the style sheet has them.
const (
	textSize  = 11.0
	smallSize = 9.5
)

// axis is the run's time on the page.
type axis struct {
	svg.Scale
	end    time.Duration
	bucket time.Duration
	n      int // buckets
}

func newAxis(h *history.History) axis {
	end := max(h.End, h.Safety, time.Second)
	bucket := svg.Step(end, maxBuckets)
	return axis{
		Scale: svg.Linear(0, float64(end), left, right), end: end, bucket: bucket,
		n: int((end + bucket - 1) / bucket),
	}
}

// x returns where a time is; negative times, which mean "never", at the end.
func (a axis) x(t time.Duration) float64 {
	if t < 0 {
		return right
	}
	return a.At(float64(t))
}

// index returns the bucket of a time.
func (a axis) index(t time.Duration) int {
	return min(max(int(t/a.bucket), 0), a.n-1)
}

// mid returns the middle of a bucket.
func (a axis) mid(i int) float64 {
	return (a.x(time.Duration(i)*a.bucket) + a.x(time.Duration(i+1)*a.bucket)) / 2
}

// ticks draws the axis below y, and lines up to top.
func (a axis) ticks(c *svg.Canvas, top, y float64) {
	for _, t := range svg.TimeTicks(a.end, 12) {
		x := a.At(t.At)
		c.Line(x, top, x, y+4, "grid")
		c.Text(x, y+15, svg.Middle, "axis", t.Label)
	}
	c.Line(left, y, right, y, "edge")
}

// canvas returns a canvas that the page's script can relate to time.
func (a axis) canvas(height float64, label string) *svg.Canvas {
	c := svg.New(wide, height, label)
	c.Time(fmt.Sprintf("%.0f %.0f %d", left, right, a.end.Milliseconds()))
	return c
}

// spark draws values, one for each bucket, as an area that is h high at the
// largest.
func (a axis) spark(c *svg.Canvas, y, h float64, values []float64, largest float64, class string) {
	if largest <= 0 {
		return
	}
	var p svg.Path
	for i := 0; i < len(values); i++ {
		if values[i] <= 0 {
			continue
		}
		from := i
		p.Move(a.x(time.Duration(from)*a.bucket), y+h)
		for ; i < len(values) && values[i] > 0; i++ {
			p.Up(y + h - max(h*min(values[i]/largest, 1), 0.6))
			p.Across(a.x(time.Duration(i+1) * a.bucket))
		}
		p.Up(y + h)
		p.Close()
	}
	c.Path(&p, class, "")
}
