// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
)

// maxGroups is how many groups of subscriptions are drawn.
const maxGroups = 8

// topicGroup is what one group of subscriptions, an entry of the scenario, got
// over time.
type topicGroup struct {
	name, pattern, queue string
	subscriptions        int

	delivered, reported []float64         // by bucket of when they came
	took                [][]time.Duration // the deliveries, by bucket of when they came
	came, missed        int
}

// topicGroups sums up what each group of subscriptions got, in the order of
// their names.
func topicGroups(a axis, h *history.History) []*topicGroup {
	groups := map[string]*topicGroup{}
	of := make([]*topicGroup, len(h.Subscriptions))
	for i := range h.Subscriptions {
		s := &h.Subscriptions[i]
		g := groups[s.Name]
		if g == nil {
			g = &topicGroup{
				name: s.Name, pattern: s.Pattern, queue: s.Queue,
				delivered: make([]float64, a.n), reported: make([]float64, a.n), took: make([][]time.Duration, a.n),
			}
			groups[s.Name] = g
		}
		g.subscriptions++
		of[i] = g
	}
	sent := make(map[uint64]time.Duration, len(h.Publications))
	for i := range h.Publications {
		sent[h.Publications[i].ID] = h.Publications[i].Sent
	}
	for _, d := range h.Deliveries {
		if d.Subscription < 0 || d.Subscription >= len(of) {
			continue
		}
		g, at := of[d.Subscription], a.index(d.At)
		g.delivered[at]++
		g.came++
		if from, known := sent[d.Publication]; known {
			g.took[at] = append(g.took[at], max(d.At-from, time.Microsecond))
		}
	}
	for _, g := range h.Gaps {
		if g.Subscription >= 0 && g.Subscription < len(of) {
			of[g.Subscription].reported[a.index(g.At)] += float64(g.Missed)
			of[g.Subscription].missed += int(g.Missed)
		}
	}
	var all []*topicGroup
	for _, name := range slices.SortedFunc(maps.Keys(groups), natural) {
		all = append(all, groups[name])
	}
	return all
}

// topicChart is how long the deliveries of each group took, how many there
// were, and what was reported as missing.
func topicChart(a axis, h *history.History) chart {
	groups := topicGroups(a, h)
	c := chart{About: "Deliveries of topics over time", Faults: true}
	c.Caption = "What each group of subscriptions got, by the time at which it came, " + inMillis(millis(a.bucket)) + " to a column; how long it took since it was published, " +
		"on a logarithmic scale. “Reported” are messages of which a subscription was told that it missed them, when it was told." + excerpt(maxGroups, len(groups), "groups")
	for _, g := range groups[:min(len(groups), maxGroups)] {
		took := percentileRow(g.took, 80)
		took.Label, took.Note = "time of a delivery", "p50 and p99"
		rate := a.perSecond(g.delivered)
		c.Rows = append(c.Rows, row{Kind: heading, Label: g.title()}, took,
			row{Kind: area, Label: "delivered", Note: atMost(rate, "/s"), Unit: "/s", Height: 24, Series: one(rate)},
			row{Kind: marks, Label: "reported", Note: grouped(g.missed) + " missing", Height: 17, Series: one(g.reported)})
	}
	return c
}

func (g *topicGroup) title() string {
	queue := ""
	if g.queue != "" {
		queue = ", queue " + g.queue
	}
	return fmt.Sprintf("%s: %s to %s%s, %s", g.name, several(g.subscriptions, "subscription"), g.pattern, queue, several(g.came, "delivery"))
}

// maxTunnelWorks is of how many workloads the tunnels are drawn.
const maxTunnelWorks = 8

// tunnelWork is what became of the tunnels of one workload over time.
type tunnelWork struct {
	work                   string
	tunnels, done, refused int // refused were never opened

	open        []float64 // at most, by bucket
	forth, back []float64 // bytes, by bucket
	total       [2]float64
	ends        []float64 // that were not good, by bucket; the refusals too
	bad         int
}

// tunnelWorks sums up the tunnels of each workload, in the order of their names.
// Those whose caller's own node was hit are drawn, but did not end badly.
func tunnelWorks(a axis, h *history.History) []*tunnelWork {
	works := map[string]*tunnelWork{}
	of := func(work string) *tunnelWork {
		if works[work] == nil {
			works[work] = &tunnelWork{work: work, forth: make([]float64, a.n), back: make([]float64, a.n), ends: make([]float64, a.n)}
		}
		return works[work]
	}
	lived := map[*tunnelWork][]band{}
	for i := range h.Tunnels {
		t := &h.Tunnels[i]
		w := of(t.Work)
		w.tunnels++
		until := t.Ended
		if until < 0 {
			until = a.end
		}
		switch {
		case t.Opened < 0 && !t.Lost:
			w.refused++
		case t.Opened >= 0:
			lived[w] = append(lived[w], band{from: t.Opened, to: until})
		}
		if t.Outcome == "done" {
			w.done++
		} else if !t.Lost {
			w.ends[a.index(until)]++
			w.bad++
		}
	}
	for _, c := range h.Carried {
		w := of(c.Work)
		w.total[0] += float64(c.Forth)
		w.total[1] += float64(c.Back)
		a.spread(w.forth, c.At, c.At+history.CarriedEvery, float64(c.Forth))
		a.spread(w.back, c.At, c.At+history.CarriedEvery, float64(c.Back))
	}
	var all []*tunnelWork
	for _, work := range slices.SortedFunc(maps.Keys(works), natural) {
		works[work].open = a.inEffect(lived[works[work]])
		all = append(all, works[work])
	}
	return all
}

