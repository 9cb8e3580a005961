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
func (c *Client) Request(ctx context.Context, cluster string, m patterns.Message, opts ...patterns.RequestOption) (patterns.Message, error) {
	return call(ctx, c, func() (patterns.Message, error) {
		return c.requests.Do(ctx, cluster, m, patterns.CollectOptions(opts))
	})
}

// Survey implements patterns.Messenger.
func (c *Client) Survey(ctx context.Context, cluster string, m patterns.Message, each func(patterns.SurveyReply) error, o patterns.SurveyOptions) (patterns.SurveyResult, error) {
	return call(ctx, c, func() (patterns.SurveyResult, error) { return c.surveys.Survey(ctx, cluster, m, each, o) })
}

// Push implements patterns.Messenger.
func (c *Client) Push(ctx context.Context, cluster string, m patterns.Message, opts ...patterns.RequestOption) error {
	_, err := call(ctx, c, func() (struct{}, error) {
		return struct{}{}, c.pushes.Push(ctx, cluster, m, patterns.CollectOptions(opts))
	})
	return err
}

// Broadcast implements patterns.Messenger.
func (c *Client) Broadcast(ctx context.Context, cluster string, m patterns.Message) (patterns.BroadcastResult, error) {
	return call(ctx, c, func() (patterns.BroadcastResult, error) { return c.broadcasts.Broadcast(ctx, cluster, m) })
}

// OpenTunnel implements patterns.Messenger.
func (c *Client) OpenTunnel(ctx context.Context, cluster string, first patterns.Message, opts ...patterns.RequestOption) (patterns.Tunnel, error) {
	return call(ctx, c, func() (patterns.Tunnel, error) {
		return c.tunnels.Open(ctx, cluster, first, patterns.CollectOptions(opts))
	})
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
// be reached. While the relay is gone each call waits its own time.
func call[T any](ctx context.Context, c *Client, f func() (T, error)) (got T, err error) {
	if err := c.begin(); err != nil {
		return got, err
	}
	defer c.calls.leave()
	if c.link.session.Load() == nil {
		if err := c.link.arrival(ctx); err != nil {
			return got, err
		}
	}
	got, err = f()
	if errors.Is(err, patterns.ErrUnreachable) && !errors.Is(err, ErrNoRelay) {
		if gone := c.link.gone(); gone != nil {
			return got, fmt.Errorf("%w: %w", err, gone)
		}
	}
	return got, err
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
