// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"time"

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
// nobody waits for an answer.
func (a *attachment) deliveryContext(f *session.Deliver) (context.Context, context.CancelFunc, time.Time) {
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
		}
	}()
	m, err := r.handler.ServeRequest(ctx, q)
	if err != nil {
		return &session.Answer{Failure: failure.OfHandler(err)}
	}
	return &session.Answer{Headers: session.ConvertHeaders[session.Header](m.Headers), Body: m.Body}
}

// sendAnswer waits for room, as long as there is somebody to answer.
func (a *attachment) sendAnswer(f *session.Answer) {
	_, err := a.sender.SendWait(a.ctx, f)
	if err == nil || a.ctx.Err() != nil || errors.Is(err, session.ErrSenderClosed) {
		return
	}
	// The handler did its work, but its answer can't travel.
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
