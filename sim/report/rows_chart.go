// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report/internal/markup"
	"github.com/arke-mesh/arke/sim/report/internal/svg"
)

// drawing is one of several below one another: of a group of subscriptions, of a
// workload's tunnels, of a cluster's views.
type drawing interface {
	height() float64
	draw(c *svg.Canvas, a axis, y float64)
}

// rowsChart draws up to most rows on one axis, with the faults above and behind
// them.
func rowsChart[D drawing](a axis, h *history.History, label string, rows []D, most int, faults []band) markup.Node {
	rows = rows[:min(len(rows), most)]
	c := a.canvas(0, label)
	top := lane(c, a, faults, 0) + 16
	bottom := top
	for _, r := range rows {
		bottom += r.height()
	}
	shade(c, a, faults, top, bottom)
	a.ticks(c, top, bottom)
	y := top
	for _, r := range rows {
		r.draw(c, a, y)
		y += r.height()
	}
	phases(c, a, h, top, bottom)
	c.Grow(bottom + 24)
	return c.Node()
}

// excerpt says that a chart does not show everything, if so.
func excerpt(most, all int, what string) string {
	if all <= most {
		return ""
	}
	return fmt.Sprintf("%d of %d %s are shown.", most, all, what)
}

// badStrip is a strip of what is rare and bad, with its sum beside it.
func badStrip(c *svg.Canvas, a axis, y float64, name, what, sum string, values []float64) {
	c.Text(left-8, y+12, svg.End, "label", name)
	marks(c, a, values, y, what)
	c.Line(left, y+strip-2, right, y+strip-2, "grid")
	c.Text(right+14, y+12, svg.Start, "axis", sum)
}
