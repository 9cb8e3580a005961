// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"sync"
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

// Shutdown drains. First it waits until no client has a tunnel, for two thirds of the
// time until the end of ctx or until 10 s before it, whichever is later. Meanwhile
// everything works as before, and programs may attach. Then every member leaves its
// cluster, what was accepted is finished, tunnels have another second, and programs that
// attach are told that the relay is shutting down. Calls of clients are answered until
// the last client has finished; then every client is told what was looked at, and the
// relay closes and makes the socket free.
//
// If ctx ends first, it closes at once. The result is ctx's error then, and
// ErrTunnelsCut if all but some tunnels was finished.
func (r *Relay) Shutdown(ctx context.Context) error {
	r.mu.Lock()
	if r.state == stateRunning {
		r.state = stateDraining
	}
	r.mu.Unlock()
	waits, stop := r.beforeLastPart(ctx)
	for _, c := range r.attached() {
		if c.tunnels.hop.Await(waits) != nil {
			break
		}
	}
	stop()
	r.startDraining() // before any member leaves

	var cut atomic.Bool
	clients := r.attached()
	finished := r.all(clients, func(c *client) bool { return c.finish(ctx, &cut) }) &&
		r.all(clients, func(c *client) bool { return c.dismiss(ctx) })
	err := r.Close()
	switch {
	case !finished:
		return errors.Join(ctx.Err(), err)
	case cut.Load():
		return errors.Join(ErrTunnelsCut, err)
	}
	return err
}

// beforeLastPart is ctx that ends earlier, if it ends.
func (r *Relay) beforeLastPart(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ends := ctx.Deadline()
	if !ends {
		return ctx, func() {}
	}
	left := end.Sub(r.clock.Now())
	return r.within(ctx, left-min(lastPart, left/3))
}

// all does something for each client, for all at once, and reports whether each did it.
func (r *Relay) all(clients []*client, do func(*client) bool) bool {
	var wg sync.WaitGroup
	var failed atomic.Bool
	for _, c := range clients {
		wg.Add(1)
		ok := r.spawn("relay/drain", c.origin, func() {
			defer wg.Done()
			if !do(c) {
				failed.Store(true)
			}
		})
		if !ok {
			wg.Done()
			failed.Store(true)
		}
	}
	wg.Wait()
	return !failed.Load()
}

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
