// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/inbox"
	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// subscription is one pattern that is listened to on this node.
type subscription struct {
	// Immutable.
	l       *local
	id      uint64
	pattern string
	queue   uint64 // 0 = none
	options patterns.SubscribeOptions
	inbox   *inbox.Inbox // nil if it lives elsewhere:
	proxy   *Proxy
	remote  uint64 // its id there
	group   *group

	joined  atomic.Bool // its group has it
	closed  atomic.Bool
	retired bool // guarded by group.mu; it takes only what was under way
}

var _ patterns.Subscription = (*subscription)(nil)

func (l *local) newSubscription(ctx context.Context, pattern string, o patterns.SubscribeOptions) (*subscription, error) {
	if err := match.CheckPattern(pattern); err != nil {
		return nil, err
	}
	if len(o.Queue) > env.MaxQueueName {
		return nil, fmt.Errorf("%w: name of the queue: %d bytes are more than %d", patterns.ErrTopic, len(o.Queue), env.MaxQueueName)
	}
	if _, root := match.Group(pattern); root && o.Keys != "" {
		return nil, fmt.Errorf("%w: %.64q: keys are those of a first word", patterns.ErrTopic, pattern)
	}
	if err := l.Cfg.Rights.Subscribes(pattern); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	pattern, o.Queue, o.Keys = strings.Clone(pattern), strings.Clone(o.Queue), strings.Clone(o.Keys)
	return &subscription{l: l, pattern: pattern, queue: env.HashQueue(pattern, o.Queue), options: o}, nil
}

// join returns when publishers can know of the subscription.
func (s *subscription) join(ctx context.Context) error {
	s.l.Order.Call("pubsub.subscribe", s.pattern, []byte(s.options.Queue), 0)
	err := errForgotten
	for errors.Is(err, errForgotten) {
		if err := s.l.admit(s); err != nil {
			return err
		}
		err = s.group.join(ctx, s)
	}
	if err != nil {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Close(ended)
	}
	return err
}

// Pattern implements patterns.Subscription.
func (s *subscription) Pattern() string { return s.pattern }

// Status implements patterns.Subscription.
func (s *subscription) Status() patterns.SubscriptionStatus { return s.inbox.Status() }

// Close implements patterns.Subscription.
func (s *subscription) Close(ctx context.Context) error {
	if s.closed.CompareAndSwap(false, true) {
		s.l.Order.Take("pubsub.unsubscribe", s.id)
		if s.group.retire(ctx, s) {
			overlay.Sleep(ctx, s.l.Cfg.Clock, "pubsub.sleep", env.LingerTime)
			s.l.Order.Take("pubsub.retired", s.id)
		}
		s.group.leave(s)
		s.l.remove(s)
	}
	return s.end(ctx)
}

// end delivers what waits until ctx ends.
func (s *subscription) end(ctx context.Context) error {
	if s.inbox == nil {
		return nil
	}
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

// lends says that the subscription is a gateway's.
func (s *subscription) lends() bool { return s.proxy != nil && s.proxy.lender }

// lend hands a message to a gateway, which has it by that pick.
func (s *subscription) lend(d *Delivery, by wire.Pick, picks []wire.Pick) {
	d.Queue, d.Serial, d.Picks = by.Queue, by.Serial, picks
	s.proxy.delivered.Add(1)
	s.proxy.sink.Deliver(d, []uint64{s.remote})
	d.Queue, d.Serial, d.Picks = 0, 0, nil
}
