// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report/internal/markup"
	"github.com/arke-mesh/arke/sim/report/internal/svg"
)

const (
	memberRow  = 34.0
	memberRows = 30 // shown one by one; the others share a row
)

// memberLine is a row of the members' chart.
type memberLine struct {
	seat
	name    string
	rate    []float64 // requests by bucket
	total   int
	share   float64
	tenures []history.Tenure
}

// memberLines counts what each member handled over time, in the order of
// clusters and nodes.
func memberLines(a axis, h *history.History, all []Member) []*memberLine {
	at := map[seat]*memberLine{}
	var lines []*memberLine
	for _, m := range all {
		l := &memberLine{seat: seat{m.Cluster, m.Node}, name: m.Node, rate: make([]float64, a.n), total: m.Requests, share: m.Share}
		at[l.seat] = l
		lines = append(lines, l)
	}
	for _, t := range h.Tenures {
		l := at[seat{t.Cluster, t.Node}]
		l.tenures = append(l.tenures, t)
	}
	for i := range h.Runs {
		if r := &h.Runs[i]; r.Tenure >= 0 && r.Tenure < len(h.Tenures) {
			t := &h.Tenures[r.Tenure]
			at[seat{t.Cluster, t.Node}].rate[a.index(r.Began)]++
		}
	}
	return lines
}

// pickMembers keeps the members that are worth a row: those that faults hit,
// then the busiest and the idlest. The others become one row, their average.
func pickMembers(lines []*memberLine, weight map[string]float64) (shown []*memberLine, rest *memberLine) {
	if len(lines) <= memberRows {
		return lines, nil
	}
	order := slices.Clone(lines)
	slices.SortStableFunc(order, func(x, y *memberLine) int {
		return cmp.Compare(weight[y.node], weight[x.node])
	})
	keep := map[*memberLine]bool{}
	hit := 0
	for _, l := range order {
		if weight[l.node] > 0 && hit < memberRows-6 {
			keep[l] = true
			hit++
		}
	}
	slices.SortStableFunc(order, func(x, y *memberLine) int { return cmp.Compare(y.total, x.total) })
	for i := 0; len(keep) < memberRows; i++ {
		keep[order[i/2]] = true // the busiest and, by turns, the idlest
		if i%2 == 1 {
			keep[order[len(order)-1-i/2]] = true
		}
	}
	rest = &memberLine{rate: make([]float64, len(lines[0].rate))}
	n := 0
	for _, l := range lines {
		if keep[l] {
			shown = append(shown, l)
			continue
		}
		n++
		rest.total += l.total
		rest.share += l.share
		for i, v := range l.rate {
			rest.rate[i] += v
		}
	}
	for i := range rest.rate {
		rest.rate[i] /= float64(n)
	}
	rest.name = fmt.Sprintf("%d others", n)
	return shown, rest
}

// memberChart draws a row for each member: when it was registered, and how
// many requests it handled. All rows have the same scale.
func memberChart(a axis, h *history.History, lines []*memberLine, rest *memberLine, all []band) (markup.Node, string) {
	rows := lines
	if rest != nil {
		rows = append(slices.Clone(lines), rest)
	}
	largest := 0.0
	for _, l := range rows {
		largest = max(largest, slices.Max(l.rate))
	}
	clusters := 1 // in the order of clusters, so that each has one heading
	for i := 1; i < len(lines); i++ {
		if lines[i].cluster != lines[i-1].cluster {
			clusters++
		}
	}
	c := a.canvas(0, "Requests that each member handled over time")
	c.Text(right+14, 12, svg.Start, "small quiet", "requests, share of the cluster's")
	a.ticks(c, 0, memberRow*float64(len(rows))+18*float64(clusters)+2)
	y, cluster := 0.0, ""
	for _, l := range rows {
		if l.cluster != cluster && l != rest {
			cluster = l.cluster
			c.FitText(left, y+13, 500, textSize, svg.Start, "label", "cluster "+cluster)
			y += 18
		}
		memberRowAt(c, a, l, l == rest, y, largest, all)
		y += memberRow
	}
	c.Grow(y + 24)
	return c.Node(), fmt.Sprintf("Every row is %s requests per second high.", svg.Amount(largest/a.bucket.Seconds()))
}

func memberRowAt(c *svg.Canvas, a axis, l *memberLine, rest bool, y, largest float64, all []band) {
	var own []band
	for _, b := range all {
		if len(b.Nodes) <= 8 && slices.Contains(b.Nodes, l.node) {
			own = append(own, b)
		}
	}
	shade(c, a, own, y+2, y+memberRow-2)
	c.FitText(left-8, y+18, left-12, textSize, svg.End, "label", l.name)
	if rest {
		c.Text(left-8, y+30, svg.End, "small quiet", "average")
	}
	c.Line(left, y+memberRow-3, right, y+memberRow-3, "grid")
	a.spark(c, y+3, memberRow-9, l.rate, largest, "area")
	for _, t := range l.tenures {
		if t.From >= 0 {
			x0, x1 := a.x(t.From), a.x(t.Until)
			c.Rect(x0, y+memberRow-5, max(x1-x0, 1.5), 3, "tenure", "registered from "+clock(t.From)+" to "+ended(t.Until))
		}
	}
	c.Text(right+14, y+20, svg.Start, "axis", fmt.Sprintf("%s  (%.1f %%)", svg.Grouped(l.total), l.share*100))
}

// ended writes an end, or that there was none.
func ended(t time.Duration) string {
	if t < 0 {
		return "the end"
	}
	return clock(t)
}
