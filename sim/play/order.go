// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"cmp"
	"slices"
	"time"

	"github.com/arke-mesh/arke/sim/history"
)

// history returns what was recorded, in canonical order.
func (r *recorder) history(p *player) *history.History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &r.h
	r.sortTenures()
	r.sortSubscriptions()
	r.sortTopicsAndTunnels()
	for i := range h.Requests {
		q := &h.Requests[i]
		q.Lost = touched(h, q.Caller, q.Sent, endOr(q.Ended, q.Deadline))
	}
	slices.SortStableFunc(h.Nodes, func(a, b history.Node) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Name, b.Name))
	})
	slices.SortStableFunc(h.Requests, func(a, b history.Request) int {
		return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.ID, b.ID))
	})
	slices.SortStableFunc(h.Runs, func(a, b history.Run) int {
		return cmp.Or(cmp.Compare(a.Began, b.Began), cmp.Compare(a.Request, b.Request), cmp.Compare(a.Tenure, b.Tenure))
	})
	slices.SortStableFunc(h.Views, func(a, b history.View) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Member, b.Member))
	})
	slices.SortStableFunc(h.Samples, func(a, b history.Sample) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Node, b.Node))
	})
	return h
}

// sortNamed sorts what others name by its index, and returns the new index of
// each.
func sortNamed[T any](all []T, compare func(x, y T) int) (place []int) {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	before := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b int) int { return compare(before[a], before[b]) })
	place = make([]int, len(all))
	for to, from := range order {
		all[to], place[from] = before[from], to
	}
	return place
}

// sortTenures puts them in order and follows with the runs that name them.
func (r *recorder) sortTenures() {
	place := sortNamed(r.h.Tenures, func(x, y history.Tenure) int {
		return cmp.Or(cmp.Compare(x.Asked, y.Asked), cmp.Compare(x.Node, y.Node), cmp.Compare(x.Cluster, y.Cluster))
	})
	for i := range r.h.Runs {
		r.h.Runs[i].Tenure = place[r.h.Runs[i].Tenure]
	}
	for i := range r.h.Tunnels {
		served := r.h.Tunnels[i].Served
		for k := range served {
			served[k].Tenure = place[served[k].Tenure]
		}
	}
}

// sortSubscriptions puts them in order and follows with what names them. What
// one subscription got stays in the order in which it came.
func (r *recorder) sortSubscriptions() {
	h := &r.h
	place := sortNamed(h.Subscriptions, func(x, y history.Subscription) int {
		return cmp.Or(cmp.Compare(x.Asked, y.Asked), cmp.Compare(x.Node, y.Node), cmp.Compare(x.Name, y.Name))
	})
	for i := range h.Deliveries {
		h.Deliveries[i].Subscription = place[h.Deliveries[i].Subscription]
	}
	for i := range h.Gaps {
		h.Gaps[i].Subscription = place[h.Gaps[i].Subscription]
	}
	slices.SortStableFunc(h.Deliveries, func(a, b history.Delivery) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Subscription, b.Subscription))
	})
	slices.SortStableFunc(h.Gaps, func(a, b history.Gap) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Subscription, b.Subscription))
	})
}

func (r *recorder) sortTopicsAndTunnels() {
	h := &r.h
	for i := range h.Publications {
		p := &h.Publications[i]
		p.Lost = touched(h, p.Publisher, p.Sent, endOr(p.Ended, p.Deadline))
	}
	for i := range h.Tunnels {
		t := &h.Tunnels[i]
		t.Lost = touched(h, t.Caller, t.Sent, endOr(t.Ended, t.Deadline))
		slices.SortStableFunc(t.Served, func(a, b history.Serving) int {
			return cmp.Or(cmp.Compare(a.Began, b.Began), cmp.Compare(a.Tenure, b.Tenure))
		})
	}
	slices.SortStableFunc(h.Publications, func(a, b history.Publication) int {
		return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(h.Carried, func(a, b history.Carried) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Work, b.Work))
	})
	slices.SortStableFunc(h.Tunnels, func(a, b history.Tunnel) int {
		return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.ID, b.ID))
	})
}

// endOr is when something ended, or must have.
func endOr(ended, deadline time.Duration) time.Duration {
	if ended < 0 {
		return deadline
	}
	return ended
}
