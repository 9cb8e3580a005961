// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/history"
)

func (r *recorder) subscribing(s history.Subscription) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Subscriptions = append(r.h.Subscriptions, s)
	return len(r.h.Subscriptions) - 1
}

func (r *recorder) subscribed(i int, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Subscriptions[i].From = at
}

func (r *recorder) notSubscribed(i int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Subscriptions[i].Err = err.Error()
}

func (r *recorder) unsubscribing(subscriptions []int, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range subscriptions {
		if s := &r.h.Subscriptions[i]; s.Leaving < 0 {
			s.Leaving = at
		}
	}
}

func (r *recorder) unsubscribed(subscriptions []int, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range subscriptions {
		if s := &r.h.Subscriptions[i]; s.Until < 0 {
			s.Until = at
		}
	}
}

func (r *recorder) publishing(p history.Publication) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.publications[p.ID] = len(r.h.Publications)
	r.h.Publications = append(r.h.Publications, p)
}

func (r *recorder) published(id uint64, at time.Duration, outcome, detail string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.h.Publications[r.publications[id]]
	p.Ended, p.Outcome, p.Detail = at, outcome, detail
}

// copied notes a copy that goes from one node to another.
func (r *recorder) copied(c history.Copy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Copies = append(r.h.Copies, c)
}

// delivered notes what a subscription got.
func (r *recorder) delivered(subscription int, at time.Duration, got *patterns.Publication) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := history.Delivery{Publication: idOf(got.Body), Subscription: subscription, At: at}
	if i, ok := r.publications[d.Publication]; ok {
		p := &r.h.Publications[i]
		if p.Topic != got.Topic || p.Peer != got.From || p.Size != len(got.Body) {
			d.Wrong = got.Topic + " from " + got.From
		}
	}
	r.h.Deliveries = append(r.h.Deliveries, d)
}

func (r *recorder) gap(subscription int, at time.Duration, g patterns.Gap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Gaps = append(r.h.Gaps, history.Gap{
		Subscription: subscription, At: at, Peer: g.From, Missed: g.Missed, Exact: g.Exact, Reason: string(g.Reason),
	})
}
