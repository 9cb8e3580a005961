// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/inbox"
	"github.com/arke-mesh/arke/patterns/pubsub/match"
)

// subscription is one pattern that is listened to on this node.
type subscription struct {
	// Immutable.
	e       *Engine
	id      uint64
	pattern string
	queue   uint64 // 0 = none
	options patterns.SubscribeOptions
	inbox   *inbox.Inbox
	group   *group

	joined  atomic.Bool // its group has it
	closed  atomic.Bool
	retired bool // guarded by group.mu; it takes only what was under way
}

var _ patterns.Subscription = (*subscription)(nil)

// Subscribe is patterns.Messenger's.
func (e *Engine) Subscribe(ctx context.Context, pattern string, s patterns.Subscriber, o patterns.SubscribeOptions) (patterns.Subscription, error) {
	if err := match.CheckPattern(pattern); err != nil {
		return nil, err
	}
	if len(o.Queue) > maxQueueName {
		return nil, fmt.Errorf("%w: name of the queue: %d bytes are more than %d", patterns.ErrTopic, len(o.Queue), maxQueueName)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	pattern = strings.Clone(pattern)
	box, err := e.inboxes.New(inbox.Config{Subscriber: s, Options: o, Key: e.ids.Add(1)})
	if err != nil {
		return nil, err
	}
	e.order.Call("pubsub.subscribe", pattern, []byte(o.Queue), 0)
	sub := &subscription{e: e, pattern: pattern, queue: hashQueue(pattern, o.Queue), options: o, inbox: box}
	err = errForgotten
	for errors.Is(err, errForgotten) {
		if err := e.admit(sub); err != nil {
			return nil, err
		}
		err = sub.group.join(ctx, sub)
	}
	if err != nil {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = sub.Close(ended)
		return nil, err
	}
	return sub, nil
}

// admit makes the subscription one of this node's.
func (e *Engine) admit(sub *subscription) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return patterns.ErrClosed
	case sub.id == 0 && len(e.subs) >= e.cfg.MaxSubscriptions:
		e.drops.Inc(dropSubscriptions)
		return patterns.ErrTooMany
	}
	name, root := match.Group(sub.pattern)
	g := e.groups[name]
	if g == nil {
		g = newGroup(e, name, root)
		e.groups[name] = g
	}
	if sub.id == 0 {
		sub.id = e.ids.Add(1)
	}
	sub.group = g
	e.subs[sub.id] = sub
	return nil
}

// index is where the subscription is found.
func (e *Engine) index(root bool) *match.Index[*subscription] {
	if root {
		return &e.root
	}
	return &e.plain
}

// Pattern implements patterns.Subscription.
func (s *subscription) Pattern() string { return s.pattern }

// Status implements patterns.Subscription.
func (s *subscription) Status() patterns.SubscriptionStatus { return s.inbox.Status() }

// Close implements patterns.Subscription.
func (s *subscription) Close(ctx context.Context) error {
	if !s.closed.CompareAndSwap(false, true) {
		return s.inbox.Close(ctx)
	}
	s.e.order.Take("pubsub.unsubscribe", s.id)
	if s.group.retire(ctx, s) {
		overlay.Sleep(ctx, s.e.cfg.Clock, "pubsub.sleep", lingerTime)
		s.e.order.Take("pubsub.retired", s.id)
	}
	s.group.leave(s)
	s.e.mu.Lock()
	delete(s.e.subs, s.id)
	s.e.mu.Unlock()
	return s.inbox.Close(ctx)
}

// origin tells what is delivered how.
type origin struct {
	local  bool   // published on this node
	client uint64 // PublishOptions.Origin
}

// echoes says that the subscription does not want what it published itself.
func (s *subscription) echoes(o origin) bool {
	return o.local && s.options.NoEcho && s.options.Origin == o.client
}
