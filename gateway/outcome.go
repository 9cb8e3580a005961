// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// noHeaders is the tail of a message without anything.
var noHeaders = wire.AppendTail(nil, nil, nil)

// replyOf turns what became of a message in the far network into what the lent member
// says. It is certain that no handler ran only where the far network is: all else is
// "cancelled", which callers know as interrupted.
func replyOf(a request.Answer, err error) wire.Reply {
	r := wire.Reply{
		Outcome: outcomeOf(err), Tail: noHeaders, Queue: uint32(a.Queue), Running: uint32(a.Running),
		ServiceMicros: uint32(min(a.Service/time.Microsecond, 1<<32-1)),
	}
	var remote *patterns.RemoteError
	switch {
	case err == nil && a.Tail != nil:
		r.Tail = a.Tail
	case errors.As(err, &remote):
		r.Code, r.Tail = uint32(remote.Code), wire.AppendTail(nil, nil, []byte(remote.Message))
	}
	return r
}

// outcomeOf is the table: what a caller of the lent member hears.
func outcomeOf(err error) wire.Outcome {
	var late *patterns.DeadlineError
	o := patterns.OutcomeOf(err)
	switch o {
	case patterns.OutcomeReply, patterns.OutcomeRemoteError, patterns.OutcomeOverloaded,
		patterns.OutcomeUnauthorized, patterns.OutcomeTooLarge:
		return o
	case patterns.OutcomeNoMembers:
		return wire.OutcomeNoSuchMember // no handler ran; another network may have one
	case patterns.OutcomeUnreachable:
		return wire.OutcomeUnreachable // likewise
	case patterns.OutcomeClosed, patterns.OutcomeTooMany:
		return wire.OutcomeDraining // likewise, and it need not be asked again
	case patterns.OutcomeDeadline:
		if errors.As(err, &late) && !late.MaybeRan {
			return wire.OutcomeExpired
		}
		return wire.OutcomeDeadline // nothing is said: the caller's own deadline has passed
	case patterns.OutcomeCancelled:
		if errors.As(err, &late) && !late.MaybeRan && errors.Is(err, context.Canceled) {
			return wire.OutcomeDraining
		}
	}
	return wire.OutcomeCancelled
}
