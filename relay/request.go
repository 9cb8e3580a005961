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
		func(ctx context.Context) session.Frame { return c.request(ctx, f) },
		func(why session.Failure) session.Frame { return &session.Reply{ID: f.ID, Failure: why} })
}

// request asks the cluster on behalf of the client.
func (c *client) request(ctx context.Context, f *session.Request) *session.Reply {
	var outcome patterns.Outcome
	m, err := c.askNode(ctx, f, &outcome)
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
func (c *client) askNode(ctx context.Context, f *session.Request, outcome *patterns.Outcome) (patterns.Message, error) {
	options := append(optionsOf(f), patterns.Report(outcome))
	message := patterns.Message{Headers: session.ConvertHeaders[patterns.Header](f.Headers), Body: f.Body}
	node := c.relay.cfg.Node
	m, err := node.Request(ctx, f.Cluster, message, options...)
	if !f.WaitForMember || !nobodyAsked(err) {
		return m, err
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.relay.draining, cancel)()
	m, err = node.Request(waiting, f.Cluster, message, append(options, patterns.WaitForMember())...)
	var late *patterns.DeadlineError
	if c.relay.isDraining() && ctx.Err() == nil && errors.Is(err, context.Canceled) && errors.As(err, &late) {
		err = failure.ErrDraining
		if late.MaybeRan {
			err = patterns.ErrInterrupted
		}
	}
	return m, err
}

// nobodyAsked says that err means that no member has seen the request, and that
// there may be one elsewhere or soon.
func nobodyAsked(err error) bool {
	return !errors.Is(err, patterns.ErrInterrupted) &&
		(errors.Is(err, patterns.ErrNoMembers) || errors.Is(err, patterns.ErrUnreachable) || errors.Is(err, patterns.ErrClosed))
}

// optionsOf returns the options of f but for the waiting.
func optionsOf(f *session.Request) []patterns.RequestOption {
	options := make([]patterns.RequestOption, 0, 4)
	if f.Idempotent {
		options = append(options, patterns.Idempotent())
	}
	switch policy := patterns.Policy(f.Policy); policy {
	case patterns.PolicyLoad:
	case patterns.PolicySticky:
		options = append(options, patterns.Sticky(f.StickyKey))
	default:
		options = append(options, patterns.WithPolicy(policy))
	}
	return options
}
