// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"
)

// checkTwice: a subscription gets a publication once at most, and of a queue of
// subscriptions only one gets it. This holds whatever happens.
func checkTwice(x *topics, d *docket) {
	for s, list := range x.got {
		seen := make(map[uint64]bool, len(list))
		for _, i := range list {
			if g := &x.h.Deliveries[i]; seen[g.Publication] {
				sub := &x.h.Subscriptions[s]
				d.add(g.At, "subscription %s to %s on %s got publication %d twice", sub.Name, sub.Pattern, sub.Node, g.Publication)
			}
			seen[x.h.Deliveries[i].Publication] = true
		}
	}
	for _, q := range x.queueList() {
		first := make(map[uint64]int)
		for _, i := range gotBy(x, x.queues[q]) {
			g := &x.h.Deliveries[i]
			if s, again := first[g.Publication]; again && s != g.Subscription {
				d.add(g.At, "of queue %s of %s both %s and %s got publication %d",
					q.name, q.pattern, x.h.Subscriptions[s].Node, x.h.Subscriptions[g.Subscription].Node, g.Publication)
			}
			first[g.Publication] = g.Subscription
		}
	}
}

// gotBy lists what several subscriptions got, by time.
func gotBy(x *topics, subscriptions []int) []int {
	var all []int
	for _, s := range subscriptions {
		all = append(all, x.got[s]...)
	}
	slices.SortStableFunc(all, func(a, b int) int { return compareTimes(x.h.Deliveries[a].At, x.h.Deliveries[b].At) })
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
func checkAstray(x *topics, d *docket) {
	for _, i := range x.strays {
		d.add(x.h.Deliveries[i].At, "publication %d was delivered, and nobody made it", x.h.Deliveries[i].Publication)
	}
	for s, list := range x.got {
		sub := &x.h.Subscriptions[s]
		for _, i := range list {
			g := &x.h.Deliveries[i]
			p := &x.h.Publications[x.published[g.Publication]]
			complain := ""
			switch {
			case !x.matches(sub.Pattern, p.Topic):
				complain = "which does not match"
			case sub.NoEcho && sub.Node == p.Publisher:
				complain = "which it published itself"
			case g.At < p.Sent:
				complain = "before it was published"
			case g.At < sub.Asked || sub.Until >= 0 && g.At > plus(sub.Until, x.rules.Member):
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
