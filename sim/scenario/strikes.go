// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"slices"
	"time"
)

// timeline draws faults: first which kinds this seed has at all, then as many
// of them as it wants.
func (g *generator) timeline(r stream) {
	var kinds []string
	for _, kind := range g.r.Faults {
		if r.chance(2) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		kinds = []string{g.r.Faults[r.below(int64(len(g.r.Faults)))]}
	}
	for range draw(r, g.r.Strikes) {
		kind := kinds[r.below(int64(len(kinds)))]
		last := min(r.within(g.r.Lasting), g.s.Duration/2)
		at := r.moment(g.r.Calm, g.s.Duration-g.r.Calm-last)
		if at < 0 || at+last > g.s.Duration {
			continue // there is no room between the calms
		}
		if a, ok := g.strike(r, kind, at, max(last, Duration(time.Millisecond))); ok {
			g.s.Timeline = append(g.s.Timeline, a)
		}
		if kind == "flood" { // one is enough
			kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "flood" })
			if len(kinds) == 0 {
				break
			}
		}
	}
	slices.SortStableFunc(g.s.Timeline, func(a, b Action) int { return cmp.Compare(a.At, b.At) })
}

// strike draws one fault. ok is false if there is nobody whom it can hit.
func (g *generator) strike(r stream, kind string, at, last Duration) (a Action, ok bool) {
	a = Action{At: at, Do: kind, For: last}
	switch kind {
	case "crash", "silence", "stop", "pause":
		a.Nodes = g.victims(r, at, at+last, kind)
	case "slow":
		a.Nodes, a.Factor = g.some(r, g.members, 2), int(r.between(2, 20))
	case "skew":
		a.Nodes = g.some(r, g.everybody(), 4)
		a.Offset = Duration(r.between(-600_000, 600_000)) * Duration(time.Millisecond)
		a.Drift = int(r.between(-500, 500))
	case "router":
		a.Nodes, a.Mode = g.some(r, g.everybody(), 6), routerModes()[r.below(3)]
	case "isolate":
		a.Do, a.Nodes = "partition", g.some(r, g.everybody(), 1)
	case "partition", "partition-oneway", "clog", "degrade", "swizzle", "corrupt":
		return g.strikeLinks(r, a)
	case "flood":
		w := g.flooding(r)
		a.Work = &Work{Name: "flood", Kind: w.Kind, From: w.From, To: w.To, Rate: w.Rate * 5, Deadline: Duration(time.Second)}
	}
	return a, a.Do == "flood" || len(a.Nodes) > 0
}

// flooding draws the work of which there is to be more: requests, or whatever
// there is if nobody sends any.
func (g *generator) flooding(r stream) Work {
	works := slices.DeleteFunc(slices.Clone(g.s.Workload), func(w Work) bool {
		return cmp.Or(w.Kind, WorkKinds()[0]) != WorkKinds()[0]
	})
	if len(works) == 0 {
		works = g.s.Workload
	}
	return works[r.below(int64(len(works)))]
}

// strikeLinks draws the two sides of a fault of links.
func (g *generator) strikeLinks(r stream, a Action) (Action, bool) {
	first, second := g.halves(r)
	if len(first) == 0 || len(second) == 0 {
		return a, false
	}
	a.Between = [][]string{first, second}
	switch a.Do {
	case "degrade":
		a.Link = &Link{
			Latency: r.within(g.r.Latency) * Duration(r.between(1, 10)),
			Jitter:  r.within(g.r.Jitter),
			Loss:    draw(r, g.r.Loss),
		}
	case "swizzle":
		a.Between = [][]string{g.some(r, first, 3), g.some(r, second, 3)}
		links := Duration(len(pairs(a.Between)))
		a.Every = a.For / (2*links + 1)
		a.For /= 2
		return a, a.Every > 0
	case "corrupt":
		a.Every = max(a.For/4, 1)
	}
	return a, true
}

// halves splits everybody in two by zone, evenly or unevenly.
func (g *generator) halves(r stream) (first, second []string) {
	all := g.everybody()
	if len(g.zones) > 1 && r.chance(2) {
		zone := g.zones[r.below(int64(len(g.zones)))]
		inside, _ := NewIndex(g.s).Select("zone:" + zone)
		for _, name := range all {
			if !slices.Contains(inside, name) {
				second = append(second, name)
			}
		}
		return inside, second
	}
	if len(all) < 2 {
		return nil, nil
	}
	left := 1 + int(r.below(int64(len(all)-1)))
	for i, n := range r.order(len(all)) {
		if i < left {
			first = append(first, all[n])
		} else {
			second = append(second, all[n])
		}
	}
	return g.inOrder(first), g.inOrder(second)
}

// everybody are the nodes; clients have no links and no clocks.
func (g *generator) everybody() []string {
	index := NewIndex(g.s)
	return index.withoutClients(index.Names())
}

// inOrder sorts nodes as the file has them.
func (g *generator) inOrder(names []string) []string {
	sorted, err := NewIndex(g.s).Select(names...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return sorted
}

// some draws between one and most of the names.
func (g *generator) some(r stream, names []string, most int) []string {
	if len(names) == 0 {
		return nil
	}
	n := int(r.between(1, int64(min(most, len(names)))))
	var chosen []string
	for _, i := range r.order(len(names))[:n] {
		chosen = append(chosen, names[i])
	}
	return g.inOrder(chosen)
}

// victims draws nodes that nothing else takes away at that time. At least one
// member always stays.
func (g *generator) victims(r stream, from, until Duration, kind string) []string {
	index := NewIndex(g.s)
	pool := g.members
	if r.chance(3) || len(g.members) == 1 && kind != "pause" {
		pool = g.others
	}
	if kind == "silence" { // clients lose their power with their relays
		pool = index.withoutClients(pool)
	}
	free := 0
	for _, name := range g.members {
		if g.away.free(name, from, until) {
			free++
		}
	}
	var taken []string
	for _, name := range g.some(r, pool, 2) {
		member := slices.Contains(g.members, name)
		if member && free <= 1 {
			continue
		}
		if relay := index.Relay(name); relay != "" && !g.away.free(relay, from, until) {
			continue
		}
		if !g.present(index.Clients(name), from, until) {
			continue
		}
		if g.away.take(name, from, until) {
			taken = append(taken, name)
			if member {
				free--
			}
		}
	}
	return taken
}

// present says whether nothing takes any of these clients away at that time: what
// becomes of a relay concerns them.
func (g *generator) present(clients []string, from, until Duration) bool {
	return !slices.ContainsFunc(clients, func(name string) bool { return !g.away.free(name, from, until) })
}
