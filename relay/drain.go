// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"

	"github.com/arke-mesh/arke/internal/wire"
)

// drain finishes a session. It returns true when the session is gone, false if
// ctx ended before.
func (c *client) drain(ctx context.Context) bool {
	if !c.sess.Attached() {
		c.end(errClosed) // nobody can come back
		return c.await(ctx, c.gone)
	}
	c.sess.Notify(&wire.Notice{Topic: wire.Notice_Topic(wire.NoticeDraining), Detail: "the relay is shutting down"})
	c.calls.drain()
	if !c.claims.drain(ctx, registration, 0) || !c.claims.drain(ctx, subscription, flushPatience) {
		return false
	}
	if !c.await(ctx, c.calls.stop()) || c.tunnels.hop.Drain(ctx) != nil {
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
