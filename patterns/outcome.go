// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package patterns

import (
	"context"
	"errors"

	"github.com/arke-mesh/arke/internal/wire"
)

// Outcome says how something that was asked for ended: every request has exactly
// one. Its numbers are those of the wire, its String is the word that JSON, logs
// and metrics use. [OutcomeOf], [Failure] and [ExitStatus] read one table.
type Outcome = wire.Outcome

// The outcomes that a caller can see.
const (
	OutcomeReply        = wire.OutcomeReply
	OutcomeRemoteError  = wire.OutcomeRemoteError
	OutcomeOverloaded   = wire.OutcomeOverloaded
	OutcomeUnauthorized = wire.OutcomeUnauthorized
	OutcomeTooLarge     = wire.OutcomeTooLarge
	OutcomeCancelled    = wire.OutcomeCancelled
	OutcomeNoMembers    = wire.OutcomeNoMembers
	OutcomeUnreachable  = wire.OutcomeUnreachable
	OutcomeInterrupted  = wire.OutcomeInterrupted
	OutcomeDeadline     = wire.OutcomeDeadline
	OutcomeClosed       = wire.OutcomeClosed
	OutcomeTooMany      = wire.OutcomeTooMany
	OutcomeWouldBlock   = wire.OutcomeWouldBlock
	OutcomeTopic        = wire.OutcomeTopic
	OutcomeOther        = wire.OutcomeFailed

	// OutcomeCount is larger than each of them.
	OutcomeCount = wire.OutcomeCount
)

// entry is one outcome.
type entry struct {
	outcome Outcome
	err     error // nil: it has a type of its own, or there is none
	ran     bool  // without another word, a handler may have run
	exit    int
}

// outcomes is the table: what stands for what. Where an error matches more than
// one, the first counts: a request that was interrupted at one member and
// refused by the next is interrupted. Exit statuses are part of the command
// line's interface and never change; 10 to 13 are arke sim's.
var outcomes = [...]entry{
	{OutcomeReply, nil, true, 0},
	{OutcomeRemoteError, nil, true, 2},
	{OutcomeTooMany, ErrTooMany, false, 14},
	{OutcomeInterrupted, ErrInterrupted, true, 7},
	{OutcomeNoMembers, ErrNoMembers, false, 3},
	{OutcomeOverloaded, ErrOverloaded, false, 4},
	{OutcomeUnreachable, ErrUnreachable, false, 5},
	{OutcomeUnauthorized, ErrUnauthorized, false, 8},
	{OutcomeTooLarge, ErrTooLarge, false, 9},
	{OutcomeClosed, ErrClosed, false, 1},
	{OutcomeTopic, ErrTopic, false, 1},
	{OutcomeWouldBlock, ErrWouldBlock, false, 1},
	{OutcomeDeadline, context.DeadlineExceeded, true, 6},
	{OutcomeCancelled, context.Canceled, true, 1},
	{OutcomeOther, nil, false, 1},
}

// OutcomeOf tells which outcome err stands for; nil is a reply.
func OutcomeOf(err error) Outcome {
	var remote *RemoteError
	var reset *TunnelError
	switch {
	case err == nil:
		return OutcomeReply
	case errors.As(err, &remote), errors.As(err, &reset):
		return OutcomeRemoteError
	}
	for i := range outcomes {
		if o := &outcomes[i]; o.err != nil && errors.Is(err, o.err) {
			return o.outcome
		}
	}
	return OutcomeOther
}

// ExitStatus is the status with which the command line ends after o.
func ExitStatus(o Outcome) int { return entryOf(o).exit }

// entryOf returns the line of o. What nodes say to each other only has none, and
// counts as something else.
func entryOf(o Outcome) *entry {
	for i := range outcomes {
		if outcomes[i].outcome == o {
			return &outcomes[i]
		}
	}
	return &outcomes[len(outcomes)-1]
}

// Failure is how something ended in the form in which it travels, field by
// field. The zero value is a reply.
type Failure struct {
	Outcome Outcome
	// MaybeRan is false if no handler can have seen the message.
	MaybeRan bool
	// Code is that of a RemoteError, or what an error with a method
	// LimitCode() uint32 says.
	Code uint32
	// Text is a RemoteError's, or that of an error that says more than the one
	// which stands for its outcome.
	Text string
}

// FailureOf returns the form in which err travels.
func FailureOf(err error) Failure {
	f := Failure{Outcome: OutcomeOf(err)}
	var remote *RemoteError
	var late *DeadlineError
	var limit interface{ LimitCode() uint32 }
	switch {
	case err == nil:
		return f
	case errors.As(err, &remote):
		f.MaybeRan, f.Code, f.Text = true, uint32(remote.Code), remote.Message
		return f
	case errors.As(err, &late) && (f.Outcome == OutcomeDeadline || f.Outcome == OutcomeCancelled):
		f.MaybeRan = late.MaybeRan
		return f
	case errors.As(err, &limit):
		f.Code = limit.LimitCode()
	}
	base := entryOf(f.Outcome)
	f.MaybeRan = base.ran
	if err != base.err && (f.Outcome != OutcomeDeadline && f.Outcome != OutcomeCancelled) {
		f.Text = err.Error()
	}
	return f
}

// Err returns the error that f stands for; nil for a reply. Its text is what it
// was where it came from, and the same sentinels match. cluster is the one that
// was asked.
func (f Failure) Err(cluster string) error {
	switch f.Outcome {
	case OutcomeReply:
		return nil
	case OutcomeRemoteError:
		return &RemoteError{Cluster: cluster, Code: Code(f.Code), Message: f.Text}
	case OutcomeDeadline, OutcomeCancelled:
		return &DeadlineError{Cause: entryOf(f.Outcome).err, MaybeRan: f.MaybeRan}
	}
	base := entryOf(f.Outcome).err
	switch {
	case base == nil && f.Text == "":
		return errors.New("arke: failed for a reason this version does not know: " + f.Outcome.String())
	case base == nil:
		return errors.New(f.Text)
	case f.Text == "" || f.Text == base.Error():
		return base
	}
	return &toldError{f.Text, base}
}

// toldError is a sentinel with the text that it had where it came from.
type toldError struct {
	text  string
	cause error
}

func (e *toldError) Error() string { return e.text }
func (e *toldError) Unwrap() error { return e.cause }
