// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// Ask is one message for one member.
type Ask struct {
	Cluster string
	Pattern patterns.Pattern
	// Message is the caller's, who must not change it before Ask returns.
	Message patterns.Message
	Options patterns.RequestOptions
	// To is the only member that is asked, and its handler sees it at most
	// once, whatever Options say; its link is opened if need be. nil = whom
	// the policy picks, with retries at others.
	To *cluster.Member
}

// Answer is what became of an Ask.
type Answer struct {
	Message  patterns.Message // the caller owns it
	Member   *cluster.Member  // that gave the outcome; nil if none did
	Session  uint64           // of the link that Member was asked on
	Attempts int
}

// Do is Ask for a request.
func (e *Engine) Do(ctx context.Context, name string, m patterns.Message, o patterns.RequestOptions) (patterns.Message, error) {
	a, err := e.Ask(ctx, Ask{Cluster: name, Message: m, Options: o})
	return a.Message, err
}

// Ask sends a message to one member of the cluster and returns the one outcome,
// as package patterns describes it: for a request or a survey the reply, for a
// push or a broadcast that the member's queue has it, for a tunnel that it was
// accepted. Without a deadline in ctx it has 5 s. The Answer is valid with an
// error, too.
func (e *Engine) Ask(ctx context.Context, a Ask) (Answer, error) {
	if err := e.check(ctx, a); err != nil {
		return Answer{}, err
	}
	c := e.newCall(a)
	e.takeTurn("request.call", a.fingerprint())
	var limited bool
	if c.deadline, limited = ctx.Deadline(); !limited {
		c.deadline = e.start.Add(time.Duration(c.now()) + DefaultTimeout)
		c.lapse = e.cfg.Clock.AfterFunc("request.deadline", DefaultTimeout, func() { c.box.put(event{what: eventDeadline}) })
	}
	c.route = e.route(a.Cluster)
	err := c.run(ctx, a.Options.WaitForMember)
	e.putRoute(c.route, c.now())
	if a.Options.Outcome != nil {
		*a.Options.Outcome = c.report()
	}
	return c.result(), err
}

// check refuses what can be refused without the cluster.
func (e *Engine) check(ctx context.Context, a Ask) error {
	if err := checkName(a.Cluster); err != nil {
		return err
	}
	if e.closed.Load() {
		return patterns.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return &patterns.DeadlineError{Cause: err}
	}
	headers := wire.ConvertHeaders[wire.Header](a.Message.Headers)
	if wire.CheckHeaders(headers) != nil || messageSize(headers, a.Message.Body) > MaxMessage {
		e.drops.Inc(dropTooLarge)
		return patterns.ErrTooLarge
	}
	return nil
}

// newCall makes the call of an Ask that was checked.
func (e *Engine) newCall(a Ask) *call {
	c := &call{}
	c.init(e, a, &c.mail)
	c.mail.init()
	return c
}

// init makes c the call of an Ask, with a mailbox that may be shared.
func (c *call) init(e *Engine, a Ask, box *mailbox) {
	c.engine, c.box = e, box
	c.pattern, c.to = a.Pattern, a.To
	c.idempotent = a.Options.Idempotent && a.To == nil
	c.policy = cluster.PickRequest{Policy: cluster.Policy(a.Options.Policy), StickyKey: a.Options.StickyKey}
	c.headers, c.body = wire.ConvertHeaders[wire.Header](a.Message.Headers), a.Message.Body
	c.size = messageSize(c.headers, c.body)
	c.plan.init(c.idempotent, a.Options.WaitForMember && a.To == nil)
	c.attempts = c.room[:0]
}

// result is what became of the call.
func (c *call) result() Answer {
	a := Answer{Message: c.answer, Attempts: len(c.attempts)}
	if c.reply != nil {
		a.Member, a.Session = c.reply.member, c.reply.left
	}
	return a
}
