// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/sim/check"
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
	return min(1.25*check.Rank(values, 980), values[len(values)-1])
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
	for i := range h.Nodes {
		if h.Nodes[i].Adversary {
			does[h.Nodes[i].Name] = "adversary"
		}
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

// laneNames are the lanes, in the order of history.Sample.
var laneNames = [4]string{"ctl", "rpc", "pub", "bulk"}

// traffic is what one node sent over time.
type traffic struct {
	rate  [4][]float64 // bytes by bucket
	total [4]float64
}

// measure spreads the bytes between two samples of a life evenly over the time
// between them.
func measure(a axis, h *history.History) map[string]*traffic {
	all := map[string]*traffic{}
	last := map[string]history.Sample{}
	births := map[string][]time.Duration{}
	for i := range h.Nodes {
		births[h.Nodes[i].Name] = append(births[h.Nodes[i].Name], h.Nodes[i].From)
	}
	for i := range h.Samples {
		s := h.Samples[i]
		t := all[s.Node]
		if t == nil {
			t = &traffic{}
			for lane := range t.rate {
				t.rate[lane] = make([]float64, a.n)
			}
			all[s.Node] = t
		}
		before, known := last[s.Node]
		last[s.Node] = s
		for lane, sent := range s.Sent {
			from := before.At
			if !known || sent < before.Sent[lane] { // another life
				before.Sent[lane] = 0
				from = birth(births[s.Node], s.At)
			}
			bytes := float64(sent - before.Sent[lane])
			t.total[lane] += bytes
			a.spread(t.rate[lane], from, s.At, bytes)
		}
	}
	return all
}

// birth returns the last of the births until a time.
func birth(all []time.Duration, at time.Duration) time.Duration {
	var last time.Duration
	for _, b := range all {
		if b <= at {
			last = max(last, b)
		}
	}
	return last
}

// weights says how directly faults hit each node: a fault of one node counts
// one, a fault of a hundred a hundredth for each.
func weights(h *history.History) map[string]float64 {
	w := map[string]float64{}
	for _, f := range h.Faults {
		for _, n := range f.Nodes {
			w[n] += 1 / float64(len(f.Nodes))
		}
	}
	return w
}

// pickNodes keeps at most n nodes: half of them those that faults hit most
// directly, then members, callers and some others. The result is in the order
// of names.
func pickNodes(h *history.History, n int) []string {
	all := names(h)
	if len(all) <= n {
		return all
	}
	role := map[string]int{} // 3 a member, 2 a caller, 1 neither
	for i := range h.Requests {
		role[h.Requests[i].Caller] = 2
	}
	for _, t := range h.Tenures {
		role[t.Node] = 3
	}
	weight := weights(h)
	// Among nodes that were hit as directly, members say most.
	slices.SortStableFunc(all, func(x, y string) int {
		return cmp.Or(cmp.Compare(weight[y], weight[x]), cmp.Compare(role[y], role[x]))
	})
	kept := map[string]bool{}
	keep := func(most int, fits func(name string) bool) {
		for _, name := range all {
			if most > 0 && len(kept) < n && !kept[name] && fits(name) {
				kept[name] = true
				most--
			}
		}
	}
	keep((n+1)/2, func(name string) bool { return weight[name] > 0 })
	keep((n+3)/4, func(name string) bool { return role[name] == 3 })
	keep((n+7)/8, func(name string) bool { return role[name] == 2 })
	keep(n, func(string) bool { return true })
	return slices.SortedFunc(maps.Keys(kept), natural)
}

// cellRows is into how many steps the latencies of replies are cut.
const cellRows = 52

// latencyChart is how long replies took, by the time of sending, and below them
// the other outcomes and how many were sent.
func latencyChart(a axis, h *history.History) chart {
	c := chart{About: "Latency of replies over time, with the faults", Faults: true}
	if len(h.Requests) == 0 {
		return c
	}
	lost, sent, took := 0, make([]float64, a.n), make([][]time.Duration, a.n)
	bad, counts := map[string][]float64{}, map[string]int{}
	for i := range h.Requests {
		r := &h.Requests[i]
		at := a.index(r.Sent)
		sent[at]++
		if r.Lost {
			lost++
			continue
		}
		o := check.Outcome(r)
		if check.Good(o) {
			took[at] = append(took[at], max(r.Ended-r.Sent, time.Microsecond))
			continue
		}
		if bad[o] == nil {
			bad[o] = make([]float64, a.n)
		}
		bad[o][at]++
		counts[o]++
	}
	replies := percentileRow(took, 260)
	replies.Label, replies.CellRows, replies.Cells = "replies", cellRows, cells(took, replies.Low, replies.High)
	c.Rows = []row{replies}
	for _, o := range byCount(counts) {
		c.Rows = append(c.Rows, row{Kind: marks, Label: words(o), Note: grouped(counts[o]) + " " + words(o), Height: 17, Series: one(bad[o])})
	}
	rate := a.perSecond(sent)
	c.Rows = append(c.Rows, row{Kind: area, Label: "sent", Note: atMost(rate, "/s"), Unit: "/s", Height: 30, Series: one(rate)})
	c.Caption = "Requests by the time at which they were sent, " + inMillis(millis(a.bucket)) + " to a column; latency on a logarithmic scale. " +
		"Below: requests that ended otherwise than with a reply."
	if lost > 0 {
		c.Caption += " Left out: " + several(lost, "request") + " whose own caller was stopped, lost or paused meanwhile."
	}
	return c
}

// percentileRow is a row with percentiles of what took so long in each bucket,
// which it sorts.
func percentileRow(took [][]time.Duration, height int) row {
	p50, p99 := make([]float64, len(took)), make([]float64, len(took))
	low, high := 0.0, 0.0
	for i, t := range took {
		if len(t) == 0 {
			continue
		}
		slices.Sort(t)
		p50[i], p99[i] = millis(check.Rank(t, 500)), millis(check.Rank(t, 990))
		if first := millis(t[0]); low == 0 || first < low {
			low = first
		}
		high = max(high, millis(t[len(t)-1]))
	}
	low, high = latencyRange(low, high)
	return row{Kind: lines, Unit: "ms", Height: height, Low: low, High: high, Series: []series{{"p99", p99}, {"p50", p50}}}
}

// cells counts the replies of each bucket by steps of their logarithm.
func cells(took [][]time.Duration, low, high float64) (all []int) {
	for i, t := range took {
		var count [cellRows]int
		for _, d := range t {
			part := (math.Log10(millis(d)) - math.Log10(low)) / (math.Log10(high) - math.Log10(low))
			count[min(max(int(part*cellRows), 0), cellRows-1)]++
		}
		for step, n := range count {
			if n > 0 {
				all = append(all, i, step, n)
			}
		}
	}
	return all
}
