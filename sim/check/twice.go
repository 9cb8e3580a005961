// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"
)

// checkTwice: a subscription gets a publication once at most, and of a queue of
// subscriptions only one gets it. This holds whatever happens.
func checkTwice(f *facts, _ *viewMeasures, d *docket) {
	x := f.topics
	for s, list := range x.got {
		seen := make(map[uint64]bool, len(list))
		for _, i := range list {
			if g := &f.h.Deliveries[i]; seen[g.Publication] {
				sub := &f.h.Subscriptions[s]
				d.add(g.At, "subscription %s to %s on %s got publication %d twice", sub.Name, sub.Pattern, sub.Node, g.Publication)
			}
			seen[f.h.Deliveries[i].Publication] = true
		}
	}
	for _, q := range f.queues() {
		first := make(map[uint64]int)
		for _, i := range f.gotBy(x.queues[q]) {
			g := &f.h.Deliveries[i]
			if s, again := first[g.Publication]; again && s != g.Subscription {
				d.add(g.At, "of queue %s of %s both %s and %s got publication %d",
					q.name, q.pattern, f.h.Subscriptions[s].Node, f.h.Subscriptions[g.Subscription].Node, g.Publication)
			}
			first[g.Publication] = g.Subscription
		}
	}
}

// gotBy lists what several subscriptions got, by time.
func (f *facts) gotBy(subscriptions []int) []int {
	var all []int
	for _, s := range subscriptions {
		all = append(all, f.topics.got[s]...)
	}
	slices.SortStableFunc(all, func(a, b int) int { return compareTimes(f.h.Deliveries[a].At, f.h.Deliveries[b].At) })
	return all
}

func compareTimes(a, b time.Duration) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// checkAstray: what a subscription gets was published, by who is said to have
// done it, on a topic that it asked for, and before.
func checkAstray(f *facts, _ *viewMeasures, d *docket) {
	for _, i := range f.topics.strays {
		d.add(f.h.Deliveries[i].At, "publication %d was delivered, and nobody made it", f.h.Deliveries[i].Publication)
	}
	for s, list := range f.topics.got {
		sub := &f.h.Subscriptions[s]
		for _, i := range list {
			g := &f.h.Deliveries[i]
			p := &f.h.Publications[f.topics.published[g.Publication]]
			complain := ""
			switch {
			case !f.topics.matches(sub.Pattern, p.Topic):
				complain = "which does not match"
			case sub.NoEcho && sub.Peer == p.Peer:
				complain = "which its own node published"
			case g.At < p.Sent:
				complain = "before it was published"
			case g.At < sub.Asked || sub.Until >= 0 && g.At > plus(sub.Until, f.rules.Member):
				complain = "when it was no subscription"
			case g.Wrong != "":
				complain = "as " + g.Wrong
			}
			if complain != "" {
				d.add(g.At, "subscription %s to %s on %s got publication %d on %s of %s, %s",
					sub.Name, sub.Pattern, sub.Node, g.Publication, p.Topic, p.Publisher, complain)
			}
		}
	}
}
