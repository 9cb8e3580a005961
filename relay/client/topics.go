// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/match"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// Publish implements patterns.Messenger: it returns when the relay says that
// its node's Publish has. Several goroutines have as many under way at once. A
// ctx that ends does not take back what the relay was sent.
func (c *Client) Publish(ctx context.Context, topic string, m patterns.Message, _ ...patterns.PublishOption) error {
	f, err := c.publishFrame(topic, m)
	if err != nil {
		return err
	}
	f.Body = lasting(m.Body)
	if err := c.begin(); err != nil {
		return err
	}
	defer c.end()
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultTimeout)
		defer cancel()
	}
	var tries course
	for {
		a, err := c.current(ctx)
		if err == nil {
			err = c.publish(ctx, a, *f)
		}
		if errors.Is(err, failure.ErrDraining) {
			err = a.awaitEnd(ctx, err)
		}
		if again, final := tries.settle(err); !again {
			return final
		}
	}
}

func (c *Client) publish(ctx context.Context, a *attachment, f session.Publish) error {
	if ctx.Err() != nil {
		return &patterns.DeadlineError{Cause: cause(ctx)}
	}
	deadline, _ := ctx.Deadline()
	f.Timeout = session.Micros(time.Until(deadline))
	return c.out.publish(ctx, a, &departure{frame: &f, size: sizeOf(&f), done: make(chan error, 1)})
}

// TryPublish implements patterns.Messenger. It does not wait for the relay: it
// has many messages under way, in order with those of Publish, and returns
// patterns.ErrWouldBlock if these are too many (1,024, or 4 MiB) or the relay
// is gone. A relay that is shut down in good order loses none of them. Where some
// that were taken could not be published after all, or may not have been because
// the relay was lost, the next TryPublish says how many: its own message was not
// sent then. What no TryPublish has said, Shutdown or Close does.
func (c *Client) TryPublish(topic string, m patterns.Message, _ ...patterns.PublishOption) error {
	f, err := c.publishFrame(topic, m)
	if err != nil {
		return err
	}
	if err := c.begin(); err != nil {
		return err
	}
	err = c.out.takeLost()
	if err == nil && !c.out.hasRoom(sizeOf(f)+len(m.Body)) {
		err = patterns.ErrWouldBlock // before anything is copied
	}
	if err == nil {
		f.Body = bytes.Clone(m.Body)
		_, err = c.out.try(nil, &departure{frame: f, size: sizeOf(f)})
	}
	switch {
	case err == nil:
		return nil // whoever takes it off the pending ones ends it
	case errors.Is(err, session.ErrQueueFull), errors.Is(err, session.ErrSenderClosed), errors.Is(err, errNotSent):
		err = patterns.ErrWouldBlock
	}
	c.end()
	return c.count.refuse(err)
}

// publishFrame returns the frame without its body, or why there is none.
func (c *Client) publishFrame(topic string, m patterns.Message) (*session.Publish, error) {
	if err := match.CheckTopic(topic); err != nil {
		return nil, err
	}
	headers, err := c.checked("", m)
	if err != nil {
		return nil, err
	}
	return &session.Publish{Topic: topic, Headers: headers}, nil
}

func sizeOf(f *session.Publish) int {
	return len(f.Topic) + session.HeadersSize(f.Headers) + len(f.Body)
}

// Subscribe implements patterns.Messenger. While the relay is gone it waits for
// it as a Request does. A relay that comes back gets the subscription by
// itself; a Gap with patterns.GapRelay says what was missed, if anybody knows.
func (c *Client) Subscribe(ctx context.Context, pattern string, s patterns.Subscriber, o patterns.SubscribeOptions) (patterns.Subscription, error) {
	if s == nil {
		return nil, errors.New("client: Subscribe needs a subscriber")
	}
	if err := match.CheckPattern(pattern); err != nil {
		return nil, err
	}
	if err := checkSubscription(o); err != nil {
		return nil, err
	}
	sub, err := c.addSubscription(pattern, s, o.WithDefaults())
	if err != nil {
		return nil, err
	}
	if err := c.stand(ctx, func(a *attachment) error { return a.subscribeFirst(ctx, sub) }); err != nil {
		c.removeSubscription(sub)
		return nil, err
	}
	return sub, nil
}

func checkSubscription(o patterns.SubscribeOptions) error {
	for _, v := range []int{o.QueueLength, o.QueueBytes} {
		if v < 0 || v > 1<<31-1 {
			return fmt.Errorf("client: limit %d is out of range", v)
		}
	}
	switch {
	case o.Overflow > patterns.OverflowBlock:
		return fmt.Errorf("client: no policy %d of a full subscription", o.Overflow)
	case len(o.Queue) > session.MaxName:
		return fmt.Errorf("client: the queue's name has %d bytes, at most %d", len(o.Queue), session.MaxName)
	}
	return nil
}
