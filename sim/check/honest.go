// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/arke-mesh/arke/sim/history"
)

// honest is a history without what adversaries experienced: nothing is promised to
// them, and what they say of themselves proves nothing. What honest nodes hear of
// them stays. It shares what it does not change.
func honest(h *history.History) *history.History {
	bad := adversaries(h)
	if len(bad) == 0 {
		return h
	}
	out := *h
	out.Requests = changed(h.Requests, func(q *history.Request) { q.Lost = q.Lost || bad[q.Caller] })
	out.Tunnels = changed(h.Tunnels, func(t *history.Tunnel) { t.Lost = t.Lost || bad[t.Caller] })
	out.Publications = changed(h.Publications, func(p *history.Publication) { p.Lost = p.Lost || bad[p.Publisher] })
	out.Views = slices.DeleteFunc(slices.Clone(h.Views), func(v history.View) bool { return bad[v.Node] })
	out.Samples = slices.DeleteFunc(slices.Clone(h.Samples), func(s history.Sample) bool { return bad[s.Node] })
	deaf := make(map[int]bool) // subscriptions of adversaries
	out.Subscriptions = slices.Clone(h.Subscriptions)
	for i := range out.Subscriptions {
		if s := &out.Subscriptions[i]; bad[s.Node] {
			deaf[i], s.From = true, -1
		}
	}
	out.Deliveries = slices.DeleteFunc(slices.Clone(h.Deliveries), func(d history.Delivery) bool { return deaf[d.Subscription] })
	out.Gaps = slices.DeleteFunc(slices.Clone(h.Gaps), func(g history.Gap) bool { return deaf[g.Subscription] })
	return &out
}

// adversaries are the names of those.
func adversaries(h *history.History) map[string]bool {
	names := make(map[string]bool)
	for i := range h.Nodes {
		if h.Nodes[i].Adversary {
			names[h.Nodes[i].Name] = true
		}
	}
	return names
}

// changed is a copy of a list whose elements are changed.
func changed[T any](list []T, change func(*T)) []T {
	out := slices.Clone(list)
	for i := range out {
		change(&out[i])
	}
	return out
}

// measureActs counts what adversaries did.
func measureActs(h *history.History, s metrics) {
	acts := 0
	for i := range h.Acts {
		acts += h.Acts[i].Count
	}
	s.count("acts", acts)
	s.count("adversaries", len(adversaries(h)))
}
