// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire/session"
)

// loop keeps the client attached until Close. a is the first session.
func (c *Client) loop(a *attachment) {
	var pause backoff
	var resume session.ID
	for {
		var lived time.Duration
		if a != nil {
			resume = a.welcome.Session
			began := time.Now()
			err := a.run()
			lived = time.Since(began)
			c.detach(err)
			if c.ctx.Err() != nil {
				return
			}
			c.log.Info("lost the relay, re-attaching", zap.Error(err))
		}
		if !c.rest(pause.next(time.Now(), lived, c.roll())) {
			return
		}
		a = c.reattach(resume)
	}
}

// rest waits; false means that the client was closed.
func (c *Client) rest(d time.Duration) bool {
	if d == 0 {
		return c.ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// reattach tries once; nil if the relay can't be reached.
func (c *Client) reattach(resume session.ID) *attachment {
	a, err := c.dial(c.ctx, resume)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.lastErr = err
		return nil
	}
	if c.state == stateClosed {
		a.conn.Close()
		return nil
	}
	c.attach(a)
	return a
}
