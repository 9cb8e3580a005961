// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arke

import (
	"context"
	"errors"
	"iter"

	"github.com/arke-mesh/arke/patterns"
)

// Registration is one member of a cluster. Methods may be called concurrently.
type Registration struct{ inner patterns.Registration }

// ID is the id of the member: 16 hexadecimal digits, new at each Serve.
func (r *Registration) ID() string { return r.inner.Member() }

// Close makes the member leave its cluster, so that callers ask others. It waits
// until the member has finished what it accepted, or until ctx ends. A second call
// does nothing.
func (r *Registration) Close(ctx context.Context) error { return outward(r.inner.Close(ctx)) }

// Serve makes h a member of the cluster: h handles messages to that name. Serve returns
// when the network knows of the member. ctx bounds only that.
// The member stays until the registration or the Conn is closed. A program may
// serve the same cluster several times.
//
// Errors match ErrTooMany, ErrUnauthorized, ErrUnreachable, ErrClosed or the error of
// ctx.
func (c *Conn) Serve(ctx context.Context, cluster string, h Handler, opts ...ServeOption) (*Registration, error) {
	if h == nil {
		return nil, errors.New("arke: Serve needs a handler")
	}
	r, err := c.m.Serve(ctx, cluster, innerService(h), collect(opts).limits)
	if err != nil {
		return nil, about(cluster, err)
	}
	return &Registration{r}, nil
}

// Request sends m to one member of the cluster and returns its reply. Every
// request has exactly one outcome. The package documentation lists them. m must
// not change before Request returns. The caller owns the reply.
func (c *Conn) Request(ctx context.Context, cluster string, m Message, opts ...RequestOption) (Message, error) {
	reply, err := c.m.Request(ctx, cluster, innerMessage(m), collect(opts).inner...)
	return outerMessage(reply), about(cluster, err)
}

// Survey sends m to every member of the cluster and returns the replies. It ends
// when all members have answered, or when ctx ends. The end of ctx is no error: the
// result lists the missing members. With the option Each, a function gets the replies
// when they arrive.
//
// If no member was asked, the error matches ErrNoMembers, ErrUnreachable,
// ErrTooLarge or ErrClosed. An error of Each's function is returned as it is.
func (c *Conn) Survey(ctx context.Context, cluster string, m Message, opts ...SurveyOption) (SurveyResult, error) {
	o := collect(opts)
	var result SurveyResult
	each := func(r patterns.SurveyReply) error {
		reply := SurveyReply{Member: r.Member, Peer: r.Peer, Message: outerMessage(r.Message), Err: outward(r.Err)}
		if o.each != nil {
			return o.each(reply)
		}
		result.Replies = append(result.Replies, reply)
		return nil
	}
	r, err := c.m.Survey(ctx, cluster, innerMessage(m), each, o.limits)
	result.Count, result.Missing, result.Complete = r.Replies, outerMissing(r.Missing), r.Complete
	return result, about(cluster, err)
}

// Push sends m to one member of the cluster and returns when the member's queue
// has it. There is no reply. m expires at the deadline of ctx: a member that could not
// start a handler before refuses m. Errors are those of Request.
func (c *Conn) Push(ctx context.Context, cluster string, m Message, opts ...RequestOption) error {
	return about(cluster, c.m.Push(ctx, cluster, innerMessage(m), collect(opts).inner...))
}

// Broadcast sends m to every member of the cluster, at most once each. It
// returns when each of them has accepted m, has failed, or is late. Broadcasts that
// one caller sends one after the other arrive in that order. Errors are those of
// Survey.
func (c *Conn) Broadcast(ctx context.Context, cluster string, m Message) (BroadcastResult, error) {
	r, err := c.m.Broadcast(ctx, cluster, innerMessage(m))
	return BroadcastResult{Members: r.Members, Nodes: r.Nodes, Missing: outerMissing(r.Missing), Complete: r.Complete}, about(cluster, err)
}

