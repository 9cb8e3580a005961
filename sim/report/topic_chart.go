// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"

	"github.com/arke-mesh/arke/sim/report/internal/svg"
)

const (
	maxTopicLines = 8
	topicPlot     = 64.0
	topicStrip    = 24.0
	topicHeight   = 22 + topicPlot + 8 + topicStrip + strip + 14
)

func (l *topicLine) height() float64 { return topicHeight }

// draw draws how long the deliveries of one group of subscriptions took, how
// many there were, and what was reported as missing.
func (l *topicLine) draw(c *svg.Canvas, a axis, y float64) {
	c.FitText(left, y+13, right-left, textSize, svg.Start, "label haloed", l.title())
	top := y + 22
	bottom := top + topicPlot
	low, high := latencyRange(l.low, l.high)
	scale := svg.Log(low, high, bottom, top)
	latencyAxis(c, scale, low, high, bottom+textSize)
	lines(c, a, scale, l.p50, l.p99)
	c.Text(right+14, top+12, svg.Start, "axis", "time of a delivery:")
	percentileLegend(c, top+24)

	y = bottom + 8
	largest := slices.Max(l.delivered)
	c.Text(left-8, y+15, svg.End, "label", "delivered")
	a.spark(c, y, topicStrip-2, l.delivered, largest, "area")
	c.Line(left, y+topicStrip-2, right, y+topicStrip-2, "grid")
	c.Text(right+14, y+15, svg.Start, "axis", "at most "+svg.Amount(largest/a.bucket.Seconds())+"/s")

	y += topicStrip
	badStrip(c, a, y, "reported", "reported as missing", svg.Grouped(l.missed)+" missing", l.reported)
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
