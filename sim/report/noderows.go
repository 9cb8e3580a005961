// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// shownNodes is how many nodes are drawn.
const shownNodes = 40

// nodeChart is the life of each node, with the faults that hit it, and below it
// the bytes that it sent on each lane that carried any.
func nodeChart(a axis, h *history.History, all []band) chart {
	shown, sent, does := pickNodes(h, shownNodes), measure(a, h), roles(h)
	heights := laneHeights(a, sent, shown)
	c := chart{About: "Life of each node, the faults that hit it, and the bytes that it sent on each lane"}
	if scales := scalesOf(heights); scales != "" {
		c.Caption = "Full height of a lane: " + scales + "; the few higher peaks are cut off. On the right: bytes sent on it in all."
	}
	if all := len(names(h)); all > len(shown) {
		c.Caption += excerpt(len(shown), all, "nodes") + " Half of them are those that faults hit most directly, then members, callers and others."
	}
	for _, name := range shown {
		c.Rows = append(c.Rows, row{Kind: life, Label: name, Under: does[name], Height: 15, Bands: append(lives(a, h, name), hitBands(a, all, name)...)})
		t := sent[name]
		if t == nil || t.total == [4]float64{} {
			continue
		}
		for lane, height := range heights {
			if height > 0 && t.total[lane] > 0 {
				c.Rows = append(c.Rows, row{
					Kind: area, Note: laneNames[lane] + " " + size(t.total[lane]), Unit: "B/s", Look: laneNames[lane],
					Height: 12, High: height, Series: []series{{laneNames[lane], a.perSecond(t.rate[lane])}},
				})
			}
		}
	}
	return c
}

func scalesOf(heights [4]float64) string {
	var scales []string
	for lane, height := range heights {
		if height > 0 {
			scales = append(scales, laneNames[lane]+" "+size(height)+"/s")
		}
	}
	return strings.Join(scales, ", ")
}

// laneHeights are the rates at which each lane is drawn at its full height; 0 for
// one that carried nothing.
func laneHeights(a axis, sent map[string]*traffic, shown []string) (heights [4]float64) {
	for lane := range heights {
		var rates []float64
		for _, name := range shown {
			if t := sent[name]; t != nil {
				rates = append(rates, a.perSecond(t.rate[lane])...)
			}
		}
		heights[lane] = usual(rates)
	}
	return heights
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

// roles says what nodes are there for.
func roles(h *history.History) map[string]string {
	does, serves := map[string]string{}, map[string][]string{}
	for i := range h.Requests {
		does[h.Requests[i].Caller] = "caller"
	}
	for _, t := range h.Tenures {
		if !slices.Contains(serves[t.Node], t.Cluster) {
			serves[t.Node] = append(serves[t.Node], t.Cluster)
		}
	}
	for name, clusters := range serves {
		does[name] = "serves " + strings.Join(clusters, ", ")
	}
	return does
}

// lives are when the node was up, and how each life ended.
func lives(a axis, h *history.History, name string) (bands []stretch) {
	var all []history.Node
	for _, l := range h.Nodes {
		if l.Name == name {
			all = append(all, l)
		}
	}
	slices.SortStableFunc(all, func(x, y history.Node) int { return int(x.From - y.From) })
	for i, l := range all {
		bands = append(bands, stretch{From: a.until(l.From), To: a.until(l.Until), Look: "life", Text: name + ": up from " + clock(l.From) + " to " + ended(l.Until)})
		if l.Until < 0 {
			continue
		}
		next := a.end
		if i+1 < len(all) {
			next = all[i+1].From
		}
		how := l.How
		if how == "silenced" {
			how = "silent"
		}
		at := a.until(l.Until)
		bands = append(bands, stretch{From: at, To: at, Look: "death", Label: how, Text: name + " " + l.How + " at " + clock(l.Until), Room: a.until(next)})
	}
	return bands
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
		kind := looks(b.Do)
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

// hitBands are the faults that hit the node while it was up.
func hitBands(a axis, all []band, name string) (bands []stretch) {
	for _, h := range hitsOf(all, name) {
		s := stretch{From: a.until(h.from), To: a.until(h.to), Look: looks(h.do), Label: h.do, Text: h.title}
		if h.shared {
			s.Part = 1 + h.row
		}
		bands = append(bands, s)
	}
	return bands
}
