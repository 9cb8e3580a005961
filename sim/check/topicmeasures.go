// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"
)

// reach counts what became of publications, of one work or for one entry of
// subscriptions.
type reach struct {
	published, failed       int
	deliveries              int
	due, came               uint64
	reported, silent        uint64
	reasons                 map[string]uint64
	took, publish, asked    []time.Duration
	subscriptions, rejected int
	unknown                 int // gaps of which nobody knows how many messages they are
}

// measureTopics measures what was published, delivered and reported.
func measureTopics(x *topics, s metrics) {
	if len(x.h.Publications) == 0 && len(x.h.Subscriptions) == 0 {
		return
	}
	all := make(map[string]*reach)
	countPublications(x, all)
	countDeliveries(x, all)
	countReasons(x, all)
	for i := range x.h.Subscriptions {
		countSubscription(x, all, i)
	}
	for _, q := range x.queueList() {
		countDue(x, all, x.queues[q])
		entry(all, "").silent += x.silent(x.queues[q])
	}
	for name, r := range all {
		r.measure(s, name)
	}
	measureQueueBalance(x, s)
}

func countPublications(x *topics, all map[string]*reach) {
	for i := range x.h.Publications {
		p := &x.h.Publications[i]
		if p.Work == probe {
			continue
		}
		for _, name := range labels(p.Work) {
			r := entry(all, name)
			switch {
			case p.Outcome == "published":
				r.published++
				r.publish = append(r.publish, minus(p.Ended, p.Sent))
			case !p.Lost:
				r.failed++
			}
		}
	}
}

func countDeliveries(x *topics, all map[string]*reach) {
	for i, list := range x.got {
		for _, n := range list {
			g := &x.h.Deliveries[n]
			p := &x.h.Publications[x.published[g.Publication]]
			if p.Work == probe {
				continue
			}
			for _, name := range labels(p.Work, x.h.Subscriptions[i].Name) {
				r := entry(all, name)
				r.deliveries++
				r.took = append(r.took, max(0, minus(g.At, p.Sent)))
			}
		}
	}
}

func countReasons(x *topics, all map[string]*reach) {
	for _, g := range x.h.Gaps {
		if g.Subscription < 0 || g.Subscription >= len(x.h.Subscriptions) {
			continue
		}
		for _, name := range labels(x.h.Subscriptions[g.Subscription].Name) {
			r := entry(all, name)
			if r.reasons == nil {
				r.reasons = make(map[string]uint64)
			}
			r.reasons[g.Reason] += g.Missed
			if g.Missed == 0 && !g.Exact {
				r.unknown++
			}
		}
	}
}

func countSubscription(x *topics, all map[string]*reach, subscription int) {
	s := &x.h.Subscriptions[subscription]
	for _, name := range labels(s.Name) {
		r := entry(all, name)
		if s.From < 0 {
			if s.Leaving < 0 {
				r.rejected++
			}
			continue
		}
		r.subscriptions++
		r.asked = append(r.asked, minus(s.From, s.Asked))
		for _, t := range x.told[subscription] {
			r.reported += t.all
		}
		if s.Queue == "" {
			r.silent += x.silent([]int{subscription})
		}
	}
	if s.Queue == "" && s.From >= 0 {
		countDue(x, all, []int{subscription})
	}
}

// countDue counts what had to come to a subscription or a queue, and came.
func countDue(x *topics, all map[string]*reach, subscriptions []int) {
	for i := range x.h.Publications {
		p := &x.h.Publications[i]
		if p.Work == probe {
			continue
		}
		owed, came := x.owed(subscriptions, i)
		if owed != must {
			continue
		}
		for _, name := range labels(p.Work, x.h.Subscriptions[subscriptions[0]].Name) {
			r := entry(all, name)
			r.due++
			if came {
				r.came++
			}
		}
	}
}

