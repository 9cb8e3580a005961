// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/report/internal/markup"
	"github.com/arke-mesh/arke/sim/report/internal/svg"
)

const (
	nodeRows   = 40   // nodes that are drawn
	lifeHeight = 15.0 // of a node's bar
	laneHeight = 12.0 // of a lane below it
)

// nodeChart is the drawing of swim lanes, one for each node.
type nodeChart struct {
	a       axis
	h       *history.History
	all     []band
	traffic map[string]*traffic
	lanes   []int // that carried anything
	largest [4]float64
	callers map[string]bool
	serves  map[string][]string
}

// newNodeChart prepares the drawing of some nodes.
func newNodeChart(a axis, h *history.History, all []band, shown []string) *nodeChart {
	n := &nodeChart{a: a, h: h, all: all, traffic: measure(a, h), callers: map[string]bool{}, serves: map[string][]string{}}
	for lane := range 4 {
		var rates []float64
		for _, name := range shown {
			if t := n.traffic[name]; t != nil {
				rates = append(rates, t.rate[lane]...)
			}
		}
		n.largest[lane] = usual(rates)
		if n.largest[lane] > 0 {
			n.lanes = append(n.lanes, lane)
		}
	}
	for i := range h.Requests {
		n.callers[h.Requests[i].Caller] = true
	}
	for _, t := range h.Tenures {
		if !slices.Contains(n.serves[t.Node], t.Cluster) {
			n.serves[t.Node] = append(n.serves[t.Node], t.Cluster)
		}
	}
	return n
}

// usual returns a height that hardly any value exceeds. A node that starts
// sends so much at once that the largest value would make all others flat.
func usual(values []float64) float64 {
	values = slices.DeleteFunc(values, func(v float64) bool { return v <= 0 })
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return min(1.25*rank(values, 980), values[len(values)-1])
}

// draw returns the drawing and what its scales are.
func (n *nodeChart) draw(shown []string) (markup.Node, string) {
	c := n.a.canvas(0, "Life of each node, the faults that hit it, and the bytes that it sent on each lane")
	y := 4.0
	bottom := y
	for _, name := range shown {
		bottom += n.rowHeight(name)
	}
	n.a.ticks(c, 0, bottom)
	for _, name := range shown {
		n.row(c, name, y)
		y += n.rowHeight(name)
	}
	c.Grow(y + 24)
	var scales []string
	for _, lane := range n.lanes {
		scales = append(scales, laneNames[lane]+" "+svg.Size(n.largest[lane]/n.a.bucket.Seconds())+"/s")
	}
	if len(scales) == 0 {
		return c.Node(), ""
	}
	return c.Node(), "Full height of a lane: " + strings.Join(scales, ", ") + "; the few higher peaks are cut off. On the right: bytes sent on it in all."
}

// rowHeight is smaller for a node that sent nothing.
func (n *nodeChart) rowHeight(name string) float64 {
	height := lifeHeight + 9
	if n.role(name) != "" {
		height = 34 // of two lines of text
	}
	if n.sent(name) {
		height = max(height, lifeHeight+laneHeight*float64(len(n.lanes))+9)
	}
	return height
}

func (n *nodeChart) sent(name string) bool {
	t := n.traffic[name]
	return t != nil && t.total != [4]float64{}
}

func (n *nodeChart) row(c *svg.Canvas, name string, y float64) {
	c.FitText(left-8, y+12, left-12, textSize, svg.End, "label", name)
	c.FitText(left-8, y+24, left-12, smallSize, svg.End, "small quiet", n.role(name))
	c.Line(0, y+n.rowHeight(name)-4, wide, y+n.rowHeight(name)-4, "grid")
	n.lives(c, name, y)
	n.hits(c, name, y)
	if !n.sent(name) {
		return
	}
	t := n.traffic[name]
	for i, lane := range n.lanes {
		top := y + lifeHeight + 2 + laneHeight*float64(i)
		n.a.spark(c, top, laneHeight-1, t.rate[lane], n.largest[lane], "lane l"+laneNames[lane])
		c.Text(right+14, top+laneHeight-2, svg.Start, "small", laneNames[lane])
		c.Text(right+100, top+laneHeight-2, svg.End, "small", svg.Size(t.total[lane]))
	}
}

