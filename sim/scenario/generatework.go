// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import "slices"

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
