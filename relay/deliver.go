// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"time"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// ServeRequest hands the request to the client and waits for its answer. It
// runs on the node's goroutines, as many as the registration's concurrency.
// After a cancellation it still waits, as it would for a handler of the node's
// own: the client is at it, and its place is taken.
func (m *member) ServeRequest(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
	c := m.client
	answers := make(chan *session.Answer, 1)
	id := c.addDelivery(answers)
	defer c.removeDelivery(id)
	if err := c.deliver(ctx, m.deliverFrame(id, r)); err != nil {
		return patterns.Message{}, err
	}
	select {
	case a := <-answers:
		return unwrap(a)
	case <-ctx.Done():
		c.tell(&session.DeliverCancel{ID: id})
	case <-c.ctx.Done():
	}
	select {
	case a := <-answers:
		return unwrap(a)
	case <-c.ctx.Done():
		return patterns.Message{}, &patterns.Refusal{Cause: patterns.ErrInterrupted}
	}
}

func (m *member) deliverFrame(id uint64, r *patterns.Request) *session.Deliver {
	f := &session.Deliver{
		ID:           id,
		Registration: m.id,
		Pattern:      uint8(r.Pattern),
		From:         r.From,
		Headers:      session.ConvertHeaders[session.Header](r.Headers),
		Body:         r.Body,
	}
	if !r.Deadline.IsZero() {
		f.Remaining = session.Micros(time.Until(r.Deadline))
	}
	return f
}

// deliverPatience is how long a client may read nothing while a request waits
// for room in its queue. Then the request is refused, and goes to another
// member. A client that reads may be short of room after a burst.
const deliverPatience = 500 * time.Millisecond

// deliver queues f, or says that no handler will see it.
func (c *client) deliver(ctx context.Context, f session.Frame) error {
	_, err := c.sender.SendWhileRead(ctx, f, deliverPatience)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, session.ErrQueueFull), err == ctx.Err():
		c.relay.count.drop(dropSlowDelivery)
		return &patterns.Refusal{Cause: patterns.ErrOverloaded}
	case errors.Is(err, session.ErrSenderClosed):
		return &patterns.Refusal{Cause: patterns.ErrClosed}
	}
	return &patterns.Refusal{Cause: patterns.ErrTooLarge}
}

// unwrap returns what the client's handler would have returned here.
func unwrap(a *session.Answer) (patterns.Message, error) {
	err, _ := failure.HandlerError(a.Failure) // handleAnswer refused what it can't be
	if err != nil {
		return patterns.Message{}, err
	}
	return patterns.Message{Headers: session.ConvertHeaders[patterns.Header](a.Headers), Body: a.Body}, nil
}

func (c *client) addDelivery(answers chan<- *session.Answer) (id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastDelivery++
	c.deliveries[c.lastDelivery] = answers
	return c.lastDelivery
}

func (c *client) removeDelivery(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.deliveries, id)
}

// takeDelivery returns where the answer goes, once.
func (c *client) takeDelivery(id uint64) chan<- *session.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	answers := c.deliveries[id]
	delete(c.deliveries, id)
	return answers
}

func (c *client) handleAnswer(f *session.Answer) (violation string) {
	if _, ok := failure.HandlerError(f.Failure); !ok {
		return "an answer can't be " + f.Outcome.String()
	}
	answers := c.takeDelivery(f.ID)
	if answers == nil {
		c.relay.count.drop(dropLateAnswer)
		return ""
	}
	answers <- f // has room for the only one
	return ""
}
