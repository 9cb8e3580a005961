// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/arke-mesh/arke/patterns"
)

// Shutdown implements patterns.Messenger. Calls can be made until the members
// have drained, since their handlers may need them. Messages that TryPublish took
// and that were not published are among its errors.
func (c *Client) Shutdown(ctx context.Context) error {
	regs, subs := c.leave()
	errs := make([]error, len(regs)+len(subs))
	var wg sync.WaitGroup
	for i, s := range subs {
		wg.Go(func() { errs[len(regs)+i] = s.Close(ctx) })
	}
	for i, r := range regs {
		wg.Go(func() { errs[i] = r.Close(ctx) })
	}
	wg.Wait()
	errs = append(errs, c.settle(ctx))
	return errors.Join(firstOf(errs), c.Close())
}

// settle waits until no call is left. What TryPublish took waits for a relay that
// is gone no longer than a call does.
func (c *Client) settle(ctx context.Context) error {
	idle := c.drain()
	for {
		c.mu.Lock()
		attached, changed := c.attached != nil, c.changed
		c.mu.Unlock()
		timer := time.NewTimer(c.cfg.RelayWait)
		patience := timer.C
		if attached {
			patience = nil
		}
		select {
		case <-idle:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-changed:
			timer.Stop()
		case <-patience:
			c.ended(c.out.giveUp(patterns.ErrUnreachable))
		}
	}
}

// firstOf spares the reader the same error once for each member.
func firstOf(errs []error) error {
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return errs[i]
	}
	return nil
}

// leave refuses new registrations and subscriptions, and returns those there
// are.
func (c *Client) leave() ([]*registration, []*subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state < stateLeaving {
		c.state = stateLeaving
	}
	regs := make([]*registration, 0, len(c.regs))
	for _, r := range c.regs {
		regs = append(regs, r)
	}
	return regs, slices.Collect(maps.Values(c.subs))
}

// drain refuses new calls and returns a channel that is closed when none is
// left.
func (c *Client) drain() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state < stateDraining {
		c.state = stateDraining
	}
	idle := c.idle
	if idle == nil {
		idle = make(chan struct{})
		if c.calls > 0 {
			c.idle = idle
		} else {
			close(idle)
		}
	}
	return idle
}

// Close implements patterns.Messenger. Calls that wait get
// patterns.ErrInterrupted if they may have reached a handler, else
// patterns.ErrClosed. It waits for handlers to return; their contexts end. Its
// error says, once, how many messages that TryPublish took were not published, or
// perhaps not; then it is patterns.ErrClosed or patterns.ErrInterrupted.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.state != stateClosed {
		c.state = stateClosed
		close(c.changed)
		c.changed = make(chan struct{})
	}
	c.mu.Unlock()
	c.cancel()
	c.wg.Wait()
	c.ended(c.out.giveUp(patterns.ErrClosed))
	return c.out.takeLost()
}
