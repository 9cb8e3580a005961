// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"
	"fmt"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
)

// OfHandler returns how what a handler returned travels to the relay. An error
// is the handler's refusal, even if it is a sentinel of package patterns: that
// only says how a request of the handler's own went. The exception is a
// *patterns.Refusal, whose cause travels as an outcome.
func OfHandler(err error) session.Failure {
	var refusal *patterns.Refusal
	var remote *patterns.RemoteError
	switch {
	case err == nil:
		return session.Failure{}
	case errors.As(err, &refusal):
		return ofRefusal(refusal)
	case errors.As(err, &remote):
		return refused(remote.Code, remote.Message)
	}
	return refused(patterns.CodeUnknown, err.Error())
}

// OfPanic returns how a handler's panic travels.
func OfPanic(v any) session.Failure {
	return refused(patterns.CodePanic, fmt.Sprint(v))
}

func refused(code patterns.Code, text string) session.Failure {
	return session.Failure{Outcome: session.OutcomeRemoteError, MaybeRan: true, Code: uint32(code), Text: text}
}

// ofRefusal keeps to the outcomes that an Answer may have; what is not known
// not to have run may have run.
func ofRefusal(r *patterns.Refusal) session.Failure {
	switch f := Of(r.Cause); f.Outcome {
	case session.OutcomeOverloaded, session.OutcomeClosed, session.OutcomeTooLarge, session.OutcomeUnauthorized:
		return session.Failure{Outcome: f.Outcome}
	}
	return session.Failure{Outcome: session.OutcomeInterrupted, MaybeRan: true}
}

// HandlerError is the reverse of OfHandler, at the relay: the error that the
// client's handler would have returned had it run here. ok is false if an
// Answer may not have this outcome.
func HandlerError(f session.Failure) (err error, ok bool) {
	switch f.Outcome {
	case session.OutcomeReply:
		return nil, true
	case session.OutcomeRemoteError:
		return &patterns.RemoteError{Code: patterns.Code(f.Code), Message: f.Text}, true
	case session.OutcomeOverloaded, session.OutcomeClosed, session.OutcomeTooLarge,
		session.OutcomeUnauthorized, session.OutcomeInterrupted:
		return &patterns.Refusal{Cause: Error(session.Failure{Outcome: f.Outcome}, "")}, true
	}
	return nil, false
}
