// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// FaultKinds are the kinds of faults that Generate knows.
func FaultKinds() []string {
	return []string{
		"crash", "silence", "stop", "pause", "slow", "partition", "partition-oneway", "isolate",
		"clog", "degrade", "swizzle", "skew", "router", "corrupt", "flood",
	}
}

// Generate draws a scenario within the ranges: swarm mode. It enables a random
// subset of the kinds of faults, so that seeds differ in what they try, and not
// only in when. Nodes that a fault hits have time to recover before the next one
// takes them. The result is not expanded; the same seed and ranges give the
// same one. The error is an *Error.
func Generate(seed uint64, r Ranges) (Scenario, error) {
	s := Scenario{Name: "swarm", Seed: seed, Generate: &r}
	if found := s.check(); len(found) > 0 {
		return Scenario{}, found.err()
	}
	return generated(s), nil
}

// generator draws what a scenario leaves out.
type generator struct {
	s       Scenario
	r       Ranges
	members []string
	others  []string // callers and bystanders
	zones   []string
	away    absences
}

// generate draws what the scenario leaves out; what it has is kept.
func generated(s Scenario) Scenario {
	g := &generator{s: s, r: s.Generate.withDefaults(), away: absences{}}
	g.s.Generate = nil
	g.s.Seed = cmp.Or(g.s.Seed, DefaultSeed)
	r := g.stream("shape")
	if g.s.Duration == 0 {
		g.s.Duration = second(r.within(g.r.Duration))
	}
	if len(g.s.Nodes) == 0 {
		g.nodes(r)
		g.clients(draw(g.stream("clients"), g.r.Clients))
		if len(g.s.Links) == 0 {
			g.links(g.stream("links"))
		}
	}
	g.service(g.stream("service"))
	if len(g.s.Timeline) == 0 {
		g.timeline(g.stream("faults"))
	}
	return g.s
}

func (g *generator) stream(name string) stream { return newStream(g.s.Seed, "generate", name) }

// second rounds down to whole seconds, but not to none.
func second(d Duration) Duration {
	const s = Duration(time.Second)
	return max(d/s*s, min(d, s))
}

// nodes draws members, callers and bystanders, and spreads them over zones.
func (g *generator) nodes(r stream) {
	zones := draw(r, g.r.Zones)
	for _, kind := range []struct {
		name  string
		count int
	}{
		{"m", max(draw(r, g.r.Members), 1)},
		{"c", max(draw(r, g.r.Callers), 1)},
		{"b", draw(r, g.r.Bystanders)},
	} {
		for z := range zones {
			count := kind.count / zones
			if z < kind.count%zones {
				count++
			}
			if count == 0 {
				continue
			}
			zone := fmt.Sprint("z", z+1)
			g.s.Nodes = append(g.s.Nodes, Nodes{Name: fmt.Sprintf("%s-%s-", kind.name, zone), Count: count, Zone: zone})
			if !slices.Contains(g.zones, zone) {
				g.zones = append(g.zones, zone)
			}
		}
	}
}

// clients attaches so many programs to the bystanders of the first zone that has
// some, or to members.
func (g *generator) clients(count int) {
	relays := g.s.Nodes[0].Name
	for _, n := range slices.Backward(g.s.Nodes) {
		if n.Name[0] == 'b' {
			relays = n.Name
		}
	}
	for i, kind := range []string{"m", "c"} {
		if n := (count + 1 - i) / 2; n > 0 {
			g.s.Nodes = append(g.s.Nodes, Nodes{Name: kind + "-app-", Count: n, Attach: relays})
		}
	}
}

// links draws a model for each pair of zones; those within a zone have a tenth
// of the latency.
func (g *generator) links(r stream) {
	for i, a := range g.zones {
		for _, b := range g.zones[i:] {
			l := Link{
				Between: []string{"zone:" + a, "zone:" + b},
				Latency: r.within(g.r.Latency), Jitter: r.within(g.r.Jitter), Mbps: draw(r, g.r.Mbps),
			}
			if a == b {
				l.Latency = max(l.Latency/10, Duration(100*time.Microsecond))
				l.Jitter /= 10
			}
			if r.chance(2) {
				l.Loss = draw(r, g.r.Loss)
			} else {
				l.Loss = g.r.Loss.Min
			}
			g.s.Links = append(g.s.Links, l)
		}
	}
}

