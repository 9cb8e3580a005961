// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"maps"
	"slices"
	"time"
)

// measureShares finds out how evenly the requests of a cluster were spread.
func (f *facts) measureShares(s sheet) {
	began := f.begun()
	slow := make(map[string]bool)
	best, members := -1.0, 0
	for i := range f.h.Faults {
		fault := &f.h.Faults[i]
		if fault.Do != "slow" || undoes(fault) {
			continue
		}
		for _, node := range fault.Nodes {
			slow[node] = true
			for _, t := range f.byNode[node] {
				part, whole := f.handled(began, t, span{fault.At, f.over(fault)})
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
	f.measureBalance(s, began, slow)
}

// begun is when handlers began, by tenure, in order.
func (f *facts) begun() [][]time.Duration {
	out := make([][]time.Duration, len(f.h.Tenures))
	for i, runs := range f.runs {
		if f.h.Requests[i].Work == probe {
			continue
		}
		for _, n := range runs {
			run := &f.h.Runs[n]
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
func (f *facts) handled(began [][]time.Duration, tenure int, s span) (part, whole int) {
	part = within(began[tenure], s.meet(truth(&f.h.Tenures[tenure])))
	for _, t := range f.tenures[f.h.Tenures[tenure].Cluster] {
		whole += within(began[t], s)
	}
	return part, whole
}

func (f *facts) measureBalance(s sheet, began [][]time.Duration, slow map[string]bool) {
	worst, samples := 0.0, 0
	for _, cluster := range slices.Sorted(maps.Keys(f.tenures)) {
		busiest, sum, members := 0, 0, 0
		for _, t := range f.tenures[cluster] {
			if live := truth(&f.h.Tenures[t]); live.from > f.h.Start || live.until < f.h.Safety || slow[f.h.Tenures[t].Node] {
				continue
			}
			n := within(began[t], span{f.h.Start, f.h.Safety})
			busiest, sum, members = max(busiest, n), sum+n, members+1
		}
		if members > 1 && sum > 0 {
			worst = max(worst, float64(busiest)*float64(members)/float64(sum))
			samples += members
		}
	}
	if samples > 0 {
		s["balance"] = Metric{Value: worst, Unit: Ratio, Samples: samples}
	}
}
