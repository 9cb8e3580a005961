// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"slices"
)

// Smaller returns scenarios that are simpler than s, the boldest first, for
// somebody who looks for the smallest one that still fails: try them in order,
// go on with the first that fails, and stop when none does. Every candidate is
// expanded and valid. If s is not valid, there are none.
//
// In this order: parts of the timeline (halves, quarters, … single faults, each
// together with what undoes it), nodes, parts of the workload, rates, duration,
// and links that are perfect or constant.
func Smaller(s Scenario) []Scenario {
	x, err := s.Expand()
	if err != nil {
		return nil
	}
	c := &candidates{from: x, index: NewIndex(x)}
	c.fewerFaults()
	c.fewerNodes()
	c.lessWork()
	c.shorter()
	c.simplerLinks()
	return c.list
}

// candidates collects the valid ones.
type candidates struct {
	from  Scenario
	index *Index
	list  []Scenario
}

// try appends what change makes of a copy of the scenario, if that is possible
// and different.
func (c *candidates) try(change func(s *Scenario)) {
	s := c.from
	s.Nodes = slices.Clone(s.Nodes)
	s.Clusters = slices.Clone(s.Clusters)
	s.Subscriptions = slices.Clone(s.Subscriptions)
	s.Links = slices.Clone(s.Links)
	s.Workload = slices.Clone(s.Workload)
	s.Timeline = slices.Clone(s.Timeline)
	change(&s)
	s.reworked()
	if x, err := s.Expand(); err == nil {
		c.list = append(c.list, x)
	}
}

// maxParts is into how many parts a timeline is split at most; a longer one is
// shorter the next time.
const maxParts = 256

// fault is a part of a timeline that makes sense only as a whole: an action and
// what undoes it.
type fault []int

// faults splits a timeline into its faults.
func (c *candidates) faults() []fault {
	x := &expander{s: c.from, index: c.index}
	var all []fault
	var bars []bar // of each fault, its first action
	var open []bool
	for i, a := range c.from.Timeline {
		owner := -1
		for k := range all {
			if open[k] && x.ends(a, bars[k]) && a.Do != "heal" {
				owner = k
			}
		}
		if owner >= 0 {
			all[owner] = append(all[owner], i)
			open[owner] = a.Do == "degrade" // its end may come in parts
		}
		if x.strikes(a) {
			all, bars, open = append(all, fault{i}), append(bars, bar{Action: a}), append(open, true)
		} else if owner < 0 {
			all, bars, open = append(all, fault{i}), append(bars, bar{Action: a}), append(open, false)
		}
	}
	return all
}

// fewerFaults leaves parts of the timeline out: first everything, then ever
// smaller parts.
func (c *candidates) fewerFaults() {
	all := c.faults()
	if len(all) == 0 {
		return
	}
	c.without(all)
	most := min(len(all), maxParts)
	for parts := 2; parts <= most; parts = min(2*parts, most) {
		for i := range parts {
			from, until := i*len(all)/parts, (i+1)*len(all)/parts
			c.without(all[from:until])
			if parts > 2 {
				c.without(slices.Concat(all[:from], all[until:]))
			}
		}
		if parts == most {
			break
		}
	}
}

// without leaves faults out.
func (c *candidates) without(faults []fault) {
	gone := map[int]bool{}
	for _, f := range faults {
		for _, i := range f {
			gone[i] = true
		}
	}
	c.try(func(s *Scenario) {
		s.Timeline = s.Timeline[:0]
		for i, a := range c.from.Timeline {
			if !gone[i] {
				s.Timeline = append(s.Timeline, a)
			}
		}
	})
}
