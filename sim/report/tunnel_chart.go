// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"

	"github.com/arke-mesh/arke/sim/report/internal/svg"
)

const (
	maxTunnelLines = 8
	tunnelStrip    = 28.0
	tunnelHeight   = 20 + 3*tunnelStrip + strip + 14
)

func (l *tunnelLine) height() float64 { return tunnelHeight }

// draw draws how many tunnels of one work were open, the bytes that they
// delivered each way, and which did not end well.
func (l *tunnelLine) draw(c *svg.Canvas, a axis, y float64) {
	c.FitText(left, y+13, right-left, textSize, svg.Start, "label haloed",
		fmt.Sprintf("%s: %s, of which %s ended well", l.work, plural(l.tunnels, "tunnel"), svg.Grouped(l.done)))
	y += 20
	for _, s := range []struct {
		name, class, text string
		values            []float64
	}{
		{"open", "area", "at most " + svg.Grouped(int(slices.Max(l.open))) + " at once", l.open},
		{"to the member", "lane lbulk", a.rate(l.forth, l.total[0]), l.forth},
		{"to the caller", "lane lbulk", a.rate(l.back, l.total[1]), l.back},
	} {
		c.Text(left-8, y+18, svg.End, "label", s.name)
		a.spark(c, y+2, tunnelStrip-4, s.values, slices.Max(s.values), s.class)
		c.Line(left, y+tunnelStrip-2, right, y+tunnelStrip-2, "grid")
		c.Text(right+14, y+18, svg.Start, "axis", s.text)
		y += tunnelStrip
	}
	badStrip(c, a, y, "ended badly", "ended badly", fmt.Sprintf("%s, %s of them never opened", svg.Grouped(l.bad), svg.Grouped(l.refused)), l.ends)
}

// rate says how fast bytes passed, and how many there were.
func (a axis) rate(values []float64, total float64) string {
	return "at most " + svg.Size(slices.Max(values)/a.bucket.Seconds()) + "/s, " + svg.Size(total) + " in all"
}
