// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"slices"
	"time"
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
	s.Gateways = slices.Clone(s.Gateways)
	s.Clusters = slices.Clone(s.Clusters)
	s.Subscriptions = slices.Clone(s.Subscriptions)
	s.Links = slices.Clone(s.Links)
	s.Workload = slices.Clone(s.Workload)
	s.Timeline = slices.Clone(s.Timeline)
	change(&s)
	reworked(&s)
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
	x := &network{s: c.from, index: c.index}
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
		if strikes := x.strikes(a); strikes || owner < 0 {
			all, bars, open = append(all, fault{i}), append(bars, bar{Action: a}), append(open, strikes)
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

// fewerNodes makes groups smaller. Actions on nodes that are gone go with them.
func (c *candidates) fewerNodes() {
	for g, group := range c.from.Nodes {
		n := group.Count
		sizes := []int{0, n / 2, n * 3 / 4, n - 1}
		for i, left := range sizes {
			if left < 0 || slices.Index(sizes, left) < i || left == 0 && len(c.from.Nodes) == 1 {
				continue
			}
			c.try(func(s *Scenario) { shrink(s, g, left) })
		}
	}
}

// lessWork leaves workloads out, and sends less.
func (c *candidates) lessWork() {
	for i := range c.from.Workload {
		c.try(func(s *Scenario) { s.Workload = slices.Delete(s.Workload, i, i+1) })
	}
	for i, w := range c.from.Workload {
		for _, rate := range []float64{w.Rate / 10, w.Rate / 2} {
			if rate >= 1 {
				c.try(func(s *Scenario) { s.Workload[i].Rate = float64(int64(rate)) })
			}
		}
		if w.Size > DefaultSize {
			c.try(func(s *Scenario) { s.Workload[i].Size = DefaultSize })
		}
		if w.Messages >= 10 {
			c.try(func(s *Scenario) { s.Workload[i].Messages /= 10 })
		}
	}
	c.fewerSubscriptions()
}

// fewerSubscriptions leaves subscriptions out.
func (c *candidates) fewerSubscriptions() {
	for i, sub := range c.from.Subscriptions {
		c.try(func(s *Scenario) { s.Subscriptions = slices.Delete(s.Subscriptions, i, i+1) })
		if sub.Count > 1 {
			c.try(func(s *Scenario) { s.Subscriptions[i].Count = 1 })
		}
	}
}

// shorter ends the run earlier, and lets it begin later: everything moves
// towards the beginning.
func (c *candidates) shorter() {
	d := c.from.Duration
	var last Duration
	for _, a := range c.from.Timeline {
		last = max(last, a.At+a.For)
	}
	for _, end := range []Duration{d / 2, d * 3 / 4, last + Duration(time.Second)} {
		end = end / Duration(time.Millisecond) * Duration(time.Millisecond)
		if end >= Duration(time.Second) && end < d {
			c.try(func(s *Scenario) { cut(s, end) })
		}
	}
	if len(c.from.Timeline) == 0 {
		return
	}
	for _, lead := range []Duration{c.from.Timeline[0].At - Duration(time.Second), c.from.Timeline[0].At / 2} {
		if lead >= Duration(time.Second) {
			c.try(func(s *Scenario) { advance(s, lead) })
		}
	}
}

// simplerLinks makes links perfect, or their latency constant.
func (c *candidates) simplerLinks() {
	for i, l := range c.from.Links {
		if l.Jitter > 0 || l.Loss > 0 || l.Model().Bounded() {
			c.try(func(s *Scenario) { s.Links[i] = Link{Between: l.Between, OneWay: l.OneWay, Latency: l.Latency} })
		}
		if l.Jitter > 0 && (l.Loss > 0 || l.Model().Bounded()) {
			c.try(func(s *Scenario) { s.Links[i].Jitter = 0 })
		}
		if !l.everywhere() {
			c.try(func(s *Scenario) { s.Links = slices.Delete(s.Links, i, i+1) })
		}
	}
}

// shrink leaves only the first nodes of a group.
func shrink(s *Scenario, g, left int) {
	group := s.Nodes[g]
	gone := map[string]bool{}
	for i, name := range group.Names() {
		gone[name] = i >= left
	}
	s.Nodes[g].Count = left
	if left <= 1 {
		s.Nodes[g].Every = 0
	}
	if left == 0 {
		s.Nodes = slices.Delete(s.Nodes, g, g+1)
	}
	index := NewIndex(*s)
	s.Links = slices.DeleteFunc(s.Links, func(l Link) bool {
		return slices.ContainsFunc(l.Between, func(sel string) bool {
			_, err := index.Select(sel)
			return err != nil
		})
	})
	forget(s, gone)
}

// forget leaves nodes out of everything that names them.
func forget(s *Scenario, gone map[string]bool) {
	only := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return gone[n] })
	}
	for i, cl := range s.Clusters {
		s.Clusters[i].Members = only(cl.Members)
		keys := map[string]string{}
		for name, label := range cl.Keys {
			if !gone[name] {
				keys[name] = label
			}
		}
		s.Clusters[i].Keys = keys
	}
	for i, sub := range s.Subscriptions {
		s.Subscriptions[i].Nodes = only(sub.Nodes)
	}
	s.Subscriptions = slices.DeleteFunc(s.Subscriptions, func(sub Subscription) bool { return len(sub.Nodes) == 0 })
	for i, w := range s.Workload {
		s.Workload[i].From = only(w.From)
	}
	s.Workload = slices.DeleteFunc(s.Workload, func(w Work) bool { return len(w.From) == 0 })
	var timeline []Action
	for _, a := range s.Timeline {
		if a, ok := a.without(only); ok {
			timeline = append(timeline, a)
		}
	}
	s.Timeline = timeline
}