// tunnelChart is how many tunnels of each workload were open, the bytes that
// came out of them each way, and which did not end well.
func tunnelChart(a axis, h *history.History) chart {
	works := tunnelWorks(a, h)
	c := chart{About: "Open tunnels and their bytes over time", Faults: true}
	c.Caption = "Tunnels that were open, and the bytes of the messages that came out of them, by the time at which they did. " +
		"“Ended badly” are those that broke, were reset or could not be opened, without those whose own caller was stopped, lost or paused." +
		excerpt(maxTunnelWorks, len(works), "workloads")
	bytes := func(label string, values []float64, total float64) row {
		rate := a.perSecond(values)
		return row{Kind: area, Label: label, Note: atMost(rate, "B/s") + ", " + size(total) + " in all", Unit: "B/s", Look: "bulk", Height: 26, Series: one(rate)}
	}
	for _, w := range works[:min(len(works), maxTunnelWorks)] {
		c.Rows = append(c.Rows,
			row{Kind: heading, Label: fmt.Sprintf("%s: %s, of which %s ended well", w.work, several(w.tunnels, "tunnel"), grouped(w.done))},
			row{Kind: area, Label: "open", Note: atMost(w.open, " at once"), Height: 26, Series: one(w.open)},
			bytes("to the member", w.forth, w.total[0]),
			bytes("to the caller", w.back, w.total[1]),
			row{Kind: marks, Label: "ended badly", Note: fmt.Sprintf("%s, %s of them never opened", grouped(w.bad), grouped(w.refused)), Height: 17, Series: one(w.ends)})
	}
	return c
}

const (
	maxViewed = 6     // clusters that are drawn
	maxSteps  = 1_000 // into so many moments a run is cut at most: what a view was like in each
)

// wrongs are what a step counts besides right views.
var wrongs = [...]struct {
	name  string
	value func(check.ViewStep) int
}{
	{"missing", func(s check.ViewStep) int { return s.Missing }},
	{"dead", func(s check.ViewStep) int { return s.Dead }},
	{"suspect", func(s check.ViewStep) int { return s.Suspect }},
	{"ejected", func(s check.ViewStep) int { return s.Ejected }},
	{"unreachable", func(s check.ViewStep) int { return s.Unreachable }},
}

// viewChart is the share of each cluster's views that are right, and below it
// what was wrong with the others.
func viewChart(a axis, h *history.History) chart {
	all := check.ViewHistories(h)
	c := chart{About: "Share of right views over time", Faults: true}
	c.Caption = "A view is what one caller believes about one cluster. It is right if it takes every registered member to be alive, and nobody who is gone or leaving: " +
		"live and ejected members count as alive, suspect and unreachable ones don’t. “missing” and “dead” count the entries that are wrong, over all views." +
		excerpt(maxViewed, len(all), "clusters")
	for _, v := range all[:min(len(all), maxViewed)] {
		steps := moments(v.Steps, max(a.end/maxSteps, 1))
		var at, right numbers
		for _, s := range steps {
			at = append(at, millis(s.At))
			right = append(right, rightShare(s))
		}
		r := row{Kind: share, Label: "right views", Unit: "%", Height: 64, High: 100, At: at, Series: one(right)}
		if n := len(steps); n > 0 {
			r.Note = fmt.Sprintf("at the end %d of %d", steps[n-1].Right, steps[n-1].Watching)
		}
		c.Rows = append(c.Rows, row{Kind: heading, Label: fmt.Sprintf("cluster %s: watched in %s, %s", v.Cluster, several(v.Observers, "life"), several(v.Members, "registration"))}, r)
		for _, w := range wrongs {
			values := make([]float64, len(steps))
			for i, s := range steps {
				values[i] = float64(w.value(s))
			}
			if len(values) > 0 && slices.Max(values) > 0 {
				c.Rows = append(c.Rows, row{Kind: area, Label: w.name, Note: "at most " + grouped(int(slices.Max(values))), Look: "bad", Height: 17, At: at, Series: one(values)})
			}
		}
	}
	return c
}

// rightShare is how many of a hundred views are right.
func rightShare(s check.ViewStep) float64 {
	if s.Watching == 0 {
		return 100
	}
	return 100 * float64(s.Right) / float64(s.Watching)
}

// moments keeps at most two steps of each moment: the worst that was in it, and
// the last.
func moments(steps []check.ViewStep, length time.Duration) (out []check.ViewStep) {
	for i := 0; i < len(steps); {
		moment, worst := steps[i].At/length, steps[i]
		for i++; i < len(steps) && steps[i].At/length == moment; i++ {
			s := steps[i]
			if rightShare(s) < rightShare(worst) {
				worst.Watching, worst.Right = s.Watching, s.Right
			}
			worst.Missing, worst.Dead = max(worst.Missing, s.Missing), max(worst.Dead, s.Dead)
			worst.Suspect, worst.Ejected, worst.Unreachable = max(worst.Suspect, s.Suspect), max(worst.Ejected, s.Ejected), max(worst.Unreachable, s.Unreachable)
		}
		out = append(out, worst)
		if last := steps[i-1]; last.At > worst.At {
			out = append(out, last)
		}
	}
	return out
}
