// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// Shutdown drains: no client can attach any more and another relay may take
// the socket; every member leaves its cluster; what was accepted is finished;
// every client is told that it has all the replies it will get. Then it
// closes. If ctx ends first, it closes at once and returns ctx's error.
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
		wg.Go(func() {
			if !c.drain(ctx) {
				unfinished.Store(true)
			}
		})
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
	f := &session.Drain{Text: "the relay is shutting down"}
	if at, ok := ctx.Deadline(); ok {
		f.Remaining = session.Micros(time.Until(at))
	}
	c.tell(f)
	members := c.startDraining()
	for _, m := range members {
		m.leave(0)
	}
	for _, m := range members {
		if !c.await(ctx, m.done) {
			return false
		}
	}
	if !c.topics.drain(ctx) {
		return false
	}
	c.stop()
	if !c.await(ctx, c.idle) {
		return false
	}
	c.tunnels.refuse(failure.ErrDraining)
	if !c.await(ctx, c.tunnels.idle) {
		return false
	}
	// The last frame of the last tunnel is with the writer, perhaps, and not yet
	// in the queue, where Goodbye must follow it.
	m := &mark{passed: make(chan struct{})}
	c.rota.Ready(m)
	if !c.await(ctx, m.passed) {
		return false
	}
	c.finish(&session.Goodbye{}, c.relay.cfg.Limits.Stall)
	return c.await(ctx, c.gone)
}

// mark stands in the rota: all that the writer was given before it is queued
// when it has passed.
type mark struct {
	session.Place
	passed chan struct{}
}

// Next implements session.Channel.
func (m *mark) Next() session.Frame {
	close(m.passed)
	return nil
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

// startDraining refuses new registrations and returns those there are.
func (c *client) startDraining() []*member {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	members := make([]*member, 0, len(c.members))
	for _, m := range c.members {
		members = append(members, m)
	}
	return members
}

// stop ignores new calls and closes idle when the last one has its reply.
func (c *client) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	c.stopped = true
	if c.busy == 0 {
		close(c.idle)
	}
}
