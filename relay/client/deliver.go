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

// deliver has the handler of a registration answer, on a goroutine of its own.
// The relay sees to the registration's limits.
func (a *attachment) deliver(f *session.Deliver) {
	c := a.client
	c.mu.Lock()
	r := c.regs[f.Registration]
	c.mu.Unlock()
	if r == nil {
		gone := failure.OfHandler(&patterns.Refusal{Cause: patterns.ErrClosed})
		a.sender.SendReserved(&session.Answer{ID: f.ID, Failure: gone})
		return
	}
	ctx, cancel, deadline := a.deliveryContext(f)
	a.addDelivery(f.ID, cancel)
	c.wg.Go(func() {
		defer cancel()
		answer := r.serve(ctx, &patterns.Request{
			Cluster:  r.cluster,
			From:     f.From,
			Pattern:  patterns.Pattern(f.Pattern),
			Deadline: deadline,
			Headers:  session.ConvertHeaders[patterns.Header](f.Headers),
			Body:     f.Body,
		})
		a.removeDelivery(f.ID)
		answer.ID = f.ID
		a.sendAnswer(answer)
	})
}

// deliveryContext ends at the caller's deadline and with the session: then
// nobody waits for an answer. What has none ends with the client only.
func (a *attachment) deliveryContext(f *session.Deliver) (context.Context, context.CancelFunc, time.Time) {
	if silent(patterns.Pattern(f.Pattern)) {
		ctx, cancel := context.WithCancel(a.client.ctx)
		return ctx, cancel, time.Time{}
	}
	if f.Remaining == 0 {
		ctx, cancel := context.WithCancel(a.ctx)
		return ctx, cancel, time.Time{}
	}
	deadline := time.Now().Add(session.Duration(f.Remaining))
	ctx, cancel := context.WithDeadline(a.ctx, deadline)
	return ctx, cancel, deadline
}

// serve runs the handler.
func (r *registration) serve(ctx context.Context, q *patterns.Request) (answer *session.Answer) {
	defer func() {
		if p := recover(); p != nil {
			answer = &session.Answer{Failure: failure.OfPanic(p)}
			if silent(q.Pattern) {
				r.client.log.Error("a handler panicked", zap.String("cluster", r.cluster), zap.Any("panic", p), zap.Stack("stack"))
			}
		}
	}()
	m, err := r.run(ctx, q)
	if err != nil {
		return &session.Answer{Failure: failure.OfHandler(err)}
	}
	return &session.Answer{Headers: session.ConvertHeaders[session.Header](m.Headers), Body: m.Body}
}

// run calls what the service has for the pattern.
func (r *registration) run(ctx context.Context, q *patterns.Request) (patterns.Message, error) {
	s := patterns.ServiceOf(r.handler)
	switch {
	case q.Pattern == patterns.PatternPush && s.Push != nil:
		s.Push(ctx, q)
		return patterns.Message{}, nil
	case q.Pattern == patterns.PatternBroadcast && s.Broadcast != nil:
		s.Broadcast(ctx, q)
		return patterns.Message{}, nil
	case silent(q.Pattern):
		return patterns.Message{}, &patterns.RemoteError{Cluster: r.cluster, Code: patterns.CodeNoMethod, Message: "this member takes no " + q.Pattern.String()}
	}
	return s.ServeRequest(ctx, q)
}

// silent says that who sent it gets no reply.
func silent(p patterns.Pattern) bool {
	return p == patterns.PatternPush || p == patterns.PatternBroadcast
}

// patterns are those that the handler implements.
func (r *registration) patterns() (p session.Patterns) {
	s := patterns.ServiceOf(r.handler)
	if s.Request != nil {
		p |= session.ServesRequests
	}
	if s.Push != nil {
		p |= session.ServesPushes
	}
	if s.Broadcast != nil {
		p |= session.ServesBroadcasts
	}
	if s.Tunnel != nil {
		p |= session.ServesTunnels
	}
	return p
}

// sendAnswer waits for room, as long as there is somebody to answer.
func (a *attachment) sendAnswer(f *session.Answer) {
	_, err := a.sender.SendWait(a.ctx, f)
	if err == nil || a.ctx.Err() != nil || errors.Is(err, session.ErrSenderClosed) {
		return
	}
	// The handler did its work, but its answer can't travel.
	a.client.count[dropReplyTooLarge].Add(1)
	a.sender.SendReserved(&session.Answer{ID: f.ID, Failure: failure.OfHandler(err)})
}

func (a *attachment) addDelivery(id uint64, cancel context.CancelFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deliveries[id] = cancel
}

func (a *attachment) removeDelivery(id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.deliveries, id)
}

func (a *attachment) cancelDelivery(id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel := a.deliveries[id]; cancel != nil {
		cancel()
	}
}
