// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"context"
	"errors"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
)

// sentinels are the errors that travel as an outcome and nothing else, and
// whether a handler may have run. More special ones first.
var sentinels = []struct {
	err      error
	outcome  session.Outcome
	limit    session.Limit
	maybeRan bool
}{
	{ErrTooManyRegistrations, session.OutcomeLimit, session.LimitRegistrations, false},
	{ErrTooManyRequests, session.OutcomeLimit, session.LimitRequests, false},
	{ErrTooManyBytes, session.OutcomeLimit, session.LimitBytes, false},
	{ErrTooManyTunnels, session.OutcomeLimit, session.LimitTunnels, false},
	{ErrTooManySubscriptions, session.OutcomeLimit, session.LimitSubscriptions, false},
	{patterns.ErrTooMany, session.OutcomeLimit, 0, false},
	{ErrDraining, session.OutcomeDraining, 0, false},
	// A request that was interrupted at one member and refused by the next is
	// interrupted, so this one comes before the others.
	{patterns.ErrInterrupted, session.OutcomeInterrupted, 0, true},
	{patterns.ErrNoMembers, session.OutcomeNoMembers, 0, false},
	{patterns.ErrOverloaded, session.OutcomeOverloaded, 0, false},
	{patterns.ErrUnreachable, session.OutcomeUnreachable, 0, false},
	{patterns.ErrUnauthorized, session.OutcomeUnauthorized, 0, false},
	{patterns.ErrTooLarge, session.OutcomeTooLarge, 0, false},
	{patterns.ErrClosed, session.OutcomeClosed, 0, false},
	{patterns.ErrTopic, session.OutcomeTopic, 0, false},
	{patterns.ErrWouldBlock, session.OutcomeWouldBlock, 0, false},
}

// Of returns how an error of a call travels to the client; nil is a reply.
func Of(err error) session.Failure {
	if err == nil {
		return session.Failure{}
	}
	return ofError(err)
}

func ofError(err error) session.Failure {
	var remote *patterns.RemoteError
	var late *patterns.DeadlineError
	switch {
	case errors.As(err, &remote):
		return session.Failure{
			Outcome: session.OutcomeRemoteError, MaybeRan: true,
			Code: uint32(remote.Code), Text: remote.Message,
		}
	case errors.As(err, &late):
		return ofContext(late.Cause, late.MaybeRan)
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			f := session.Failure{Outcome: s.outcome, Code: uint32(s.limit), MaybeRan: s.maybeRan}
			if err != s.err {
				f.Text = err.Error()
			}
			return f
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		// Nobody said whether a handler ran.
		return ofContext(err, true)
	}
	return session.Failure{Outcome: session.OutcomeFailed, Text: err.Error()}
}

func ofContext(cause error, maybeRan bool) session.Failure {
	f := session.Failure{Outcome: session.OutcomeCancelled, MaybeRan: maybeRan}
	if errors.Is(cause, context.DeadlineExceeded) {
		f.Outcome = session.OutcomeDeadline
	}
	return f
}

// Error returns the error that f stands for; nil for a reply. cluster is the
// one that was asked.
func Error(f session.Failure, cluster string) error {
	switch f.Outcome {
	case session.OutcomeReply:
		return nil
	case session.OutcomeRemoteError:
		return &patterns.RemoteError{Cluster: cluster, Code: patterns.Code(f.Code), Message: f.Text}
	case session.OutcomeDeadline:
		return &patterns.DeadlineError{Cause: context.DeadlineExceeded, MaybeRan: f.MaybeRan}
	case session.OutcomeCancelled:
		return &patterns.DeadlineError{Cause: context.Canceled, MaybeRan: f.MaybeRan}
	}
	for _, s := range sentinels {
		if s.outcome == f.Outcome && s.limit == session.Limit(f.Code) {
			if f.Text == "" || f.Text == s.err.Error() {
				return s.err
			}
			return &textError{text: f.Text, cause: s.err}
		}
	}
	if f.Text == "" {
		return errors.New("relay: failed for a reason this version does not know: " + f.Outcome.String())
	}
	return errors.New(f.Text)
}