func (n *nodeChart) role(name string) string {
	switch serves := n.serves[name]; {
	case len(serves) > 0:
		return "serves " + strings.Join(serves, ", ")
	case n.callers[name]:
		return "caller"
	}
	return ""
}

// lives draws when the node was up, and how each life ended.
func (n *nodeChart) lives(c *svg.Canvas, name string, y float64) {
	var all []history.Node
	for _, l := range n.h.Nodes {
		if l.Name == name {
			all = append(all, l)
		}
	}
	slices.SortStableFunc(all, func(x, y history.Node) int { return int(x.From - y.From) })
	c.Line(left, y+lifeHeight/2, right, y+lifeHeight/2, "absent")
	for i, l := range all {
		x0, x1 := n.a.x(l.From), n.a.x(l.Until)
		c.Rect(x0, y, max(x1-x0, 1.5), lifeHeight, "life", fmt.Sprintf("%s: up from %s to %s", name, clock(l.From), ended(l.Until)))
		if l.Until < 0 {
			continue
		}
		c.Rect(x1-1, y-1, 2.5, lifeHeight+2, "death", name+" "+l.How+" at "+clock(l.Until))
		until := right
		if i+1 < len(all) {
			until = n.a.x(all[i+1].From)
		}
		how := l.How
		if how == "silenced" {
			how = "silent"
		}
		if svg.Width(how, smallSize) <= until-x1-5 {
			c.Text(x1+4, y+11, svg.Start, "small back haloed", how)
		}
	}
}

// hit is a stretch of time in which faults of one kind hit a node.
type hit struct {
	do       string
	from, to time.Duration
	title    string
	row      int // 0 or 1, where it overlaps another one
	shared   bool
}

// hitsOf returns what hit a node while it was up. Faults of one kind that
// overlap, such as the two directions of a cut, are one.
func hitsOf(all []band, name string) []*hit {
	var hits []*hit
	for _, b := range all {
		kind := family4(b.Do)
		if kind == "away" || kind == "back" || !slices.Contains(b.Nodes, name) {
			continue
		}
		title := label(b.Fault) + ": " + when(b)
		same := slices.IndexFunc(hits, func(h *hit) bool { return h.do == b.Do && b.from <= h.to })
		if same >= 0 {
			hits[same].to = max(hits[same].to, b.to)
			hits[same].title += "; " + title
			continue
		}
		hits = append(hits, &hit{do: b.Do, from: b.from, to: b.to, title: title})
	}
	for i, h := range hits {
		for _, o := range hits[:i] {
			if h.from < o.to {
				h.shared, o.shared = true, true
				h.row = 1 - o.row
			}
		}
	}
	return hits
}

// hits draws the faults that hit the node while it was up.
func (n *nodeChart) hits(c *svg.Canvas, name string, y float64) {
	for _, h := range hitsOf(n.all, name) {
		x0 := n.a.x(h.from)
		x1 := max(n.a.x(h.to), x0+2)
		top, height := y+1, lifeHeight-2
		if h.shared {
			height /= 2
			top += height * float64(h.row)
		}
		c.Rect(x0, top, x1-x0, height, "fault f-"+family4(h.do), h.title)
		if !h.shared {
			c.FitText(x0+3, y+11, x1-x0-4, smallSize, svg.Start, "small", h.do)
		}
	}
	if h := n.h; h.Safety > 0 && h.Safety < n.a.end {
		x := n.a.x(h.Safety)
		c.Line(x, y-2, x, y+n.rowHeight(name)-4, "phase")
	}
}
