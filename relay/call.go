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
		reply := do(ctx)
		cancel()
		c.free(id, size)
		c.reply(reply)
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
		return &session.StatusReply{ID: f.ID, JSON: []byte("{}")}
	}
	panic("BUG: no reply: " + f.Kind().String())
}

func (c *client) countLimit(err error) {
	switch {
	case errors.Is(err, ErrTooManyRequests):
		c.relay.count.drop(dropTooManyRequests)
	case errors.Is(err, ErrTooManyBytes):
		c.relay.count.drop(dropTooManyBytes)
	case errors.Is(err, ErrTooManyRegistrations):
		c.relay.count.drop(dropTooManyRegistrations)
	}
}

func (c *client) handleCancel(f *session.Cancel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.calls[f.ID]; cancel != nil {
		cancel()
	}
}

func (c *client) handleRequest(f *session.Request, size int) (violation string) {
	return c.call(f.ID, f.Timeout, size,
		func(ctx context.Context) session.Frame { return c.request(ctx, f) },
		func(why session.Failure) session.Frame { return &session.Reply{ID: f.ID, Failure: why} })
}

// request asks the cluster on behalf of the client.
func (c *client) request(ctx context.Context, f *session.Request) *session.Reply {
	var outcome patterns.Outcome
	m, err := c.askNode(ctx, f, &outcome)
	if c.relay.isDraining() && nobodyAsked(err) {
		// Perhaps only because the members are leaving with this relay.
		err = failure.ErrDraining
	}
	reply := &session.Reply{
		ID:       f.ID,
		Failure:  failure.Of(err),
		Attempts: uint16(min(outcome.Attempts, 1<<16-1)),
		Member:   outcome.Member,
	}
	if err == nil {
		reply.Headers, reply.Body = session.ConvertHeaders[session.Header](m.Headers), m.Body
	}
	return reply
}

// askNode asks the members there are, and only if there are none waits for one:
// that can be given up when the relay drains, because most likely nobody has
// been asked yet.
func (c *client) askNode(ctx context.Context, f *session.Request, outcome *patterns.Outcome) (patterns.Message, error) {
	options := append(optionsOf(f), patterns.Report(outcome))
	message := patterns.Message{Headers: session.ConvertHeaders[patterns.Header](f.Headers), Body: f.Body}
	node := c.relay.cfg.Node
	m, err := node.Request(ctx, f.Cluster, message, options...)
	if !f.WaitForMember || !errors.Is(err, patterns.ErrNoMembers) {
		return m, err
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.relay.draining, cancel)()
	m, err = node.Request(waiting, f.Cluster, message, append(options, patterns.WaitForMember())...)
	var late *patterns.DeadlineError
	if c.relay.isDraining() && ctx.Err() == nil && errors.Is(err, context.Canceled) && errors.As(err, &late) {
		err = failure.ErrDraining
		if late.MaybeRan {
			err = patterns.ErrInterrupted
		}
	}
	return m, err
}

// nobodyAsked says that err means that no member has seen the request, and that
// there may be one elsewhere or soon.
func nobodyAsked(err error) bool {
	return !errors.Is(err, patterns.ErrInterrupted) &&
		(errors.Is(err, patterns.ErrNoMembers) || errors.Is(err, patterns.ErrUnreachable) || errors.Is(err, patterns.ErrClosed))
}

// optionsOf returns the options of f but for the waiting.
func optionsOf(f *session.Request) []patterns.RequestOption {
	options := make([]patterns.RequestOption, 0, 4)
	if f.Idempotent {
		options = append(options, patterns.Idempotent())
	}
	switch policy := patterns.Policy(f.Policy); policy {
	case patterns.PolicyLoad:
	case patterns.PolicySticky:
		options = append(options, patterns.Sticky(f.StickyKey))
	default:
		options = append(options, patterns.WithPolicy(policy))
	}
	return options
}

func (c *client) handleMembers(f *session.Members, size int) (violation string) {
	return c.call(f.ID, f.Timeout, size,
		func(ctx context.Context) session.Frame { return c.listMembers(ctx, f) },
		func(why session.Failure) session.Frame { return &session.MembersReply{ID: f.ID, Failure: why} })
}

func (c *client) listMembers(ctx context.Context, f *session.Members) *session.MembersReply {
	members, err := c.relay.cfg.Node.Members(ctx, f.Cluster)
	reply := &session.MembersReply{ID: f.ID, Failure: failure.Of(err)}
	for i := range members {
		reply.Members = append(reply.Members, session.Member{
			ID:          members[i].ID,
			Peer:        members[i].Peer,
			Incarnation: members[i].Incarnation,
			Zone:        members[i].Zone,
			Capacity:    uint32(members[i].Capacity),
			State:       members[i].State,
		})
	}
	return reply
}

func (c *client) handleStatus(f *session.Status, size int) (violation string) {
	reply := func(json []byte) session.Frame { return &session.StatusReply{ID: f.ID, JSON: json} }
	return c.call(f.ID, 0, size,
		func(context.Context) session.Frame { return reply(c.relay.describe()) },
		func(session.Failure) session.Frame { return reply([]byte("{}")) })
}
