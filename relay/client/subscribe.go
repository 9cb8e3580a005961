// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

func (c *Client) addSubscription(pattern string, sub patterns.Subscriber, o patterns.SubscribeOptions) (*subscription, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state >= stateLeaving {
		return nil, patterns.ErrClosed
	}
	c.nextID++
	s := newSubscription(c, c.nextID, pattern, sub, o)
	c.subs[s.id] = s
	return s, nil
}

func (c *Client) removeSubscription(s *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subs, s.id)
	c.topics.remove(s.id)
}

// subscribeFirst subscribes for the first time.
func (a *attachment) subscribeFirst(ctx context.Context, s *subscription) error {
	if err := a.subscribe(ctx, s); err != nil {
		return err
	}
	c := a.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.closing {
		return patterns.ErrClosed
	}
	s.acked = true
	c.topics.add(s.id, c.attached == a)
	c.kickRoster()
	return nil
}

// subscribe asks the relay for s and waits for its answer.
func (a *attachment) subscribe(ctx context.Context, s *subscription) error {
	f, err := a.establish(ctx, a.subCalls, s.id,
		func() error { return a.sendSubscribe(ctx, s) },
		&session.Unsubscribe{ID: s.id, Timeout: 1})
	if err != nil {
		return err
	}
	if failed, ok := f.(*session.SubscribeFailed); ok {
		return failure.Error(failed.Failure, "")
	}
	return nil
}

// sendSubscribe queues the frame, unless s is closing. It holds the client's mu
// so that no Unsubscribe overtakes it: the subscription would stay.
func (a *attachment) sendSubscribe(ctx context.Context, s *subscription) error {
	c := a.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.closing {
		return patterns.ErrClosed
	}
	f := a.subscribeFrame(s)
	f.Timeout = remaining(ctx)
	if err := a.sender.SendReserved(f); err != nil {
		return errNotSent
	}
	return nil
}

// subscribeFrame returns what asks for s. The caller holds client.mu.
func (a *attachment) subscribeFrame(s *subscription) *session.Subscribe {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &session.Subscribe{
		ID:           s.id,
		NoEcho:       s.options.NoEcho,
		Resumed:      s.acked,
		Overflow:     uint8(s.options.Overflow),
		QueueLength:  uint32(max(s.options.QueueLength-s.window, 1)),
		QueueBytes:   uint32(max(s.options.QueueBytes-s.windowBytes, 1)),
		WindowLength: uint32(s.window),
		WindowBytes:  uint32(s.windowBytes),
		Queue:        s.options.Queue,
		Pattern:      s.pattern,
	}
	if s.acked {
		f.Number = s.number
	}
	return f
}

// unsubscribe has the relay end s and waits until all of it has come.
func (a *attachment) unsubscribe(ctx context.Context, s *subscription) error {
	reply, err := a.withdraw(ctx, a.unsubCalls, s.id, &session.Unsubscribe{ID: s.id, Timeout: remaining(ctx)})
	if reply == nil {
		return err
	}
	return notFinished(reply.(*session.Unsubscribed).Failure)
}

// notFinished is why not everything was delivered; a time that was over is the
// program's.
func notFinished(f session.Failure) error {
	err := failure.Error(f, "")
	var late *patterns.DeadlineError
	if errors.As(err, &late) {
		return late.Cause
	}
	return err
}

// subscribeOnce subscribes again, for the roster.
func (a *attachment) subscribeOnce(s *subscription) {
	err := a.subscribe(a.ctx, s)
	c := a.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attached != a {
		return // the roster has forgotten that it asked
	}
	if err != nil {
		c.log.Warn("can't subscribe again yet", zap.String("pattern", s.pattern), zap.Error(err))
		c.topics.failed(s.id, time.Now(), c.roll())
		c.kickRoster()
		return
	}
	if c.topics.registered(s.id) {
		c.log.Info("subscribed again", zap.String("pattern", s.pattern))
	}
}
