// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"time"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// Registrations and subscriptions stand: they outlive the session on which they
// were made. What they share is how they begin and end.

// stand begins one: on this session, or, where a session ends before it has said
// yes or no, on the next one.
func (c *Client) stand(ctx context.Context, begin func(*attachment) error) error {
	for {
		a, err := c.current(ctx)
		if err == nil {
			err = begin(a)
		}
		switch {
		case errors.Is(err, errNotSent), errors.Is(err, errLost), errors.Is(err, errGoodbye):
			continue // the session is over, and with it what was asked of it
		case errors.Is(err, failure.ErrDraining):
			if err = a.awaitEnd(ctx, nil); err == nil {
				continue // the next relay may take it
			}
		}
		return err
	}
}

// establish asks the relay for it and returns the answer. When nobody waits for
// it any more, undo is sent.
func (a *attachment) establish(ctx context.Context, answers map[uint64]chan session.Frame, id uint64, send func() error, undo session.Frame) (session.Frame, error) {
	answer, err := a.expect(answers, id)
	if err != nil {
		return nil, err
	}
	defer a.forget(answers, id)
	if err := send(); err != nil {
		return nil, err
	}
	f, err := a.await(ctx, answer)
	if errors.Is(err, errOver) {
		a.sender.SendReserved(undo)
		err = ctx.Err()
	}
	return f, err
}

// withdraw has the relay end it with f, and returns the answer; nil if it ended
// with the session. When ctx ends before, f is sent again, which ends what is
// left at once.
func (a *attachment) withdraw(ctx context.Context, answers map[uint64]chan session.Frame, id uint64, f session.Frame) (session.Frame, error) {
	answer, err := a.expect(answers, id)
	if err != nil {
		return nil, nil
	}
	defer a.forget(answers, id)
	if err := a.sender.SendReserved(f); err != nil {
		return nil, nil
	}
	reply, err := a.await(ctx, answer)
	switch {
	case err == nil:
		return reply, nil
	case !errors.Is(err, errOver):
		return nil, nil
	}
	a.sender.SendReserved(f)
	return nil, ctx.Err()
}

// remaining is how long ctx lasts, as it travels; 0 = for ever.
func remaining(ctx context.Context) uint64 {
	at, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return session.Micros(time.Until(at))
}
