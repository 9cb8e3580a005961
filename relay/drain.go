// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
)

const (
	// lastPart is how much of the time of a drain remains, at most, when members leave:
	// what was accepted has it to end.
	lastPart = 10 * time.Second
	// tunnelPatience is what is left, when members have left, for tunnels that were
	// opened late. Those that have outlasted the drain are interrupted then.
	tunnelPatience = time.Second
)

// finish makes a client's members leave and waits until they have finished, and for its
// tunnels. It returns false if ctx ended before.
func (c *client) finish(ctx context.Context, cut *atomic.Bool) bool {
	if !c.sess.Attached() {
		c.end(errClosed) // nobody can come back
		return c.await(ctx, c.gone)
	}
	c.sess.Notify(&wire.Notice{Topic: wire.Notice_Topic(wire.NoticeDraining), Detail: "the relay is shutting down"})
	c.calls.drain()
	if !c.claims.drain(ctx, registration, 0) {
		return false
	}
	waits, stop := c.relay.within(ctx, tunnelPatience)
	defer stop()
	if c.tunnels.hop.Drain(waits) != nil {
		cut.Store(true)
	}
	return ctx.Err() == nil
}

// dismiss ends a client's session when its last calls and publications are over.
func (c *client) dismiss(ctx context.Context) bool {
	if !c.claims.drain(ctx, subscription, flushPatience) || !c.await(ctx, c.calls.stop()) {
		return false
	}
	c.leave(wire.EndShutdown, "the relay is shutting down", c.relay.cfg.Limits.Stall)
	return c.await(ctx, c.gone)
}

// await waits for what is to be done, or for the session to be gone.
func (c *client) await(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
	case <-c.gone:
	case <-ctx.Done():
		return false
	}
	return true
}