func (r *reach) measure(s metrics, name string) {
	for metric, n := range map[string]int{
		"published": r.published, "publish_failed": r.failed, "deliveries": r.deliveries,
		"reported": int(r.reported), "unreported": int(r.silent),
		"subscriptions": r.subscriptions, "subscriptions_failed": r.rejected,
		"gaps_slow": int(r.reasons["slow"]), "gaps_lane": int(r.reasons["lane"]),
		"gaps_border": int(r.reasons["border"]), "gaps_lost": int(r.reasons["lost"]), "gaps_relay": int(r.reasons["relay"]), "gaps_unknown": r.unknown,
	} {
		s.count(named(metric, name), n)
	}
	s.share(named("delivered", name), int(r.came), int(r.due))
	s.quantilesOf(name, "delivery", r.took)
	s.quantilesOf(name, "publish", r.publish)
	s.quantilesOf(name, "subscribe", r.asked)
}

// measureQueueBalance finds out how evenly queues of subscriptions share.
func measureQueueBalance(x *topics, s metrics) {
	var e evenness
	for _, q := range x.queueList() {
		var got []int
		for _, i := range x.queues[q] {
			sub := &x.h.Subscriptions[i]
			if sub.From > x.h.Start || sub.Leaving >= 0 && sub.Leaving < x.h.Safety || sub.Slow {
				continue
			}
			got = append(got, len(x.got[i]))
		}
		e.add(got)
	}
	e.measure(s, "queue_balance")
}

func topicMetrics() []MetricInfo {
	return slices.Concat(perWork(slices.Concat(
		[]MetricInfo{
			{Name: "published", Unit: Count, Meaning: "publications that Publish took; without the probes of the liveness phase"},
			{Name: "publish_failed", Unit: Count, Meaning: "publications that it did not take, of publishers that were not hit"},
			{Name: "deliveries", Unit: Count, Meaning: "publications that a subscription got, counted for each"},
			{Name: "delivered", Unit: Percent, Meaning: "of the publications that had to come to a subscription, or to a queue of them, those that did; what was published just before its or the publisher's end, or while one of the two was disturbed, has not to"},
			{Name: "reported", Unit: Count, Meaning: "messages that subscriptions were told they missed"},
			{Name: "unreported", Unit: Count, Meaning: "messages that had to come, did not, and were not reported"},
			{Name: "gaps_slow", Unit: Count, Meaning: "messages reported as missing because the subscription's queue was full"},
			{Name: "gaps_lane", Unit: Count, Meaning: "messages reported as missing because a lane on the way was full"},
			{Name: "gaps_lost", Unit: Count, Meaning: "messages reported as missing because a link or a forwarder was lost"},
			{Name: "gaps_border", Unit: Count, Meaning: "messages reported as missing because a gateway could not bring them, or was lost"},
			{Name: "gaps_relay", Unit: Count, Meaning: "messages reported as missing because of the relay"},
			{Name: "gaps_unknown", Unit: Count, Meaning: "times that a subscription was told that nobody knows how many messages it has missed: its relay was replaced"},
			{Name: "subscriptions", Unit: Count, Meaning: "subscriptions that were acknowledged"},
			{Name: "subscriptions_failed", Unit: Count, Meaning: "subscriptions that failed on a node that lived on"},
		},
		quantiles("delivery", "time from a publication until a subscription got it"),
		quantiles("publish", "time that Publish took"),
		quantiles("subscribe", "time until a subscription was acknowledged"),
	), nil), []MetricInfo{
		{Name: "queue_balance", Unit: Ratio, Meaning: "publications that the busiest subscription of a queue got by their mean, of those that were there from start to end and not slow; of the worst queue"},
		{Name: "egress", Unit: Ratio, Meaning: "bytes that a publisher sent on lane pub for each byte of a body that it published, between two samples; of the worst publisher. It says to how many nodes it sends each message itself"},
		{Name: "egress_others", Unit: Ratio, Meaning: "the same of nodes that published nothing themselves, for each byte that anybody published; of the busiest. It says to how many a forwarder passes on"},
	})
}