// Publish sends m to every subscription whose pattern matches the topic. It
// returns when the message is on its way. If a queue is full, it waits for room until
// ctx ends. A topic without subscriptions is no error. The option Confirm counts the
// nodes that acknowledged the message. Headers and body have at most 1 MiB.
//
// Errors match ErrTopic, ErrTooLarge, ErrUnreachable, ErrUnauthorized, ErrClosed, the error
// of ctx or, with Confirm, ErrInterrupted.
func (c *Conn) Publish(ctx context.Context, topic string, m Message, opts ...PublishOption) error {
	return outward(c.m.Publish(ctx, topic, innerMessage(m), collect(opts).inner...))
}

// TryPublish is Publish, but returns ErrWouldBlock where Publish would wait. Then it
// has sent nothing.
func (c *Conn) TryPublish(topic string, m Message, opts ...PublishOption) error {
	return outward(c.m.TryPublish(topic, innerMessage(m), collect(opts).inner...))
}

// Subscribe subscribes to the topics that match the pattern. Read the messages with
// a loop over Subscription.Messages. Subscribe returns when the nodes that publish on the
// first word of the pattern know of the subscription: messages that are published afterwards
// arrive, or are reported as a gap. Subscribe does not wait for a node that is unreachable,
// or silent for a second. ctx bounds only that.
//
// Errors match ErrTopic, ErrTooMany, ErrUnreachable, ErrClosed or the error of ctx.
func (c *Conn) Subscribe(ctx context.Context, pattern string, opts ...SubscribeOption) (*Subscription, error) {
	o := collect(opts)
	l := newLoop()
	inner, err := c.m.Subscribe(ctx, pattern, l, o.inner)
	if err != nil {
		return nil, outward(err)
	}
	s := &Subscription{inner: inner, conn: c, loop: l, gap: o.gap}
	if !c.note(func() { c.loops[s] = true }) {
		_ = s.Close(ctx)
		return nil, ErrClosed
	}
	return s, nil
}

// SubscribeFunc is Subscribe, but calls f with each message, in order and one at
// a time.
func (c *Conn) SubscribeFunc(ctx context.Context, pattern string, f func(Publication), opts ...SubscribeOption) (*Subscription, error) {
	if f == nil {
		return nil, errors.New("arke: SubscribeFunc needs a function")
	}
	o := collect(opts)
	inner, err := c.m.Subscribe(ctx, pattern, &calls{f, o.gap}, o.inner)
	if err != nil {
		return nil, outward(err)
	}
	return &Subscription{inner: inner, conn: c}, nil
}

// OpenTunnel opens a tunnel to one member of the cluster. The member finds first
// in TunnelInfo.Open. OpenTunnel returns when the member has accepted the tunnel. ctx
// bounds only that. Errors are those of Request.
func (c *Conn) OpenTunnel(ctx context.Context, cluster string, first Message, opts ...RequestOption) (*Tunnel, error) {
	t, err := c.m.OpenTunnel(ctx, cluster, innerMessage(first), collect(opts).inner...)
	if err != nil {
		return nil, about(cluster, err)
	}
	return &Tunnel{t}, nil
}

// Watch returns the members of the cluster, now and after each change, for a loop:
//
//	for members, err := range c.Watch(ctx, "geo") {
//		…
//	}
//
// Changes arrive within about 100 ms. The error is ErrNoMembers while the cluster has
// no member, and ErrUnreachable while that is unknown. The loop continues after both. It
// ends when ctx ends, or after any other error.
func (c *Conn) Watch(ctx context.Context, cluster string) iter.Seq2[[]Member, error] {
	return func(yield func([]Member, error) bool) {
		for version := ""; ; {
			all, err := c.m.MembersAfter(ctx, cluster, version)
			if ctx.Err() != nil {
				return
			}
			now := patterns.VersionOf(all, err)
			if now == version {
				continue
			}
			version = now
			if !yield(outerMembers(all), about(cluster, err)) || err != nil && !errors.Is(err, ErrNoMembers) && !errors.Is(err, ErrUnreachable) {
				return
			}
		}
	}
}

// Members lists the members of the cluster by id. The error is ErrNoMembers if there
// are none, or ErrUnreachable if that is unknown.
func (c *Conn) Members(ctx context.Context, cluster string) ([]Member, error) {
	all, err := c.m.Members(ctx, cluster)
	return outerMembers(all), about(cluster, err)
}
