// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/inbox"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// subscription is one pattern, over all sessions. What came waits in its inbox,
// whose limits are the program's.
type subscription struct {
	// Immutable after Subscribe.
	client  *Client
	claim   claim
	pattern string
	inbox   *inbox.Inbox
	taker   *taker // nil unless it blocks publishers
}

var _ patterns.Subscription = (*subscription)(nil)

func newSubscription(c *Client, pattern string, s patterns.Subscriber, o patterns.SubscribeOptions) (*subscription, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.takes(); err != nil {
		return nil, err
	}
	sub := &subscription{client: c, pattern: pattern}
	f := wire.Subscribe{ID: c.nextID(), Queue: o.Queue, Pattern: pattern, Length: uint32(max(o.QueueLength, 0)), Bytes: uint32(max(o.QueueBytes, 0))}
	o = o.WithDefaults()
	if o.NoEcho {
		f.Options |= wire.SubscribeNoEcho
	}
	if o.Signed {
		f.Options |= wire.SubscribeSigned
	}
	if o.Overflow == patterns.OverflowBlock {
		f.Options |= wire.SubscribeBlocks
		sub.taker = &taker{link: c.link, id: f.ID, subscriber: s, every: uint64(max(o.QueueLength/2, 1))}
		s = sub.taker
	}
	box, err := c.inboxes.New(inbox.Config{Subscriber: s, Options: o, Key: f.ID})
	if err != nil {
		return nil, err
	}
	sub.inbox = box
	sub.claim = claim{
		id: f.ID, name: pattern, kind: wire.KindSubscribe, frame: f.AppendTo(nil),
		granted: func(wire.Done) {}, lost: sub.lost, closed: make(chan struct{}),
	}
	c.topics.add(sub)
	return sub, nil
}

// put is called by the link's reader.
func (s *subscription) put(r inbox.Run) {
	if s.taker != nil {
		s.taker.came.Add(uint64(r.Count))
	}
	s.inbox.PutRun(r)
}

// lost tells the program that nobody knows what it misses from here on.
func (s *subscription) lost() {
	if s.taker != nil {
		s.taker.before.Store(s.taker.came.Load())
	}
	s.inbox.Gap(patterns.Gap{Reason: patterns.GapRelay})
}

// Pattern implements patterns.Subscription.
func (s *subscription) Pattern() string { return s.pattern }

// Status implements patterns.Subscription.
func (s *subscription) Status() patterns.SubscriptionStatus { return s.inbox.Status() }

// Close implements patterns.Subscription.
func (s *subscription) Close(ctx context.Context) error {
	// What was sent for it has come when the relay answers.
	return s.client.claims.close(ctx, &s.claim, func() error {
		s.client.topics.remove(s)
		return s.inbox.Close(ctx)
	})
}

// taker is the subscriber of a subscription that blocks publishers: it tells the
// relay how many messages of its session the program has had.
type taker struct {
	link       *link
	id         uint64
	subscriber patterns.Subscriber
	every      uint64 // messages that are told together

	came, taken atomic.Uint64
	before      atomic.Uint64 // that came in earlier sessions
}

// ServePublication implements patterns.Subscriber.
func (t *taker) ServePublication(p patterns.Publication) {
	defer t.tell()
	t.subscriber.ServePublication(p)
}

func (t *taker) tell() {
	n, before := t.taken.Add(1), t.before.Load()
	if n <= before || n%t.every != 0 {
		return
	}
	// Where it can't be sent the session is over.
	_, _ = t.link.Send(wire.LaneCtl, wire.KindTunnelCredit, wire.TunnelCredit{ID: t.id, Total: n - before}.AppendTo(nil))
}

// ServeGap implements patterns.Subscriber.
func (t *taker) ServeGap(g patterns.Gap) { t.subscriber.ServeGap(g) }
