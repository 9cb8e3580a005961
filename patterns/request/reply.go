// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// answered takes in the member's answer. The outcomes table of package
// patterns is this method and plan.ended.
func (a *attempt) answered() decision {
	c := a.call
	switch {
	case c.cfg.Leaf != nil:
		return a.answeredByRelay()
	case c.origin != nil:
		return passedOn(a)
	case isFar(a):
		if a.reply.Outcome == wire.OutcomeNoSuchMember && rekey(a) {
			return a.transmit()
		}
		if f := reveal(a); f != 0 {
			return a.failed(f)
		}
	}
	switch a.reply.Outcome {
	case wire.OutcomeReply:
		return a.accept()
	case wire.OutcomeRemoteError:
		return a.refused()
	case wire.OutcomeOverloaded:
		return a.failed(failedFull)
	case wire.OutcomeDraining:
		return a.failed(failedLeaving)
	case wire.OutcomeNoSuchMember:
		if rekey(a) {
			return a.transmit()
		}
		return a.failed(failedGone)
	case wire.OutcomeUnreachable:
		return a.failed(failedCut)
	case wire.OutcomeExpired:
		return a.failed(failedLate)
	case wire.OutcomeUnauthorized:
		return a.final(wire.OutcomeCancelled, patterns.ErrUnauthorized)
	case wire.OutcomeTooLarge:
		return a.final(wire.OutcomeCancelled, patterns.ErrTooLarge)
	}
	return a.failed(failedReply) // cancelled, but not by us
}

// accept makes a reply the outcome.
func (a *attempt) accept() decision {
	c := a.call
	tail, ok := a.open(&a.reply)
	if ok && c.raw {
		c.answer.Tail = tail
	} else if ok {
		var err error
		c.answer.Message, err = messageOf(tail)
		ok = err == nil
	}
	if !ok {
		c.drops.Inc(dropReplyBad)
		return a.failed(failedReply)
	}
	return a.final(wire.OutcomeReply, nil)
}

// refused makes a remote error the outcome.
func (a *attempt) refused() decision {
	c := a.call
	tail, ok := a.open(&a.reply)
	m, err := messageOf(tail)
	if !ok || err != nil {
		c.drops.Inc(dropReplyBad)
		return a.failed(failedReply)
	}
	return a.final(wire.OutcomeRemoteError, &patterns.RemoteError{
		Cluster: c.route.name, Code: patterns.Code(a.reply.Code), Message: string(m.Body),
	})
}

// answeredByRelay takes in what the relay says became of a leaf's request.
func (a *attempt) answeredByRelay() decision {
	c := a.call
	if f := a.reply.From; f != nil {
		c.answer.Attempts = int(f.Attempts) + a.earlier
	}
	a.member = memberOf(a.reply.From)
	switch a.reply.Outcome {
	case wire.OutcomeReply:
		return a.accept()
	case wire.OutcomeDraining: // it was not looked at
		return a.awaitSession()
	}
	m, err := messageOf(a.reply.Tail)
	if err != nil {
		c.drops.Inc(dropReplyBad)
	}
	f := failureOf(&a.reply, m)
	f.MaybeRan = f.MaybeRan || a.earlier > 0
	return a.final(wire.OutcomeCancelled, f.Err(c.route.name))
}

// final ends the request by what the member of a said.
func (a *attempt) final(o wire.Outcome, err error) decision {
	c := a.call
	c.reply = a
	c.answer.Member, c.answer.Session = a.member, a.receipt.Session
	c.answer.Queue, c.answer.Running = int(a.reply.Queue), int(a.reply.Running)
	c.answer.Service = time.Duration(a.reply.ServiceMicros) * time.Microsecond
	a.settle(o)
	a.reply.Tail = nil // somebody else has it now
	return ending(err)
}

// open returns the headers and the body of a reply. Of a sealed request only a
// sealed reply counts: anything else is not from who was asked.
func (a *attempt) open(r *wire.Reply) (tail []byte, ok bool) {
	c := a.call
	if a.revealed {
		return r.Tail, true
	}
	sealed := r.Flags&wire.FlagSealed != 0
	if sealed != c.route.seal {
		return nil, false
	}
	if !sealed {
		return r.Tail, true
	}
	b := a.binding()
	b.Reply = true
	tail, err := c.route.keys.OpenInPlace(b, r.Tail)
	return tail, err == nil
}
