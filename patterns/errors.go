// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package patterns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
)

// Outcomes of a request that are not replies. Tell them apart with errors.Is;
// they fall in four families: the caller's fault (ErrUnauthorized,
// ErrTooLarge), nobody there (ErrNoMembers, ErrOverloaded, ErrUnreachable,
// ErrInterrupted: worth another try), the remote said no (*RemoteError), and
// we are closing (ErrClosed).
var (
	// ErrNoMembers is returned when a majority of settled anchors say, of the ids
	// that the caller's keys give the cluster, that
	// the cluster has no member. No handler ran.
	ErrNoMembers = errors.New("arke: cluster has no members")

	// ErrOverloaded is returned when every member that was asked refused
	// because its queue is full. No handler ran.
	ErrOverloaded = errors.New("arke: all members busy")

	// ErrUnreachable is returned when members may exist but none could be
	// reached, or nobody who can know could be asked. No handler ran.
	ErrUnreachable = errors.New("arke: no member could be reached")

	// ErrInterrupted is returned when the member's process, or a relay on the
	// way to it, was lost after the request had been sent and before the reply
	// came. A connection that breaks is only a delay. A handler may have run.
	ErrInterrupted = errors.New("arke: the member's process, or a relay on the way, was lost before the reply")

	// ErrUnauthorized is returned when the caller has no right to ask this
	// cluster. No handler ran.
	ErrUnauthorized = errors.New("arke: not authorized")

	// ErrTooLarge is returned when a message exceeds a limit. No handler ran.
	ErrTooLarge = errors.New("arke: message too large")

	// ErrClosed is returned after Shutdown or Close has begun. No handler ran.
	// A node's requests still work while its Shutdown drains: handlers that
	// finish what they accepted may need them.
	ErrClosed = errors.New("arke: closed")

	// ErrPeerClosed is returned by what sends on a tunnel that the other side has
	// closed. It matches syscall.EPIPE and io.ErrClosedPipe.
	ErrPeerClosed error = &alike{"arke: the other side has closed the tunnel", []error{syscall.EPIPE, io.ErrClosedPipe}}

	// ErrUnread is ErrPeerClosed of a side that has not read all that was sent. It
	// matches syscall.ECONNRESET, too.
	ErrUnread error = &alike{"arke: the other side has closed the tunnel, and has not read everything", []error{ErrPeerClosed, syscall.ECONNRESET}}

	// ErrWouldBlock is returned by what does not wait: TryPublish while a
	// lane is full or the subscribers are not known yet, and
	// Tunnel.TrySend without credit. Nothing was sent.
	ErrWouldBlock = errors.New("arke: would have to wait")

	// ErrTopic is returned for a topic or a pattern that is none. Topics are
	// words of 1 or more bytes joined by dots, at most 255 bytes in all, without
	// "*", ">" and "@", and do not begin with "$". In patterns "*" stands for one
	// word and ">", at the end, for one or more.
	ErrTopic = errors.New("arke: not a topic or pattern")

	// ErrTooMany is returned when there are as many subscriptions, tunnels
	// or registrations already as the limits of this node or client allow.
	ErrTooMany = errors.New("arke: too many open at once")
)

// alike is an error that matches others.
type alike struct {
	text string
	same []error
}

func (e *alike) Error() string   { return e.text }
func (e *alike) Unwrap() []error { return e.same }

// Code classifies a RemoteError. Numbers below 100 are Arke's, the others are
// the application's.
type Code uint32

// Arke's codes. Closed list; do not reorder.
const (
	CodeUnknown  Code = 0 // the handler returned an error without a code
	CodePanic    Code = 1 // the handler panicked; the message has the panic's text
	CodeExit     Code = 2 // an executed command exited with a non-zero status
	CodeNoMethod Code = 3 // the member does not implement this pattern

	CodeMalformed Code = 4 // the handler could not decode the message
)

// RemoteError says that a member's handler ran and refused. A handler returns
// one to choose the code; any other error becomes CodeUnknown with its text.
type RemoteError struct {
	Cluster string
	Code    Code
	Message string
}

// Error implements error.
func (e *RemoteError) Error() string {
	return fmt.Sprintf("cluster %q refused (code %d): %s", e.Cluster, e.Code, e.Message)
}

// Refusal is what a handler returns that stands for a program elsewhere, as a
// relay does for its clients: the caller is told Cause as if the member itself
// had said it. Handlers that do the work themselves never need it.
type Refusal struct {
	// Cause is ErrOverloaded or ErrClosed (the program is leaving) if nothing
	// was begun, so that other members are tried; ErrTooLarge or
	// ErrUnauthorized likewise, but they are final. ErrInterrupted, and
	// everything else, means that the work may have been done.
	Cause error
}

// Error implements error.
func (e *Refusal) Error() string {
	if e.Cause == nil {
		return "arke: refused"
	}
	return "arke: refused: " + e.Cause.Error()
}

// Unwrap returns the cause.
func (e *Refusal) Unwrap() error { return e.Cause }

// DeadlineError is what a request returns when its time is over or its
// context was cancelled. errors.Is matches the cause: context.DeadlineExceeded
// or context.Canceled.
type DeadlineError struct {
	// Cause is context.DeadlineExceeded or context.Canceled.
	Cause error
	// MaybeRan is false if no handler can have seen the request.
	MaybeRan bool
}

// Error implements error.
func (e *DeadlineError) Error() string {
	ran := "no handler ran"
	if e.MaybeRan {
		ran = "a handler may have run"
	}
	return e.Cause.Error() + " (" + ran + ")"
}

// Unwrap returns the cause.
func (e *DeadlineError) Unwrap() error { return e.Cause }

// Timeout says whether the deadline, and not a cancellation, ended it; it
// makes a DeadlineError a net.Error as far as time-outs go.
func (e *DeadlineError) Timeout() bool { return errors.Is(e.Cause, context.DeadlineExceeded) }
