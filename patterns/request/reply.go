// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// handleReply takes a reply in, on the goroutine that reads the link.
func (e *Engine) handleReply(l Link, body []byte) {
	r, err := wire.DecodeReply(body)
	if err != nil {
		e.drops.Inc(dropMalformed)
		return
	}
	foreign := false
	a := e.pending.takeIf(r.ID, func(a *attempt) bool {
		if foreign = a.remote.id != l.Peer(); foreign {
			return false
		}
		if b := a.call.bytes; b != nil && !b.take(replySize(&r)) {
			e.drops.Inc(dropReplyLarge)
			r = wire.Reply{ID: r.ID, Outcome: wire.OutcomeTooLarge, Queue: r.Queue, Running: r.Running}
		}
		a.reply, a.arrived = r, e.now()
		return true
	})
	switch {
	case foreign:
		e.drops.Inc(dropReplyForeign)
	case a != nil:
		e.post(a, event{what: eventReply, attempt: a})
	case r.Outcome == wire.OutcomeReply || r.Outcome == wire.OutcomeRemoteError:
		e.drops.Inc(dropReplyLate)
	}
}

// replySize is how many bytes of headers and body a reply has.
func replySize(r *wire.Reply) int {
	if r.Flags&wire.FlagSealed != 0 {
		return max(0, len(r.Body)-sealedSize(nil, nil))
	}
	return messageSize(r.Headers, r.Body)
}

// answered takes in the member's answer. The outcomes table of package
// patterns is this method and plan.ended.
func (c *call) answered(a *attempt) decision {
	switch a.reply.Outcome {
	case wire.OutcomeReply:
		return c.accept(a)
	case wire.OutcomeRemoteError:
		return c.refused(a)
	case wire.OutcomeOverloaded:
		return c.failed(a, failedFull)
	case wire.OutcomeDraining:
		return c.failed(a, failedLeaving)
	case wire.OutcomeNoSuchMember:
		return c.failed(a, failedGone)
	case wire.OutcomeExpired:
		return c.failed(a, failedLate)
	case wire.OutcomeUnauthorized:
		return c.final(a, cluster.OutcomeCancelled, patterns.ErrUnauthorized)
	case wire.OutcomeTooLarge:
		return c.final(a, cluster.OutcomeCancelled, patterns.ErrTooLarge)
	}
	return c.failed(a, failedReply) // cancelled, but not by us
}

// accept makes a reply the outcome.
func (c *call) accept(a *attempt) decision {
	m, ok := c.open(a)
	if !ok {
		return c.failed(a, failedReply)
	}
	c.answer = m
	return c.final(a, cluster.OutcomeOK, nil)
}

// refused makes a remote error the outcome.
func (c *call) refused(a *attempt) decision {
	m, ok := c.open(a)
	if !ok {
		return c.failed(a, failedReply)
	}
	return c.final(a, cluster.OutcomeRemoteError, &patterns.RemoteError{
		Cluster: c.route.name, Code: patterns.Code(a.reply.Code), Message: string(m.Body),
	})
}

// final ends the request by what the member of a said.
func (c *call) final(a *attempt, o cluster.Outcome, err error) decision {
	c.reply = a
	c.settle(a, o)
	return c.end(err)
}

// open returns what a reply says. Of a sealed request only a sealed reply
// counts: anything else is not from who was asked.
func (c *call) open(a *attempt) (patterns.Message, bool) {
	r := a.reply
	if !c.route.seal {
		return patterns.Message{Headers: wire.ConvertHeaders[patterns.Header](r.Headers), Body: r.Body}, r.Flags&wire.FlagSealed == 0
	}
	b := c.engine.binding(a)
	b.Reply = true
	headers, body, err := openMessage(c.route.keys, b, r.Body)
	if err != nil || len(r.Headers) > 0 {
		c.engine.drops.Inc(dropReplyBad)
		return patterns.Message{}, false
	}
	return patterns.Message{Headers: wire.ConvertHeaders[patterns.Header](headers), Body: body}, true
}
