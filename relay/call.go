// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"fmt"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

// call runs do on a goroutine of its own, bounded by the client's quota, and
// queues the reply it returns. timeout is in µs, 0 = none. refuse makes the
// reply where there is no place for the call.
func (c *client) call(id, timeout uint64, size int, do func(context.Context) session.Frame, refuse func(session.Failure) session.Frame) (violation string) {
	return c.callThen(id, timeout, size, func(ctx context.Context) (session.Frame, func()) { return do(ctx), nil }, refuse)
}

// callThen is call for a do that also returns what is to be done when its
// reply, a small one then, is queued. It may be nil.
func (c *client) callThen(id, timeout uint64, size int, do func(context.Context) (session.Frame, func()), refuse func(session.Failure) session.Frame) (violation string) {
	ctx, cancel, err := c.begin(id, timeout, size)
	switch {
	case errors.Is(err, errDuplicate):
		return fmt.Sprintf("call %d is there already", id)
	case errors.Is(err, failure.ErrDraining):
		c.relay.count.drop(dropRequestInDrain)
		return "" // Goodbye will say that nobody looked at it
	case err != nil:
		c.countLimit(err)
		c.tell(refuse(failure.Of(err)))
		return ""
	}
	c.wg.Go(func() {
		reply, then := do(ctx)
		cancel()
		c.free(id, size)
		if then != nil {
			c.tell(reply)
			then()
		} else {
			c.reply(reply)
		}
		c.done()
	})
	return ""
}

// errDuplicate is returned by begin for an id that is in use.
var errDuplicate = errors.New("relay: duplicate id")

// begin takes a place for a call. The reader is the only one to call it.
func (c *client) begin(id, timeout uint64, size int) (context.Context, context.CancelFunc, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil, nil, failure.ErrDraining
	}
	if _, ok := c.calls[id]; ok {
		return nil, nil, errDuplicate
	}
	if err := c.quota.request(size); err != nil {
		return nil, nil, err
	}
	ctx, cancel := withTimeout(c.ctx, timeout)
	c.calls[id] = cancel
	c.busy++
	return ctx, cancel, nil
}

// withTimeout takes µs; 0 = none.
func withTimeout(ctx context.Context, timeout uint64) (context.Context, context.CancelFunc) {
	if timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, session.Duration(timeout))
}

// enter counts work that is no call among those that run, unless the session
// takes none any more; done is its end.
func (c *client) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return false
	}
	c.busy++
	return true
}

// free gives id and place back. That must be before the reply is queued: the
// client may use both again as soon as it has read it.
func (c *client) free(id uint64, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
	c.quota.requestDone(size)
}

// done is after the reply was queued, so that Goodbye follows it.
func (c *client) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy--
	if c.stopped && c.busy == 0 {
		close(c.idle)
	}
}

// reply queues the reply of a call. If there is no room it waits: a burst of
// large replies is no fault of the client. What waits is bounded like what is
// under way; beyond that, and if the reply can't be encoded, something smaller
// takes its place, because every call has a reply.
func (c *client) reply(f session.Frame) {
	err := c.sender.Send(f)
	if errors.Is(err, session.ErrQueueFull) {
		err = c.replyLater(f)
	}
	switch {
	case err == nil || errors.Is(err, session.ErrSenderClosed) || c.ctx.Err() != nil:
		return
	case errors.Is(err, session.ErrQueueFull):
		c.relay.count.drop(dropSlowReply)
	}
	c.tell(substitute(f, err))
}

// replyLater waits for room; a client that makes none soon loses its session,
// which ends the waiting.
func (c *client) replyLater(f session.Frame) error {
	size := sizeOf(f)
	c.mu.Lock()
	err := c.replies.request(size)
	c.mu.Unlock()
	if err != nil {
		return session.ErrQueueFull
	}
	_, err = c.sender.SendWait(c.ctx, f)
	c.mu.Lock()
	c.replies.requestDone(size)
	c.mu.Unlock()
	return err
}

// sizeOf is what a reply holds in memory, roughly, in bytes.
func sizeOf(f session.Frame) int {
	const fixed = 512
	switch f := f.(type) {
	case *session.Reply:
		return fixed + session.HeadersSize(f.Headers) + len(f.Body) + len(f.Text)
	case *session.MembersReply:
		return fixed + fixed*len(f.Members)
	case *session.StatusReply:
		return fixed + len(f.JSON)
	case *session.SurveyEnd:
		return fixed + fixed*len(f.Missing)
	case *session.BroadcastReply:
		return fixed + fixed*len(f.Missing)
	}
	return fixed
}

// substitute makes the reply that stands for f, which err kept from being
// queued. It is certain only that the outcome is lost.
func substitute(f session.Frame, err error) session.Frame {
	lost := failure.Of(fmt.Errorf("%w: its reply was lost on the way from the relay: %w", patterns.ErrInterrupted, err))
	switch f := f.(type) {
	case *session.Reply:
		return &session.Reply{ID: f.ID, Failure: lost}
	case *session.MembersReply:
		return &session.MembersReply{ID: f.ID, Failure: lost}
	case *session.StatusReply:
		return &session.StatusReply{ID: f.ID, Failure: lost}
	case *session.SurveyEnd:
		return &session.SurveyEnd{ID: f.ID, Failure: lost, Replies: f.Replies}
	case *session.BroadcastReply:
		return &session.BroadcastReply{ID: f.ID, Failure: lost}
	case *session.TunnelReply:
		return &session.TunnelReply{ID: f.ID, Failure: lost}
	}
	panic("BUG: no reply: " + f.Kind().String())
}

func (c *client) countLimit(err error) {
	switch {
	case errors.Is(err, ErrTooManyRequests):
		c.relay.count.drop(dropTooManyRequests)
	case errors.Is(err, ErrTooManyBytes):
		c.relay.count.drop(dropTooManyBytes)
	case errors.Is(err, ErrTooManySubscriptions):
		c.relay.count.drop(dropTooManySubscriptions)
	case errors.Is(err, ErrTooManyRegistrations):
		c.relay.count.drop(dropTooManyRegistrations)
	case errors.Is(err, ErrTooManyTunnels):
		c.relay.count.drop(dropTooManyTunnels)
	}
}

func (c *client) handleCancel(f *session.Cancel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.calls[f.ID]; cancel != nil {
		cancel()
	}
}
