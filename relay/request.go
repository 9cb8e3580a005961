// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

func (c *client) handleRequest(f *session.Request, size int) (violation string) {
	return c.call(f.ID, f.Timeout, size,
		func(ctx context.Context) session.Frame { return c.request(ctx, f, c.relay.cfg.Node.Request) },
		func(why session.Failure) session.Frame { return &session.Reply{ID: f.ID, Failure: why} })
}

// asker is a way to ask one member: a request, or a push, whose reply is empty.
type asker func(ctx context.Context, cluster string, m patterns.Message, opts ...patterns.RequestOption) (patterns.Message, error)

// request asks the cluster on behalf of the client.
func (c *client) request(ctx context.Context, f *session.Request, ask asker) *session.Reply {
	var outcome patterns.RequestReport
	m, err := c.askNode(ctx, f, ask, &outcome)
	if c.relay.isDraining() && nobodyAsked(err) {
		// Perhaps only because the members are leaving with this relay.
		err = failure.ErrDraining
	}
	reply := &session.Reply{
		ID:       f.ID,
		Failure:  failure.Of(err),
		Attempts: uint16(min(outcome.Attempts, 1<<16-1)),
		Member:   outcome.Member,
	}
	if err == nil {
		reply.Headers, reply.Body = session.ConvertHeaders[session.Header](m.Headers), m.Body
	}
	return reply
}

// askNode asks the members there are, and only if nobody could be asked waits
// for one: that can be given up when the relay drains, because most likely
// still nobody has been asked.
func (c *client) askNode(ctx context.Context, f *session.Request, ask asker, outcome *patterns.RequestReport) (patterns.Message, error) {
	options := append(optionsOf(f.Idempotent, f.Policy, f.StickyKey), patterns.Report(outcome))
	message := patterns.Message{Headers: session.ConvertHeaders[patterns.Header](f.Headers), Body: f.Body}
	return patiently(ctx, c.relay, f.WaitForMember, func(ctx context.Context, wait ...patterns.RequestOption) (patterns.Message, error) {
		return ask(ctx, f.Cluster, message, append(options, wait...)...)
	})
}

// patiently calls ask and, if nobody could be asked and the client wants to
// wait for a member, again with that option.
func patiently[T any](ctx context.Context, r *Relay, wait bool, ask func(context.Context, ...patterns.RequestOption) (T, error)) (T, error) {
	v, err := ask(ctx)
	if !wait || !nobodyAsked(err) {
		return v, err
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.draining, cancel)()
	v, err = ask(waiting, patterns.WaitForMember())
	var late *patterns.DeadlineError
	if r.isDraining() && ctx.Err() == nil && errors.Is(err, context.Canceled) && errors.As(err, &late) {
		err = failure.ErrDraining
		if late.MaybeRan {
			err = patterns.ErrInterrupted
		}
	}
	return v, err
}

// nobodyAsked says that err means that no member has seen the request, and that
// there may be one elsewhere or soon.
func nobodyAsked(err error) bool {
	return !errors.Is(err, patterns.ErrInterrupted) &&
		(errors.Is(err, patterns.ErrNoMembers) || errors.Is(err, patterns.ErrUnreachable) || errors.Is(err, patterns.ErrClosed))
}

// optionsOf returns the options of a frame but for the waiting.
func optionsOf(idempotent bool, policy uint8, stickyKey string) []patterns.RequestOption {
	options := make([]patterns.RequestOption, 0, 4)
	if idempotent {
		options = append(options, patterns.Idempotent())
	}
	switch policy := patterns.Policy(policy); policy {
	case patterns.PolicyLoad:
	case patterns.PolicySticky:
		options = append(options, patterns.Sticky(stickyKey))
	default:
		options = append(options, patterns.WithPolicy(policy))
	}
	return options
}
