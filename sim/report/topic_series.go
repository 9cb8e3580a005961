// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"maps"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// topicLine is what one group of subscriptions, an entry of the scenario, got
// over time.
type topicLine struct {
	name, pattern, queue string
	subscriptions        int

	delivered, reported []float64 // by bucket of when they came
	p50, p99            []float64 // of the deliveries, in milliseconds; 0 = none came
	came, missed        int
	low, high           float64 // of the deliveries, in milliseconds
}

// topicLines sums up what each group of subscriptions got, in the order of
// their names.
func topicLines(a axis, h *history.History) []*topicLine {
	lines := map[string]*topicLine{}
	of := make([]*topicLine, len(h.Subscriptions))
	for i := range h.Subscriptions {
		s := &h.Subscriptions[i]
		l := lines[s.Name]
		if l == nil {
			l = &topicLine{
				name: s.Name, pattern: s.Pattern, queue: s.Queue,
				delivered: make([]float64, a.n), reported: make([]float64, a.n), p50: make([]float64, a.n), p99: make([]float64, a.n),
			}
			lines[s.Name] = l
		}
		l.subscriptions++
		of[i] = l
	}
	sent := make(map[uint64]time.Duration, len(h.Publications))
	for i := range h.Publications {
		sent[h.Publications[i].ID] = h.Publications[i].Sent
	}
	took := map[*topicLine][][]time.Duration{}
	for i := range h.Deliveries {
		d := &h.Deliveries[i]
		if d.Subscription < 0 || d.Subscription >= len(of) {
			continue
		}
		l, at := of[d.Subscription], a.index(d.At)
		l.delivered[at]++
		l.came++
		if from, known := sent[d.Publication]; known {
			if took[l] == nil {
				took[l] = make([][]time.Duration, a.n)
			}
			took[l][at] = append(took[l][at], max(d.At-from, time.Microsecond))
		}
	}
	for i := range h.Gaps {
		if g := &h.Gaps[i]; g.Subscription >= 0 && g.Subscription < len(of) {
			of[g.Subscription].reported[a.index(g.At)] += float64(g.Missed)
			of[g.Subscription].missed += int(g.Missed)
		}
	}
	var all []*topicLine
	for _, name := range slices.SortedFunc(maps.Keys(lines), natural) {
		lines[name].percentiles(took[lines[name]])
		all = append(all, lines[name])
	}
	return all
}

func (l *topicLine) percentiles(took [][]time.Duration) {
	for i, t := range took {
		if len(t) == 0 {
			continue
		}
		slices.Sort(t)
		l.p50[i], l.p99[i] = millis(rank(t, 500)), millis(rank(t, 990))
		if low := millis(t[0]); l.low == 0 || low < l.low {
			l.low = low
		}
		l.high = max(l.high, l.p99[i])
	}
}
