// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/wire"
)

// Shutdown drains: no client can attach any more and another relay may take
// the socket; every member leaves its cluster; what was accepted is finished;
// every client is told what was looked at. Then it closes. If ctx ends first, it
// closes at once and returns ctx's error.
func (r *Relay) Shutdown(ctx context.Context) error {
	r.mu.Lock()
	if r.state == stateRunning {
		r.state = stateDraining
	}
	r.unlisten()
	clients := r.attached()
	r.mu.Unlock()
	r.startDraining() // before any member leaves

	var wg sync.WaitGroup
	var unfinished atomic.Bool
	for _, c := range clients {
		wg.Add(1)
		ok := r.spawn("relay/drain", c.origin, func() {
			defer wg.Done()
			if !c.drain(ctx) {
				unfinished.Store(true)
			}
		})
		if !ok {
			wg.Done()
			unfinished.Store(true)
		}
	}
	wg.Wait()
	err := r.Close()
	if unfinished.Load() {
		err = errors.Join(ctx.Err(), err)
	}
	return err
}

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
	if !c.await(ctx, c.calls.stop()) || c.tunnels.leg.Drain(ctx) != nil {
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
