// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/patterns"
)

// Clusters that are the relay itself.
const (
	membersCluster = "$members"
	statusCluster  = "$status"
	namesCluster   = "$names"
)

// Request implements patterns.Messenger.
func (c *Client) Request(ctx context.Context, cluster string, m patterns.Message, opts ...patterns.RequestOption) (reply patterns.Message, err error) {
	err = c.call(ctx, func() (err error) {
		reply, err = c.requests.Do(ctx, cluster, m, patterns.CollectOptions(opts))
		return err
	})
	return reply, err
}

// Survey implements patterns.Messenger.
func (c *Client) Survey(ctx context.Context, cluster string, m patterns.Message, each func(patterns.SurveyReply) error, o patterns.SurveyOptions) (result patterns.SurveyResult, err error) {
	err = c.call(ctx, func() (err error) {
		result, err = c.surveys.Survey(ctx, cluster, m, each, o)
		return err
	})
	return result, err
}

// Push implements patterns.Messenger.
func (c *Client) Push(ctx context.Context, cluster string, m patterns.Message, opts ...patterns.RequestOption) error {
	return c.call(ctx, func() error { return c.pushes.Push(ctx, cluster, m, patterns.CollectOptions(opts)) })
}

// Broadcast implements patterns.Messenger.
func (c *Client) Broadcast(ctx context.Context, cluster string, m patterns.Message) (result patterns.BroadcastResult, err error) {
	err = c.call(ctx, func() (err error) {
		result, err = c.broadcasts.Broadcast(ctx, cluster, m)
		return err
	})
	return result, err
}

// OpenTunnel implements patterns.Messenger.
func (c *Client) OpenTunnel(ctx context.Context, cluster string, first patterns.Message, opts ...patterns.RequestOption) (t patterns.Tunnel, err error) {
	err = c.call(ctx, func() (err error) {
		t, err = c.tunnels.Open(ctx, cluster, first, patterns.CollectOptions(opts))
		return err
	})
	return t, err
}

// Members implements patterns.Messenger.
func (c *Client) Members(ctx context.Context, cluster string) ([]patterns.Member, error) {
	return c.MembersAfter(ctx, cluster, "")
}

// MembersAfter implements patterns.Messenger.
func (c *Client) MembersAfter(ctx context.Context, cluster, version string) ([]patterns.Member, error) {
	ask := patterns.Message{Body: []byte(cluster)}
	if version != "" {
		ask.Headers = patterns.Headers{{Key: patterns.HeaderVersion, Value: version}}
	}
	m, err := c.Request(ctx, membersCluster, ask, patterns.Idempotent())
	if err != nil {
		return nil, err
	}
	var members []patterns.Member
	if err := json.Unmarshal(m.Body, &members); err != nil {
		return nil, fmt.Errorf("client: the relay's list of members: %w", err)
	}
	return members, nil
}

// call makes one, and says more of the outcome where the relay is what could not
// be reached.
func (c *Client) call(ctx context.Context, f func() error) error {
	if err := c.begin(); err != nil {
		return err
	}
	defer c.calls.leave()
	if c.link.session.Load() == nil {
		if err := c.await(ctx); err != nil {
			return err
		}
	}
	err := f()
	if errors.Is(err, patterns.ErrUnreachable) && !errors.Is(err, ErrNoRelay) {
		if gone := c.link.gone(); gone != nil {
			return fmt.Errorf("%w: %w", err, gone)
		}
	}
	return err
}

// await waits for a relay that is gone. Each call waits its own time.
func (c *Client) await(ctx context.Context) error {
	ctx, cancel := c.link.limited(ctx)
	defer cancel()
	return c.link.arrival(ctx)
}

// Serve implements patterns.Messenger. While the relay is gone it waits for it
// as a Request does. A relay that comes back gets the registration by itself,
// and the member a new id.
func (c *Client) Serve(ctx context.Context, cluster string, h patterns.Handler, limits patterns.Limits) (patterns.Registration, error) {
	switch {
	case h == nil:
		return nil, errors.New("client: Serve needs a handler")
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	r, err := newRegistration(c, cluster, patterns.ServiceOf(h), limits)
	if err != nil {
		return nil, err
	}
	if err := c.claims.make(ctx, &r.claim); err != nil {
		r.abandon()
		return nil, err
	}
	return r, nil
}

// Subscribe implements patterns.Messenger. While the relay is gone it waits for
// it as a Request does. A relay that comes back gets the subscription by itself;
// a Gap of unknown size with patterns.GapRelay says that something may have been
// missed.
func (c *Client) Subscribe(ctx context.Context, pattern string, s patterns.Subscriber, o patterns.SubscribeOptions) (patterns.Subscription, error) {
	switch {
	case s == nil:
		return nil, errors.New("client: Subscribe needs a subscriber")
	case len(o.Queue) > maxName:
		return nil, fmt.Errorf("%w: the queue's name has %d bytes, at most %d", patterns.ErrTopic, len(o.Queue), maxName)
	case o.QueueLength > 1<<31-1 || o.QueueBytes > 1<<31-1:
		return nil, fmt.Errorf("client: limits of %d messages and %d bytes are out of range", o.QueueLength, o.QueueBytes)
	}
	if err := match.CheckPattern(pattern); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sub, err := newSubscription(c, pattern, s, o)
	if err != nil {
		return nil, err
	}
	if err := c.claims.make(ctx, &sub.claim); err != nil {
		c.topics.remove(sub)
		return nil, err
	}
	return sub, nil
}

// Publish implements patterns.Messenger: it returns when the message is on its
// way to the relay, for which it waits while too much is. A relay that is shut
// down in good order loses none of them. Where one could not be published after
// all, or was lost with the relay, Drops counts it and Config.Refused is told.
// With patterns.Confirm it returns when the relay's node has published, with the
// error of that.
func (c *Client) Publish(ctx context.Context, topic string, m patterns.Message, opts ...patterns.PublishOption) error {
	if err := c.begin(); err != nil {
		return err
	}
	defer c.calls.leave()
	if ctx.Err() != nil {
		return &patterns.DeadlineError{Cause: cause(ctx)}
	}
	o := patterns.CollectPublishOptions(opts)
	if o.Confirm == nil {
		return c.publisher.publish(ctx, topic, m)
	}
	ctx, cancel := c.link.limited(ctx)
	defer cancel()
	done, err := c.publisher.confirm(ctx, c.nextID(), topic, m)
	if err != nil {
		return err
	}
	*o.Confirm = int(done.Value)
	return errorOf(done, topic)
}

// TryPublish implements patterns.Messenger. It returns patterns.ErrWouldBlock if
// too much is on its way to the relay, or the relay is gone.
func (c *Client) TryPublish(topic string, m patterns.Message, _ ...patterns.PublishOption) error {
	if err := c.begin(); err != nil {
		return err
	}
	defer c.calls.leave()
	return c.publisher.try(topic, m)
}
