// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"slices"

	"github.com/arke-mesh/arke/sim/scenario"
)

// Smaller returns scenarios that are simpler than the expanded scenario s, the
// boldest first: with fewer actions (in the manner of ddmin: halves, quarters,
// … single ones, then an action with the one that undoes it), nodes, works and
// requests, less time, and plainer links. Not all of them make sense. It
// changes nothing of s.
func Smaller(s scenario.Scenario) []scenario.Scenario {
	return slices.Concat(fewerActions(s), fewerNodes(s), lessWork(s), lessTime(s), plainerLinks(s))
}

// fewerActions leaves out parts of the timeline.
func fewerActions(s scenario.Scenario) []scenario.Scenario {
	var all []scenario.Scenario
	n := len(s.Timeline)
	without := func(out func(i int) bool) {
		c := s
		c.Timeline = nil
		for i, a := range s.Timeline {
			if !out(i) {
				c.Timeline = append(c.Timeline, a)
			}
		}
		all = append(all, c)
	}
	for size := n; size >= 1; size /= 2 {
		for from := 0; from < n; from += size {
			without(func(i int) bool { return i >= from && i < from+size })
		}
	}
	for i, a := range s.Timeline {
		for j := i + 1; j < n; j++ {
			if b := s.Timeline[j]; undoes(b, a) {
				if j > i+1 {
					without(func(k int) bool { return k == i || k == j })
				}
				break
			}
		}
	}
	return all
}

// undoes says whether b ends what a began: it comes later and is about the same
// nodes or links.
func undoes(b, a scenario.Action) bool {
	if len(a.Nodes)+len(a.Between) == 0 {
		return false
	}
	return slices.Equal(a.Nodes, b.Nodes) && slices.EqualFunc(a.Between, b.Between, slices.Equal)
}

// lessWork leaves out workloads, or halves their rates.
func lessWork(s scenario.Scenario) []scenario.Scenario {
	var all []scenario.Scenario
	for i := range s.Workload {
		if len(s.Workload) > 1 {
			c := s
			c.Workload = slices.Delete(slices.Clone(s.Workload), i, i+1)
			all = append(all, c)
		}
	}
	for i, w := range s.Workload {
		if w.Rate >= 2 {
			c := s
			c.Workload = slices.Clone(s.Workload)
			c.Workload[i].Rate = float64(int(w.Rate / 2))
			all = append(all, c)
		}
	}
	return all
}

// lessTime ends the safety phase earlier: at half of it, or a tenth.
func lessTime(s scenario.Scenario) []scenario.Scenario {
	var all []scenario.Scenario
	for _, less := range []scenario.Duration{s.Duration / 2, s.Duration / 10 * 9} {
		c := s
		c.Duration = less
		c.Timeline, c.Workload = nil, nil
		for _, a := range s.Timeline {
			if a.At < less {
				c.Timeline = append(c.Timeline, a)
			}
		}
		for _, w := range s.Workload {
			if w.Start < less {
				w.Stop = min(w.Stop, less)
				c.Workload = append(c.Workload, w)
			}
		}
		all = append(all, c)
	}
	return all
}

// plainerLinks gives links constant latency and nothing else.
func plainerLinks(s scenario.Scenario) []scenario.Scenario {
	var all []scenario.Scenario
	for i, l := range s.Links {
		plain := scenario.Link{Between: l.Between, Latency: l.Latency}
		if l.Loss == 0 && l.Jitter == 0 && l.Mbps == 0 {
			continue
		}
		c := s
		c.Links = slices.Clone(s.Links)
		c.Links[i] = plain
		all = append(all, c)
	}
	return all
}
