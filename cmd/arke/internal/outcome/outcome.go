// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"errors"

	"github.com/arke-mesh/arke/patterns"
)

// Outcome is what came of one request. Every request has exactly one.
type Outcome uint8

// The outcomes. TooMany is of what opens something: a tunnel, a subscription, a
// registration, the session with the relay.
const (
	Reply Outcome = iota
	RemoteError
	NoMember
	Overloaded
	Unreachable
	Deadline
	Interrupted
	Unauthorized
	TooLarge
	Cancelled
	Closed
	TooMany
	Other

	Count = int(Other) + 1
)

// Of tells which outcome err stands for; nil is a reply.
func Of(err error) Outcome {
	var remote *patterns.RemoteError
	var reset *patterns.TunnelError
	switch {
	case err == nil:
		return Reply
	case errors.As(err, &remote), errors.As(err, &reset):
		return RemoteError
	case errors.Is(err, patterns.ErrNoMembers):
		return NoMember
	case errors.Is(err, patterns.ErrOverloaded):
		return Overloaded
	case errors.Is(err, patterns.ErrInterrupted):
		return Interrupted
	case errors.Is(err, patterns.ErrUnreachable):
		return Unreachable
	case errors.Is(err, patterns.ErrUnauthorized):
		return Unauthorized
	case errors.Is(err, patterns.ErrTooLarge):
		return TooLarge
	case errors.Is(err, patterns.ErrClosed):
		return Closed
	case errors.Is(err, patterns.ErrTooMany):
		return TooMany
	case errors.Is(err, context.DeadlineExceeded):
		return Deadline
	case errors.Is(err, context.Canceled):
		return Cancelled
	}
	return Other
}

// String returns the outcome's name as used in JSON.
func (o Outcome) String() string {
	switch o {
	case Reply:
		return "reply"
	case RemoteError:
		return "remote_error"
	case NoMember:
		return "no_member"
	case Overloaded:
		return "overloaded"
	case Unreachable:
		return "unreachable"
	case Deadline:
		return "deadline"
	case Interrupted:
		return "interrupted"
	case Unauthorized:
		return "unauthorized"
	case TooLarge:
		return "too_large"
	case Cancelled:
		return "cancelled"
	case Closed:
		return "closed"
	case TooMany:
		return "too_many"
	}
	return "other"
}

// ExitCode returns the status with which the command line ends. The numbers
// are part of its interface; they never change.
func (o Outcome) ExitCode() int {
	switch o {
	case Reply:
		return 0
	case RemoteError:
		return 2
	case NoMember:
		return 3
	case Overloaded:
		return 4
	case Unreachable:
		return 5
	case Deadline:
		return 6
	case Interrupted:
		return 7
	case Unauthorized:
		return 8
	case TooLarge:
		return 9
	case TooMany:
		return 14 // arke sim has those between
	}
	return 1
}
