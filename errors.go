// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arke

import (
	"context"
	"errors"
	"fmt"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// The outcomes of a request that are not replies. Tell them apart with
// errors.Is. The package documentation says for each whether a handler ran.
var (
	// ErrNoMembers is returned when the cluster has no member under the caller's keys.
	// Members with other keys are invisible. No handler ran.
	ErrNoMembers = patterns.ErrNoMembers

	// ErrOverloaded is returned when every member that was asked refused
	// because its queue is full, or because it could not have replied before the
	// deadline. No handler ran.
	ErrOverloaded = patterns.ErrOverloaded

	// ErrUnreachable is returned when no member could be reached, or the members are
	// unknown because no anchor could be asked. No handler ran.
	ErrUnreachable = patterns.ErrUnreachable

	// ErrInterrupted is returned when the member's process was lost after the
	// request was sent and before the reply came. A handler may have run.
	ErrInterrupted = patterns.ErrInterrupted

	// ErrUnauthorized is returned when the caller has no right to ask this
	// cluster. No handler ran.
	ErrUnauthorized = patterns.ErrUnauthorized

	// ErrTooLarge is returned when a message exceeds a limit. No handler ran.
	ErrTooLarge = patterns.ErrTooLarge

	// ErrClosed is returned after Shutdown or Close has begun. No handler ran.
	ErrClosed = patterns.ErrClosed

	// ErrPeerClosed is returned by a send or a write after the other side has closed
	// the tunnel or connection. It matches syscall.EPIPE and io.ErrClosedPipe. If the
	// other side left data unread, the error says so, and matches syscall.ECONNRESET,
	// too.
	ErrPeerClosed = patterns.ErrPeerClosed

	// ErrWouldBlock is returned by TryPublish and Tunnel.TrySend when they
	// would have to wait. Nothing was sent.
	ErrWouldBlock = patterns.ErrWouldBlock

	// ErrTopic is returned when a topic or a pattern is malformed. A topic is a
	// list of words that are joined by dots, of at most 255 bytes. In a pattern
	// "*" stands for one word, and ">" at the end for one or more.
	ErrTopic = patterns.ErrTopic

	// ErrTooMany is returned when a limit allows no further subscription,
	// tunnel or registration.
	ErrTooMany = patterns.ErrTooMany
)

// The reasons for which Attach fails.
var (
	// ErrNoRelay is returned by Attach when no relay answers.
	ErrNoRelay = client.ErrNoRelay

	// ErrVersion is returned by Attach when the program and the relay have no
	// version of the protocol in common.
	ErrVersion = client.ErrVersion

	// ErrRefused is returned by Attach when the relay refuses the program. A
	// wrong token, a foreign user and too many clients have errors that match
	// ErrUnauthorized and ErrTooMany instead.
	ErrRefused = client.ErrRefused
)

// Code classifies a RemoteError or a TunnelError. Numbers below 100 are
// Arke's, the others are the application's.
type Code uint32

// The codes that Arke itself uses.
const (
	CodeUnknown   = Code(patterns.CodeUnknown)   // the handler returned an error without a code
	CodePanic     = Code(patterns.CodePanic)     // the handler panicked; the message has the panic's text
	CodeExit      = Code(patterns.CodeExit)      // an executed command failed
	CodeNoMethod  = Code(patterns.CodeNoMethod)  // the member does not serve this pattern
	CodeMalformed = Code(patterns.CodeMalformed) // the handler could not decode the message
)

// RemoteError says that a member's handler ran and refused. A handler returns
// one to choose the code. Any other error becomes one with CodeUnknown and the
// error's text.
type RemoteError struct {
	Cluster string
	Code    Code
	Message string
}

// Error implements error.
func (e *RemoteError) Error() string {
	return fmt.Sprintf("cluster %q refused (code %d): %s", e.Cluster, e.Code, e.Message)
}

// DeadlineError says that the deadline of a call has passed, or that its context was
// cancelled. errors.Is matches the cause.
type DeadlineError struct {
	// Cause is context.DeadlineExceeded or context.Canceled.
	Cause error
	// MaybeRan is false if no handler can have seen the message.
	MaybeRan bool
}

// Error implements error.
func (e *DeadlineError) Error() string { return (*patterns.DeadlineError)(e).Error() }

// Unwrap returns the cause.
func (e *DeadlineError) Unwrap() error { return e.Cause }

// Timeout reports whether the deadline ended the call, and not a cancellation.
// net.Error has the same method.
func (e *DeadlineError) Timeout() bool { return errors.Is(e.Cause, context.DeadlineExceeded) }

// TunnelError says that the other side reset a tunnel.
type TunnelError struct {
	Code    Code
	Message string
}

// Error implements error.
func (e *TunnelError) Error() string {
	return fmt.Sprintf("tunnel reset (code %d): %s", e.Code, e.Message)
}

// Outcome is how a call ended, as one word: "reply", "remote_error",
// "no_members", "overloaded", "unreachable", "interrupted", "deadline",
// "cancelled", "unauthorized", "too_large", "too_many", "would_block", "topic",
// "closed" or "failed". Logs, metrics and the command line use the same words.
type Outcome string

// OutcomeOf returns the outcome that err stands for. For nil it returns "reply".
func OutcomeOf(err error) Outcome { return Outcome(patterns.OutcomeOf(inward(err)).String()) }

// MaybeRan reports whether a handler may have run before the call ended with
// err. If it reports false, it is safe to call again. If it reports true, call
// again only what may be handled twice. For nil it reports true.
func MaybeRan(err error) bool { return patterns.FailureOf(inward(err)).MaybeRan || err == nil }

// foreign is an error of this package, or of the layers below, that has more
// text around it than its other half can say.
type foreign struct {
	error       // as it was
	same  error // what it is on the other side
}

// Unwrap makes both halves visible to errors.Is and errors.As.
func (e *foreign) Unwrap() []error { return []error{e.same, e.error} }

// outward returns an error of the layers below as this package's callers know
// it. Sentinels are the same on both sides.
func outward(err error) error {
	switch e := err.(type) { //nolint:errorlint // what is wrapped has its turn below
	case nil:
		return nil
	case *patterns.RemoteError:
		return &RemoteError{Cluster: e.Cluster, Code: Code(e.Code), Message: e.Message}
	case *patterns.DeadlineError:
		return (*DeadlineError)(e)
	case *patterns.TunnelError:
		return &TunnelError{Code: Code(e.Code), Message: e.Message}
	}
	var remote *patterns.RemoteError
	var late *patterns.DeadlineError
	var reset *patterns.TunnelError
	switch {
	case errors.As(err, &remote):
		return &foreign{err, outward(remote)}
	case errors.As(err, &late):
		return &foreign{err, outward(late)}
	case errors.As(err, &reset):
		return &foreign{err, outward(reset)}
	}
	return err
}

// about is outward for an error of a call to a cluster: one without a text of its own
// names the cluster.
func about(cluster string, err error) error {
	switch err { // what is wrapped has a text
	case ErrNoMembers, ErrOverloaded, ErrUnreachable, ErrInterrupted, ErrUnauthorized, ErrTooLarge, ErrTooMany:
		return fmt.Errorf("%w: %q", err, cluster)
	}
	return outward(err)
}

// inward is the way back.
func inward(err error) error {
	var remote *RemoteError
	var late *DeadlineError
	var reset *TunnelError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &remote):
		return &foreign{err, &patterns.RemoteError{Cluster: remote.Cluster, Code: patterns.Code(remote.Code), Message: remote.Message}}
	case errors.As(err, &late):
		return &foreign{err, (*patterns.DeadlineError)(late)}
	case errors.As(err, &reset):
		return &foreign{err, &patterns.TunnelError{Code: patterns.Code(reset.Code), Message: reset.Message}}
	}
	return err
}
