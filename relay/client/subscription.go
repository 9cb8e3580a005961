// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"sync"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/fifo"
	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
)

const (
	// Of a subscription's queue a half, and no more than this, is with the
	// client; the rest is the relay's.
	fetchLength = 1024
	fetchBytes  = 4 << 20
)

// subscription is one pattern, over all sessions. What came and waits for the
// program is bounded by what the relay may send before it hears that something
// was taken. It has a goroutine while something waits.
type subscription struct {
	// Immutable after Subscribe began.
	client      *Client
	id          uint64
	pattern     string
	subscriber  patterns.Subscriber
	options     patterns.SubscribeOptions
	window      int
	windowBytes int

	// Guarded by client.mu.
	acked   bool // a relay has acknowledged it once
	closing bool // Close has begun

	closed   chan struct{} // closed when Close is done
	closeErr error         // set before closed is

	// Guarded by mu.
	mu      sync.Mutex
	line    fifo.Queue[item]
	working bool
	dropped bool          // nothing is delivered any more
	idle    chan struct{} // closed when nothing waits; nil = nobody asks
	number  uint64        // of the latest that came
	status  patterns.SubscriptionStatus

	// Owned by whoever works.
	session *attachment // that untold is about
	untold  int         // messages taken that its relay does not know of
	bytes   int         // of these
}

// item is a message, or a gap, and the session it came on.
type item struct {
	p       *session.Publication
	g       *session.Gap
	number  uint64
	session *attachment
}

var _ patterns.Subscription = (*subscription)(nil)

func newSubscription(c *Client, id uint64, pattern string, s patterns.Subscriber, o patterns.SubscribeOptions) *subscription {
	return &subscription{
		client: c, id: id, pattern: pattern, subscriber: s, options: o,
		window:      max(min(o.QueueLength/2, fetchLength), 1),
		windowBytes: max(min(o.QueueBytes/2, fetchBytes), 1),
		closed:      make(chan struct{}),
	}
}

// size is what limits count.
func (i item) size() int {
	if i.p == nil {
		return 0
	}
	n := len(i.p.Topic) + len(i.p.Body)
	for _, h := range i.p.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return n
}

// receive is the reader's. What comes for a subscription that is gone crossed
// its end.
func (a *attachment) receive(id uint64, i item) error {
	c := a.client
	c.mu.Lock()
	s := c.subs[id]
	c.mu.Unlock()
	if s == nil {
		return nil
	}
	i.session = a
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number = i.number
	if s.dropped {
		return nil
	}
	if i.p != nil {
		s.status.Queued++
		s.status.Bytes += i.size()
	}
	s.push(i)
	if !s.working {
		s.working = true
		c.wg.Go(s.work)
	}
	return nil
}

// push adds i; gaps side by side become one for each reason, so that a program
// that is slow does not collect them. The caller holds mu.
func (s *subscription) push(i item) {
	for at := s.line.Len() - 1; i.g != nil && at >= 0 && s.line.At(at).g != nil; at-- {
		have := s.line.At(at).g
		if have.Reason != i.g.Reason {
			continue
		}
		have.Missed += i.g.Missed
		have.Exact = have.Exact && i.g.Exact
		if have.From != i.g.From {
			have.From = ""
		}
		return
	}
	s.line.Push(i)
}

// subscribed is the reader's: what follows counts from there.
func (a *attachment) subscribed(f *session.Subscribed) {
	a.client.mu.Lock()
	s := a.client.subs[f.ID]
	a.client.mu.Unlock()
	if s == nil {
		return
	}
	s.mu.Lock()
	s.number = f.Number
	s.mu.Unlock()
}

// work hands what waits to the program until nothing does.
func (s *subscription) work() {
	for {
		i, ok := s.next()
		if !ok {
			return
		}
		s.hand(i)
		if i.p != nil {
			s.tell(i)
		}
	}
}

// hand calls the program, which may panic: the next message is for it, too.
func (s *subscription) hand(i item) {
	defer func() {
		if p := recover(); p != nil {
			s.client.log.Error("a subscriber panicked", zap.String("pattern", s.pattern), zap.Any("panic", p), zap.Stack("stack"))
		}
	}()
	if i.p != nil {
		s.subscriber.ServePublication(&patterns.Publication{
			Topic: i.p.Topic, From: i.p.From,
			Headers: session.ConvertHeaders[patterns.Header](i.p.Headers), Body: i.p.Body,
		})
		return
	}
	s.subscriber.ServeGap(patterns.Gap{
		From: i.g.From, Missed: i.g.Missed, Exact: i.g.Exact, Reason: patterns.GapReason(i.g.Reason.String()),
	})
}

// next returns what waits longest.
func (s *subscription) next() (item, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client.ctx.Err() != nil || s.dropped {
		s.drop()
	}
	if s.line.Len() == 0 {
		s.line.Release() // it may stay empty for long
		s.working = false
		if s.idle != nil {
			close(s.idle)
			s.idle = nil
		}
		return item{}, false
	}
	i := s.line.Pop()
	if i.p != nil {
		s.status.Queued--
		s.status.Bytes -= i.size()
		s.status.Delivered++
	} else {
		s.status.Missed += i.g.Missed
	}
	return i, true
}

// drop forgets what waits. The caller holds mu.
func (s *subscription) drop() {
	s.dropped = true
	s.line.Clear()
	s.status.Queued, s.status.Bytes = 0, 0
}

// tell has the relay send more when half of its window is taken.
func (s *subscription) tell(i item) {
	if s.session != i.session {
		s.session, s.untold, s.bytes = i.session, 0, 0
	}
	s.untold++
	s.bytes += i.size()
	if s.untold < max(s.window/2, 1) && s.bytes < max(s.windowBytes/2, 1) {
		return
	}
	s.untold, s.bytes = 0, 0
	i.session.sender.SendReserved(&session.Taken{Subscription: s.id, Number: i.number}) // else the session is over
}

// Pattern implements patterns.Subscription.
func (s *subscription) Pattern() string { return s.pattern }

// Status implements patterns.Subscription. What waits at the relay is not in it.
func (s *subscription) Status() patterns.SubscriptionStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Close implements patterns.Subscription.
func (s *subscription) Close(ctx context.Context) error {
	c := s.client
	c.mu.Lock()
	first, a := !s.closing, c.attached
	s.closing = true
	c.topics.remove(s.id) // it does not come back
	c.mu.Unlock()
	if first {
		if a != nil { // else the relay has forgotten it, or will
			s.closeErr = a.unsubscribe(ctx, s)
		}
		c.removeSubscription(s)
		if err := s.finish(ctx); s.closeErr == nil {
			s.closeErr = err
		}
		close(s.closed)
	}
	select {
	case <-s.closed:
		return s.closeErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// finish waits until the program has had what came.
func (s *subscription) finish(ctx context.Context) error {
	s.mu.Lock()
	if !s.working {
		s.mu.Unlock()
		return nil
	}
	idle := make(chan struct{})
	s.idle = idle
	s.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	case <-s.client.ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
	return ctx.Err()
}
