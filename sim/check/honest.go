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
	bad := make(map[string]bool)
	for i := range h.Nodes {
		if h.Nodes[i].Adversary {
			bad[h.Nodes[i].Name] = true
		}
	}
	if len(bad) == 0 {
		return h
	}
	out := *h
	out.Requests = slices.Clone(h.Requests)
	for i := range out.Requests {
		if q := &out.Requests[i]; bad[q.Caller] {
			q.Lost = true
		}
	}
	out.Views = without(h.Views, func(v *history.View) bool { return bad[v.Node] })
	out.Samples = without(h.Samples, func(s *history.Sample) bool { return bad[s.Node] })
	out.Tunnels = slices.Clone(h.Tunnels)
	for i := range out.Tunnels {
		if t := &out.Tunnels[i]; bad[t.Caller] {
			t.Lost = true
		}
	}
	deaf := make(map[int]bool) // subscriptions of adversaries
	out.Subscriptions = slices.Clone(h.Subscriptions)
	for i := range out.Subscriptions {
		if s := &out.Subscriptions[i]; bad[s.Node] {
			deaf[i], s.From = true, -1
		}
	}
	out.Deliveries = without(h.Deliveries, func(d *history.Delivery) bool { return deaf[d.Subscription] })
	out.Gaps = without(h.Gaps, func(g *history.Gap) bool { return deaf[g.Subscription] })
	out.Publications = slices.Clone(h.Publications)
	for i := range out.Publications {
		if p := &out.Publications[i]; bad[p.Publisher] {
			p.Lost = true
		}
	}
	return &out
}

// without is a list without some of its elements.
func without[T any](list []T, leave func(*T) bool) []T {
	out := make([]T, 0, len(list))
	for i := range list {
		if !leave(&list[i]) {
			out = append(out, list[i])
		}
	}
	return out
}

// measureActs counts what adversaries did.
func measureActs(h *history.History, s metrics) {
	acts, names := 0, make(map[string]bool)
	for i := range h.Acts {
		acts += h.Acts[i].Count
	}
	for i := range h.Nodes {
		if h.Nodes[i].Adversary {
			names[h.Nodes[i].Name] = true
		}
	}
	s.count("acts", acts)
	s.count("adversaries", len(names))
}
