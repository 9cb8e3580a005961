// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"fmt"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/match"
)

// Publish implements patterns.Messenger.
func (n *Node) Publish(ctx context.Context, topic string, q patterns.Message, opts ...patterns.PublishOption) error {
	ctx, cancel := withDefaultTime(ctx)
	defer cancel()
	if n.PublishError != nil {
		if err := n.PublishError(ctx, topic, false); err != nil {
			return err
		}
	}
	for {
		room, err := n.publish(topic, q, opts)
		if err != nil || room == nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return &patterns.DeadlineError{Cause: ctx.Err()}
		}
	}
}

// TryPublish implements patterns.Messenger.
func (n *Node) TryPublish(topic string, q patterns.Message, opts ...patterns.PublishOption) error {
	if n.PublishError != nil {
		if err := n.PublishError(context.Background(), topic, true); err != nil {
			return err
		}
	}
	room, err := n.publish(topic, q, opts)
	if room != nil {
		return patterns.ErrWouldBlock
	}
	return err
}

// publish gives the message to all whom it concerns, or to nobody, and returns
// what to wait for.
func (n *Node) publish(topic string, q patterns.Message, opts []patterns.PublishOption) (room <-chan struct{}, err error) {
	if err := match.CheckTopic(topic); err != nil {
		return nil, err
	}
	origin := patterns.CollectPublishOptions(opts).Origin
	p := &patterns.Publication{Topic: topic, From: "peer", Headers: q.Headers, Body: q.Body}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, patterns.ErrClosed
	}
	chosen := n.audience(topic, origin)
	for _, s := range chosen {
		if s.o.Overflow == patterns.OverflowBlock && !s.hasRoom(p) {
			if s.room == nil {
				s.room = make(chan struct{})
			}
			return s.room, nil
		}
	}
	for _, s := range chosen {
		s.put(p)
	}
	return nil, nil
}

// audience returns who gets a message: everybody, but of each queue one only.
func (n *Node) audience(topic string, origin uint64) []*subscription {
	var chosen []*subscription
	queues := map[string][]*subscription{}
	for _, s := range n.subscriptions {
		switch {
		case !match.Matches(s.pattern, topic), s.o.NoEcho && s.o.Origin == origin:
		case s.o.Queue == "":
			chosen = append(chosen, s)
		default:
			key := s.pattern + " " + s.o.Queue
			queues[key] = append(queues[key], s)
		}
	}
	for _, group := range queues {
		n.turn++
		chosen = append(chosen, group[n.turn%len(group)])
	}
	return chosen
}

// Subscribe implements patterns.Messenger.
func (n *Node) Subscribe(ctx context.Context, pattern string, s patterns.Subscriber, o patterns.SubscribeOptions) (patterns.Subscription, error) {
	if n.SubscribeError != nil {
		if err := n.SubscribeError(pattern); err != nil {
			return nil, err
		}
	}
	if err := match.CheckPattern(pattern); err != nil {
		return nil, fmt.Errorf("fake: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, patterns.ErrClosed
	}
	sub := &subscription{node: n, pattern: pattern, subscriber: s, o: o.WithDefaults()}
	n.subscriptions = append(n.subscriptions, sub)
	return sub, nil
}

// Subscriptions returns the patterns of those there are, in the order of
// Subscribe.
func (n *Node) Subscriptions() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []string
	for _, s := range n.subscriptions {
		list = append(list, s.pattern)
	}
	return list
}

// Tell gives a gap to every subscription of the pattern.
func (n *Node) Tell(pattern string, g patterns.Gap) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.subscriptions {
		if s.pattern == pattern {
			s.gap(g)
		}
	}
}
