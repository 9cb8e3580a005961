// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"
	"time"

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
	for i := range h.Deliveries {
		d := &h.Deliveries[i]
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
	for i := range h.Gaps {
		if g := &h.Gaps[i]; g.Subscription >= 0 && g.Subscription < len(of) {
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
	return fmt.Sprintf("%s: %s to %s%s, %s", g.name, plural(g.subscriptions, "subscription"), g.pattern, queue, plural(g.came, "delivery"))
}