// service draws a cluster and who asks it, with and without repetition. Groups
// whose names begin with m serve, those with c ask, if the scenario does not
// say otherwise.
func (g *generator) service(r stream) {
	var members, callers []string
	for _, n := range g.s.Nodes {
		switch n.Name[0] {
		case 'm':
			members = append(members, n.Name)
		case 'c':
			callers = append(callers, n.Name)
		}
	}
	if len(members) == 0 {
		members = []string{g.s.Nodes[0].Name}
	}
	if len(callers) == 0 {
		callers = []string{g.s.Nodes[len(g.s.Nodes)-1].Name}
	}
	if len(g.s.Clusters) == 0 {
		g.s.Clusters = []Cluster{{Name: "geo", Members: members}}
		if work := r.within(g.r.Work); work > 0 {
			g.s.Clusters[0].Handler = Handler{Kind: "slow", Work: work, Jitter: r.moment(0, work)}
		}
	}
	if len(g.s.Workload) == 0 {
		others := g.kinds(g.stream("kinds"))
		for _, w := range []Work{{Name: "idem", Idempotent: true}, {Name: "once"}} {
			w.From, w.To, w.Rate = callers, g.s.Clusters[0].Name, float64(draw(r, g.r.Rate))
			w.Size = draw(r, g.r.Size)
			g.s.Workload = append(g.s.Workload, w)
		}
		g.patterns(g.stream("patterns"), callers, members, others)
	}
	index := NewIndex(g.s)
	for _, c := range g.s.Clusters {
		names, _ := index.Select(c.Members...)
		g.members = append(g.members, index.withoutClients(names)...)
	}
	for _, name := range index.Names() {
		if !slices.Contains(g.members, name) {
			g.others = append(g.others, name)
		}
	}
}

// kinds draws a subset of the kinds of work besides requests, of which there
// are always some.
func (g *generator) kinds(r stream) []string {
	var out []string
	for _, k := range WorkKinds()[1:] {
		if slices.Contains(g.r.Kinds, k) && r.chance(2) {
			out = append(out, k)
		}
	}
	return out
}

// patterns draws a work of each kind, a tenth as busy as the requests where
// each message goes to many, and subscriptions of the members to what is
// published.
func (g *generator) patterns(r stream, callers, members, kinds []string) {
	for _, kind := range kinds {
		w := Work{Name: kind, Kind: kind, From: callers, To: g.s.Clusters[0].Name, Rate: float64(draw(r, g.r.Rate))}
		w.Size = draw(r, g.r.Size)
		switch kind {
		case "survey", "broadcast":
			w.Rate = max(1, w.Rate/10)
		case "publish":
			w.To, w.Topics = "swarm.news", int(r.between(1, 4))
			w.Rate = max(1, w.Rate/2)
			if len(g.s.Subscriptions) == 0 {
				g.subscriptions(r, members)
			}
		case "tunnel":
			w.Rate, w.Messages = max(1, w.Rate/100), int(r.between(1, 100))
			w.Deadline = 2 * DefaultDeadline
			w.Size = max(8, w.Size)
		}
		g.s.Workload = append(g.s.Workload, w)
	}
}

func (g *generator) subscriptions(r stream, members []string) {
	g.s.Subscriptions = []Subscription{
		{Name: "all", Nodes: members, Pattern: "swarm.>"},
		{Name: "some", Nodes: members, Pattern: "swarm.*.1", Count: int(r.between(1, 3))},
	}
	if r.chance(2) {
		g.s.Subscriptions = append(g.s.Subscriptions, Subscription{Name: "shared", Nodes: members, Pattern: "swarm.>", Queue: "work"})
	}
}