// topicPublisher is the way that one publication took.
type topicPublisher struct {
	hops  map[string]int     // node → how many nodes before it had the publication
	sent  map[string]int     // node → to how many others it sent it
	legs  map[[2]string]bool // from, to: so that what is sent again counts once
	bytes int                // of the copies that its publisher's node sent
}

// courses follows each publication from node to node.
func courses(x *topics) []*topicPublisher {
	out := make([]*topicPublisher, len(x.h.Publications))
	for _, c := range x.h.Copies {
		n, ok := x.published[c.Publication]
		if !ok {
			continue
		}
		publisher := x.lives.carrier(x.h.Publications[n].Publisher)
		if out[n] == nil {
			out[n] = &topicPublisher{hops: map[string]int{publisher: 0}, sent: make(map[string]int), legs: make(map[[2]string]bool)}
		}
		way := out[n]
		if leg := [2]string{c.From, c.To}; !way.legs[leg] {
			way.legs[leg] = true
			way.sent[c.From]++
		}
		if c.From == publisher {
			way.bytes += c.Bytes
		}
		before, known := way.hops[c.From]
		if _, again := way.hops[c.To]; known && !again {
			way.hops[c.To] = before + 1
		}
	}
	return out
}

// crowd is the largest of what is measured of the ways of publications.
type crowd struct {
	depth, deliveries          int
	own, others, bytes, copied int
}

// measureCopies finds out which way publications took, if the level heard them.
func measureCopies(x *topics, s metrics) {
	if len(x.h.Copies) == 0 {
		return
	}
	ways := courses(x)
	all := make(map[string]*crowd)
	for i, way := range ways {
		p := &x.h.Publications[i]
		if way == nil || p.Work == probe {
			continue
		}
		for _, name := range labels(p.Work) {
			entry(all, name).add(way, x.lives.carrier(p.Publisher))
		}
	}
	measureDepth(x, ways, all)
	for name, c := range all {
		s.sampled(named("publisher_copies", name), float64(c.own), Count, c.copied)
		s.sampled(named("publisher_bytes", name), float64(c.bytes), Bytes, c.copied)
		s.sampled(named("forwarder_copies", name), float64(c.others), Count, c.copied)
		s.sampled(named("tree_depth", name), float64(c.depth), Count, c.deliveries)
	}
}

func (c *crowd) add(way *topicPublisher, publisher string) {
	c.copied++
	c.bytes = max(c.bytes, way.bytes)
	for node, n := range way.sent {
		if node == publisher {
			c.own = max(c.own, n)
		} else {
			c.others = max(c.others, n)
		}
	}
}

// measureDepth looks at how far what was delivered had come.
func measureDepth(x *topics, courses []*topicPublisher, all map[string]*crowd) {
	for i, list := range x.got {
		sub := &x.h.Subscriptions[i]
		for _, n := range list {
			at := x.published[x.h.Deliveries[n].Publication]
			p := &x.h.Publications[at]
			if courses[at] == nil || p.Work == probe {
				continue
			}
			hops, known := courses[at].hops[x.lives.carrier(sub.Node)]
			if !known {
				continue
			}
			for _, name := range labels(p.Work, sub.Name) {
				c := entry(all, name)
				c.deliveries++
				c.depth = max(c.depth, hops)
			}
		}
	}
}

func copyMetrics() []MetricInfo {
	return perWork([]MetricInfo{
		{Name: "tree_depth", Unit: Count, Meaning: "links that a publication passed until it was delivered, at most; counted from node to node, at level sim only. None of those below knows publications that are sealed or larger than a frame"},
		{Name: "publisher_copies", Unit: Count, Meaning: "nodes to which the node of a publisher sent one publication itself, at most; level sim only"},
		{Name: "publisher_bytes", Unit: Bytes, Meaning: "bytes of one publication that its publisher's node sent, with all that is around the message and what was sent again, at most; level sim only"},
		{Name: "forwarder_copies", Unit: Count, Meaning: "nodes to which another node passed one publication on, at most; level sim only"},
	}, nil)
}
