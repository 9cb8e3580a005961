// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

const (
	// maxWaiters is how many full subscriptions of one client may have
	// publishers wait.
	maxWaiters = 64
	// flushPatience is how long a drain waits for clients to take what their
	// subscriptions got.
	flushPatience = 2 * time.Second
)

// topics are the subscriptions of one client. An idle one has no goroutine.
type topics struct {
	// Immutable after inherit.
	client *client
	before *kept // of the client's previous session; nil = nothing

	waiters atomic.Int32 // full subscriptions that block
	held    atomic.Int64 // bytes that wait in all of them

	// Guarded by client.mu.
	byID map[uint64]*subscription
}

// subscription is a feed and what the client asked for.
type subscription struct {
	// Immutable after handleSubscribe.
	feed *feed

	// Lifecycle.
	ctx    context.Context // when it ends, everything is over at once
	cancel context.CancelFunc
	ready  chan struct{} // closed when the Subscribe was answered
	failed bool          // set before ready is closed: it is gone

	// Guarded by client.mu.
	leaving bool
	asked   bool // an Unsubscribed is due
}

func newTopics(c *client) *topics {
	return &topics{client: c, byID: map[uint64]*subscription{}}
}

func (t *topics) handleSubscribe(f *session.Subscribe) (violation string) {
	c := t.client
	c.mu.Lock()
	_, duplicate := t.byID[f.ID]
	err := failure.ErrDraining
	if !c.draining && !duplicate {
		err = c.quota.subscribe()
	}
	if duplicate || err != nil {
		c.mu.Unlock()
		if duplicate {
			return fmt.Sprintf("subscription %d is there already", f.ID)
		}
		c.countLimit(err)
		c.tell(&session.SubscribeFailed{ID: f.ID, Failure: failure.Of(err)})
		return ""
	}
	s := &subscription{feed: t.before.claim(f), ready: make(chan struct{})}
	if s.feed == nil {
		s.feed = newFeed(c, f)
	}
	s.ctx, s.cancel = context.WithCancel(c.ctx)
	t.byID[f.ID] = s
	c.mu.Unlock()
	answer := s.feed.resume(c, f)
	if s.feed.source != nil { // it goes on at the node
		t.begin(s, answer)
		return ""
	}
	c.wg.Go(func() { t.open(s, f, answer) })
	return ""
}

// open subscribes at the node.
func (t *topics) open(s *subscription, f *session.Subscribe, answer *session.Subscribed) {
	timeout := registerTimeout
	if f.Timeout > 0 {
		timeout = session.Duration(f.Timeout)
	}
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	defer cancel()
	source, err := t.client.relay.cfg.Node.Subscribe(ctx, f.Pattern, s.feed, s.feed.atNode())
	if err == nil {
		s.feed.source = source
		t.begin(s, answer)
		return
	}
	if t.client.relay.isDraining() {
		err = failure.ErrDraining
	}
	s.feed.end()
	asked := t.forget(s)
	t.client.tell(&session.SubscribeFailed{ID: f.ID, Failure: failure.Of(err)})
	if asked {
		t.client.tell(&session.Unsubscribed{ID: f.ID})
	}
	s.failed = true
	close(s.ready)
}

// begin lets the feed go to the client, behind the answer.
func (t *topics) begin(s *subscription, answer *session.Subscribed) {
	d := s.feed
	d.mu.Lock()
	t.client.tell(answer)
	d.become(feedLive)
	d.announce()
	d.mu.Unlock()
	close(s.ready)
}

// forget gives id and place free, and says whether an Unsubscribed is due.
func (t *topics) forget(s *subscription) (asked bool) {
	c := t.client
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(t.byID, s.feed.id)
	c.quota.subscribeDone()
	s.cancel()
	return s.asked
}

func (t *topics) handleUnsubscribe(f *session.Unsubscribe) {
	c := t.client
	c.mu.Lock()
	s := t.byID[f.ID]
	again := s != nil && s.asked
	leaving := s != nil && s.leaving
	if s != nil {
		s.asked, s.leaving = true, true
	}
	c.mu.Unlock()
	switch {
	case s == nil: // gone already, which is what is wanted
		c.tell(&session.Unsubscribed{ID: f.ID})
	case again:
		s.cancel()
	case !leaving:
		c.wg.Go(func() { t.close(s, f.Timeout) })
	}
}

// close ends a subscription when what waits is delivered, or after so many µs
// (0 = as long as it needs).
func (t *topics) close(s *subscription, timeout uint64) {
	select {
	case <-s.ready:
	case <-s.ctx.Done():
	}
	if t.isGone(s) {
		return
	}
	ctx, cancel := withTimeout(s.ctx, timeout)
	defer cancel()
	err := s.feed.close(ctx)
	s.feed.end()
	if t.client.ctx.Err() != nil {
		return // end sees to it
	}
	if t.forget(s) {
		t.client.tell(&session.Unsubscribed{ID: s.feed.id, Failure: failure.Of(err)})
	}
}

// isGone says that the subscription was refused.
func (t *topics) isGone(s *subscription) bool {
	select {
	case <-s.ready:
		return s.failed
	default:
		return t.client.ctx.Err() != nil
	}
}

func (t *topics) handleTaken(f *session.Taken) (violation string) {
	t.client.mu.Lock()
	s := t.byID[f.Subscription]
	t.client.mu.Unlock()
	if s == nil {
		return "" // it crossed the end
	}
	if !s.feed.taken(f.Number) {
		return fmt.Sprintf("subscription %d has not had number %d", f.Subscription, f.Number)
	}
	return ""
}

// all returns the subscriptions there are.
func (t *topics) all() []*subscription {
	t.client.mu.Lock()
	defer t.client.mu.Unlock()
	return slices.Collect(maps.Values(t.byID))
}

// drain closes every subscription: the client gets what waits for it, or a gap
// if it is slow. It returns false if ctx ended before.
func (t *topics) drain(ctx context.Context) bool {
	var wg sync.WaitGroup
	for _, s := range t.all() {
		t.client.mu.Lock()
		leaving := s.leaving
		s.leaving = true
		t.client.mu.Unlock()
		if leaving {
			continue
		}
		wg.Go(func() {
			patience, cancel := context.WithTimeout(ctx, flushPatience)
			defer cancel()
			defer context.AfterFunc(t.client.ctx, cancel)()
			select {
			case <-s.ready:
			case <-patience.Done():
			}
			if t.isGone(s) {
				return
			}
			if err := s.feed.close(patience); err != nil {
				s.feed.giveUp(ctx)
			}
			s.feed.end()
			t.forget(s)
		})
	}
	wg.Wait()
	return ctx.Err() == nil
}

// tooMuch says that so many bytes more are beyond what may wait for the client.
func (t *topics) tooMuch(size int) bool {
	return t.held.Load()+int64(size) > int64(t.client.relay.cfg.Limits.PublicationBytes)
}

// leaves says that the subscription is being closed.
func (t *topics) leaves(s *subscription) bool {
	t.client.mu.Lock()
	defer t.client.mu.Unlock()
	return s.leaving
}

// end is after the session: what is not gone yet is kept for a while.
func (t *topics) end() {
	t.client.relay.keep(t.client, t.all())
}