// without leaves nodes out of an action; ok is false if nothing is left of it.
func (a Action) without(only func([]string) []string) (_ Action, ok bool) {
	if len(a.Nodes) > 0 {
		a.Nodes = only(a.Nodes)
		if len(a.Nodes) == 0 {
			return a, false
		}
	}
	if len(a.Between) == 2 {
		a.Between = [][]string{only(a.Between[0]), only(a.Between[1])}
		if len(a.Between[0]) == 0 || len(a.Between[1]) == 0 {
			return a, false
		}
	}
	if a.Work != nil {
		work := *a.Work
		work.From = only(work.From)
		if a.Work = &work; len(work.From) == 0 {
			return a, false
		}
	}
	return a, true
}

// cut ends the run at a time. What would happen later does not.
func cut(s *Scenario, end Duration) {
	s.Duration = end
	s.Timeline = slices.DeleteFunc(s.Timeline, func(a Action) bool { return a.At > end })
	for i, a := range s.Timeline {
		if a.Do == "flood" && a.At+a.For > end {
			work := *a.Work
			work.Stop = end - a.At
			s.Timeline[i].Work, s.Timeline[i].For = &work, end-a.At
		}
	}
	s.Timeline = slices.DeleteFunc(s.Timeline, func(a Action) bool { return a.Do == "flood" && a.For <= 0 })
	for i, w := range s.Workload {
		s.Workload[i].Stop = min(w.Stop, end)
	}
	s.Workload = slices.DeleteFunc(s.Workload, func(w Work) bool { return w.Start >= w.Stop })
	for i, sub := range s.Subscriptions {
		s.Subscriptions[i].Stop = min(sub.Stop, end)
	}
	s.Subscriptions = slices.DeleteFunc(s.Subscriptions, func(sub Subscription) bool {
		return sub.Start >= end || sub.Stop > 0 && sub.Start >= sub.Stop
	})
}

// advance moves the timeline and the workload towards the beginning.
func advance(s *Scenario, by Duration) {
	s.Duration -= by
	for i := range s.Timeline {
		s.Timeline[i].At -= by
	}
	for i, w := range s.Workload {
		s.Workload[i].Start = max(0, w.Start-by)
		s.Workload[i].Stop = max(0, w.Stop-by)
	}
	s.Workload = slices.DeleteFunc(s.Workload, func(w Work) bool { return w.Start >= w.Stop })
	for i, sub := range s.Subscriptions {
		s.Subscriptions[i].Start = max(0, sub.Start-by)
		if sub.Stop > 0 {
			s.Subscriptions[i].Stop = max(1, sub.Stop-by)
		}
	}
	for i, g := range s.Nodes {
		s.Nodes[i].Start = max(0, g.Start-by)
	}
	for i, g := range s.Gateways {
		s.Gateways[i].Start = max(0, g.Start-by)
	}
}

// reworked keeps the claims about works that are still there.
func reworked(s *Scenario) {
	names := works(s)
	other := func(a Assertion) bool {
		work := a.work()
		return work != "" && !slices.Contains(names, work)
	}
	s.Assert = slices.DeleteFunc(slices.Clone(s.Assert), other)
	s.Sometimes = slices.DeleteFunc(slices.Clone(s.Sometimes), other)
}

// works are the names of everything that is sent or subscribed to, also those
// that it has by default.
func works(s *Scenario) []string {
	var names []string
	for i, w := range s.Workload {
		names = append(names, w.withDefaults(w.called(i), 0).Name)
	}
	for i, sub := range s.Subscriptions {
		names = append(names, sub.withDefaults(i).Name)
	}
	floods := 0
	for _, a := range s.Timeline {
		if a.Work != nil {
			names = append(names, a.Work.withDefaults(defaultName("flood", floods), 0).Name)
			floods++
		}
	}
	return names
}
