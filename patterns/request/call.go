// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// call is one request of a caller: the shell around a plan. It runs on the
// caller's own goroutine.
type call struct {
	// Immutable once it runs.
	engine     *Engine
	route      *route
	to         *cluster.Member // the only one that is asked; nil = whom the policy picks
	policy     cluster.PickRequest
	pattern    patterns.Pattern
	idempotent bool
	over       bool // in a fan: it has an outcome; the fan's
	headers    []wire.Header
	body       []byte
	size       int // bytes of headers and body
	deadline   time.Time
	bytes      *room // of replies; nil = no bound

	box  *mailbox // the only part that others touch
	mail mailbox  // is box, unless that is shared

	// Owned by the caller's goroutine.
	plan     plan
	attempts []*attempt
	first    attempt // the one that most requests need
	room     [1]*attempt
	lapse    overlay.Timer // ends the request; nil if the context does
	timer    overlay.Timer // ends a pause
	timers   int32         // number of the latest
	moment   int64         // the time, if it was asked for since the last wait; else 0
	excluded [maxAttempts + 2]cluster.MemberID
	scratch  [64]byte
	parts    [2][]byte

	// The end.
	reply  *attempt // whose reply is the outcome
	answer patterns.Message
}

// run carries the request through to its outcome.
func (c *call) run(ctx context.Context, wait bool) error {
	defer c.finish(ctx)
	c.route.countRequest(c.now())
	d := trying()
	if c.to == nil && len(c.route.watch.View().Members) == 0 {
		d = c.look(ctx, wait)
	}
	for {
		switch d.do {
		case doTry:
			d = c.try()
		case doEnd:
			return d.err
		default:
			d = c.await(ctx, d.pause)
		}
	}
}

// look waits for a view that has members. Nothing was sent yet.
func (c *call) look(ctx context.Context, wait bool) decision {
	e := c.engine
	if c.lapse != nil {
		var cancel context.CancelFunc
		ctx, cancel = overlay.WithTimeout(ctx, e.cfg.Clock, "request.view", c.deadline.Sub(e.cfg.Clock.Now()))
		defer cancel()
	}
	c.moment = 0
	if _, err := c.route.watch.Wait(ctx, wait); err != nil {
		return ending(viewError(ctx, err))
	}
	return trying()
}

// viewError turns what the cluster layer says into an outcome.
func viewError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, cluster.ErrNoMembers):
		return patterns.ErrNoMembers
	case errors.Is(err, cluster.ErrUnreachable):
		return patterns.ErrUnreachable
	case errors.Is(err, cluster.ErrClosed):
		return patterns.ErrClosed
	case ctx.Err() != nil:
		return &patterns.DeadlineError{Cause: ctx.Err()}
	}
	return err
}

// try chooses a member and sends, if that is allowed.
func (c *call) try() decision {
	e := c.engine
	if e.closed.Load() {
		return c.end(c.plan.closing())
	}
	if c.to != nil {
		return c.tryOnly(c.to)
	}
	v := c.route.watch.View()
	m := c.pick(v)
	switch {
	case m == nil:
		return c.plan.nobody(c.now(), v.Known && v.Empty)
	case !c.plan.permits(m.ID):
		return c.plan.denied()
	case m.MaxMessage > 0 && c.size > m.MaxMessage:
		return c.tooLarge()
	case len(c.attempts) > 0 && !c.route.allowRetry(c.now()):
		e.drops.Inc(dropBudget)
		return c.plan.denied()
	}
	return c.attempt(m)
}

// tryOnly sends to the one member that is asked. Only while it could not be
// reached, and is still listed, is there another attempt.
func (c *call) tryOnly(m *cluster.Member) decision {
	switch {
	case m.MaxMessage > 0 && c.size > m.MaxMessage:
		return c.tooLarge()
	case len(c.attempts) == 0:
		return c.attempt(m)
	case !c.plan.onlyUnreached() || !c.listed(m):
		return c.plan.denied()
	case c.plan.again:
		return c.attempt(m)
	}
	return c.plan.nobody(c.now(), false)
}

// listed says whether m is still a member.
func (c *call) listed(m *cluster.Member) bool {
	v := c.route.watch.View()
	return slices.ContainsFunc(v.Members, func(each *cluster.Member) bool { return each.ID == m.ID })
}

// pick chooses a member. One on a node that this request has just lost is
// passed over: the cluster layer may not know yet.
func (c *call) pick(v *cluster.View) *cluster.Member {
	r := c.policy
	r.Exclude = c.plan.exclude(c.excluded[:0])
	for range len(v.Members) + 1 {
		m := c.engine.cfg.Directory.Pick(v, r)
		if m == nil || c.plan.again || !c.plan.lostPeer(m.Peer) || c.engine.cfg.Links.Link(m.Peer).Session() != 0 {
			return m
		}
		r.Exclude = append(r.Exclude, m.ID)
	}
	return nil
}

// now is the engine's clock, asked once between two waits: it costs more than
// most of what a request does.
func (c *call) now() int64 {
	if c.moment == 0 {
		c.moment = c.engine.now()
	}
	return c.moment
}

// tooLarge ends it: the message is beyond a limit, and was not sent.
func (c *call) tooLarge() decision {
	c.engine.drops.Inc(dropTooLarge)
	return c.end(patterns.ErrTooLarge)
}

// end is the decision to end.
func (c *call) end(err error) decision { return ending(err) }

// finish closes the books: whoever still works for this request is told that
// nobody waits any more.
func (c *call) finish(ctx context.Context) {
	e := c.engine
	if c.lapse != nil {
		c.lapse.Stop()
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.unqueue()
	for _, a := range c.attempts {
		if a.ended {
			continue
		}
		over := c.now() >= int64(c.deadline.Sub(e.start))
		e.pending.take(a.id)
		sent := c.plan.trials[a.number].sent
		if sent && !over && a != c.reply {
			a.cancel()
		}
		c.settle(a, c.judge(a, ctx, over))
	}
}

// forget lets go of the reply, which somebody else has now.
func (c *call) forget() {
	c.answer = patterns.Message{}
	if c.reply != nil {
		c.reply.reply = wire.Reply{}
	}
}

// judge says what an attempt without an answer tells of its member: nothing,
// if its peer answers no heartbeats either, for that is the link's to say.
func (c *call) judge(a *attempt, ctx context.Context, over bool) cluster.Outcome {
	if over && !c.plan.trials[a.number].doubtful && ctx.Err() != context.Canceled {
		return cluster.OutcomeFailed
	}
	return cluster.OutcomeCancelled
}

// cancel tells the member that nobody waits. It is a hint, and may get lost.
func (a *attempt) cancel() {
	var frame [8]byte
	_, _ = a.remote.link.Send(overlay.LaneRPC, wire.KindCancel, wire.Cancel{ID: a.id}.AppendTo(frame[:0]))
}

// report tells how it went.
func (c *call) report() patterns.Outcome {
	o := patterns.Outcome{Attempts: len(c.attempts)}
	if c.reply != nil {
		o.Member = c.reply.member.ID.String()
	}
	return o
}
