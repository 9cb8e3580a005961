// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"maps"
	"slices"
	"time"
)

// measureShares finds out how evenly the requests of a cluster were spread.
func measureShares(q *requests, s sheet) {
	began := begun(q)
	slow := make(map[string]bool)
	best, members := -1.0, 0
	for i := range q.h.Faults {
		fault := &q.h.Faults[i]
		if fault.Do != "slow" || Undoes(fault) {
			continue
		}
		for _, node := range fault.Nodes {
			slow[node] = true
			for _, t := range q.members.byNode[node] {
				part, whole := handled(q.members, began, t, span{fault.At, Over(q.h, fault)})
				if whole > 0 {
					best = max(best, 100*float64(part)/float64(whole))
					members++
				}
			}
		}
	}
	if members > 0 {
		s["slow_share"] = Metric{Value: best, Unit: Percent, Samples: members}
	}
	measureBalance(q.members, s, began, slow)
}

// begun is when handlers began, by tenure, in order.
func begun(q *requests) [][]time.Duration {
	out := make([][]time.Duration, len(q.h.Tenures))
	for i, runs := range q.runs {
		if q.h.Requests[i].Work == probe {
			continue
		}
		for _, n := range runs {
			run := &q.h.Runs[n]
			out[run.Tenure] = append(out[run.Tenure], run.Began)
		}
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

func within(sorted []time.Duration, s span) int {
	from, _ := slices.BinarySearch(sorted, s.from)
	until, _ := slices.BinarySearch(sorted, s.until)
	return max(0, until-from)
}

// handled counts what one member and what its whole cluster handled in s.
func handled(m *registrations, began [][]time.Duration, tenure int, s span) (part, whole int) {
	part = within(began[tenure], s.meet(truth(&m.h.Tenures[tenure])))
	for _, t := range m.of[m.h.Tenures[tenure].Cluster] {
		whole += within(began[t], s)
	}
	return part, whole
}

func measureBalance(m *registrations, s sheet, began [][]time.Duration, slow map[string]bool) {
	var e evenness
	for _, cluster := range slices.Sorted(maps.Keys(m.of)) {
		var handled []int
		for _, t := range m.of[cluster] {
			if live := truth(&m.h.Tenures[t]); live.from > m.h.Start || live.until < m.h.Safety || slow[m.h.Tenures[t].Node] {
				continue
			}
			handled = append(handled, within(began[t], span{m.h.Start, m.h.Safety}))
		}
		e.add(handled)
	}
	e.measure(s, "balance")
}
