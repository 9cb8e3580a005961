// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"

	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report/internal/markup"
	"github.com/arke-mesh/arke/sim/report/internal/svg"
)

const (
	maxTopicLines = 8
	topicPlot     = 64.0
	topicStrip    = 24.0
	topicHeight   = 22 + topicPlot + 8 + topicStrip + strip + 14
)

// topicChart draws, for each group of subscriptions, how long deliveries took,
// how many there were, and what was reported as missing.
func topicChart(a axis, h *history.History, all []*topicLine, faults []band) markup.Node {
	c := a.canvas(0, "Deliveries of topics over time")
	y := lane(c, a, faults, 0) + 16
	all = all[:min(len(all), maxTopicLines)]
	top, end := y, y+topicHeight*float64(len(all))
	shade(c, a, faults, top, end)
	a.ticks(c, top, end)
	for _, l := range all {
		l.draw(c, a, y)
		y += topicHeight
	}
	phases(c, a, h, top, y)
	c.Grow(y + 24)
	return c.Node()
}

func (l *topicLine) draw(c *svg.Canvas, a axis, y float64) {
	c.FitText(left, y+13, right-left, textSize, svg.Start, "label haloed", l.title())
	top := y + 22
	bottom := top + topicPlot
	low, high := latencyRange(l.low, l.high)
	scale := svg.Log(low, high, bottom, top)
	labelled := bottom + textSize
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
	lines(c, a, scale, l.p50, l.p99)
	c.Text(right+14, top+12, svg.Start, "axis", "time of a delivery:")
	c.Line(right+14, top+24, right+36, top+24, "line p99")
	c.Text(right+42, top+28, svg.Start, "axis", "p99 (dashed)")
	c.Line(right+14, top+40, right+36, top+40, "line p50")
	c.Text(right+42, top+44, svg.Start, "axis", "p50")

	y = bottom + 8
	largest := slices.Max(l.delivered)
	c.Text(left-8, y+15, svg.End, "label", "delivered")
	a.spark(c, y, topicStrip-2, l.delivered, largest, "area")
	c.Line(left, y+topicStrip-2, right, y+topicStrip-2, "grid")
	c.Text(right+14, y+15, svg.Start, "axis", "at most "+svg.Amount(largest/a.bucket.Seconds())+"/s")

	y += topicStrip
	c.Text(left-8, y+12, svg.End, "label", "reported")
	marks(c, a, l.reported, y, "reported as missing")
	c.Line(left, y+strip-2, right, y+strip-2, "grid")
	c.Text(right+14, y+12, svg.Start, "axis", svg.Grouped(l.missed)+" missing")
}

func (l *topicLine) title() string {
	queue := ""
	if l.queue != "" {
		queue = ", queue " + l.queue
	}
	return fmt.Sprintf("%s: %s to %s%s, %s", l.name, plural(l.subscriptions, "subscription"), l.pattern, queue, deliveries(l.came))
}

func deliveries(n int) string {
	if n == 1 {
		return "1 delivery"
	}
	return svg.Grouped(n) + " deliveries"
}
