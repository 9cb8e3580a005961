// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"fmt"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/history"
	"github.com/arke-mesh/arke/sim/scenario"
)

// listener is one subscription of one life of a node.
type listener struct {
	p     *player
	node  *crewNode
	index int // in the history
	work  time.Duration
	open  patterns.Subscription // guarded by crewNode.mu; nil until it is acknowledged
	entry int                   // of the scenario
}

// ServePublication implements patterns.Subscriber.
func (s *listener) ServePublication(got *patterns.Publication) {
	s.p.record.delivered(s.index, s.p.level.Now(), got)
	s.node.mu.Lock()
	factor := s.node.factor
	s.node.mu.Unlock()
	if d := s.work * time.Duration(max(1, factor)); d > 0 {
		time.Sleep(d)
	}
}

// ServeGap implements patterns.Subscriber.
func (s *listener) ServeGap(g patterns.Gap) { s.p.record.gap(s.index, s.p.level.Now(), g) }

// subscribeAll makes the subscriptions that a life has from its start on.
func (c *crew) subscribeAll(n *crewNode, l *life) {
	now := c.p.level.Now() - c.p.start
	for _, i := range n.subscriptions {
		s := c.p.scenario.Subscriptions[i]
		began := s.Start == 0 || c.p.start > 0 && s.Start.D() <= now
		if began && (s.Stop == 0 || c.p.start == 0 || now < s.Stop.D()) {
			c.subscribe(n, l, i)
		}
	}
}

// subscribe makes one entry's subscriptions of a life.
func (c *crew) subscribe(n *crewNode, l *life, entry int) {
	s, p := c.p.scenario.Subscriptions[entry], c.p
	for range max(1, s.Count) {
		h := &listener{p: p, node: n, work: s.Work.D(), entry: entry}
		h.index = p.record.subscribing(history.Subscription{
			Name: s.Name, Node: n.name, Peer: l.Peer(), Pattern: s.Pattern, Queue: s.Queue, NoEcho: s.NoEcho,
			Slow: s.Work > 0 || s.QueueLength > 0 || s.QueueBytes > 0, Asked: p.level.Now(), From: -1, Leaving: -1, Until: -1,
		})
		n.mu.Lock()
		l.listeners = append(l.listeners, h)
		n.mu.Unlock()
		ctx, cancel := l.Within(subscribeWithin)
		open, err := l.Subscribe(ctx, s.Pattern, h, optionsOf(s))
		cancel()
		if err != nil {
			p.record.notSubscribed(h.index, err)
			continue
		}
		p.record.subscribed(h.index, p.level.Now())
		n.mu.Lock()
		h.open = open
		n.mu.Unlock()
	}
}

func optionsOf(s scenario.Subscription) patterns.SubscribeOptions {
	return patterns.SubscribeOptions{
		Queue: s.Queue, NoEcho: s.NoEcho, QueueLength: s.QueueLength, QueueBytes: int(s.QueueBytes),
		Overflow: map[string]patterns.Overflow{
			"newest": patterns.OverflowNewest, "block": patterns.OverflowBlock,
		}[s.Overflow],
	}
}

// unsubscribe ends one entry's subscriptions of a node.
func (c *crew) unsubscribe(n *crewNode, entry int) {
	l := n.alive()
	if l == nil {
		return
	}
	for _, h := range n.heard(l) {
		n.mu.Lock()
		open := h.open
		n.mu.Unlock()
		if h.entry != entry || open == nil {
			continue
		}
		c.p.record.unsubscribing([]int{h.index}, c.p.level.Now())
		ctx, cancel := l.Within(stopWithin)
		_ = open.Close(ctx)
		cancel()
		c.p.record.unsubscribed([]int{h.index}, c.p.level.Now())
	}
}

// heard are the subscriptions that a life has made.
func (n *crewNode) heard(l *life) []*listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]*listener(nil), l.listeners...)
}

// plan plans what crews do by themselves in the safety phase: subscriptions that
// begin or end, and looks at the members of clients.
func (c *crew) plan() {
	for _, n := range c.nodes {
		c.renew(n, n.alive())
	}
	for i, s := range c.p.scenario.Subscriptions {
		for _, name := range s.Nodes {
			n := c.by[name]
			if s.Start > 0 {
				c.p.at(c.p.start+s.Start.D(), fmt.Sprintf("subscribe %s %d", name, i), func() {
					if l := n.alive(); l != nil {
						c.subscribe(n, l, i)
					}
				})
			}
			if s.Stop > 0 {
				c.p.at(c.p.start+s.Stop.D(), fmt.Sprintf("unsubscribe %s %d", name, i), func() { c.unsubscribe(n, i) })
			}
		}
	}
}
