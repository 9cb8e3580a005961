// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package patterns

import (
	"cmp"
	"context"
	"time"
)

// Request is what a member's handler sees.
type Request struct {
	// Cluster is the name under which the member was registered.
	Cluster string
	// From is the caller's peer id as text (for a client, its relay's).
	From string
	// Pattern is how it was sent: PatternRequest, PatternSurvey, PatternPush
	// or PatternBroadcast.
	Pattern Pattern
	// Deadline is when the caller gives up, in local time; zero = never.
	Deadline time.Time
	// Headers and Body belong to the handler; nobody else keeps them.
	Headers Headers
	Body    []byte
}

// Handler answers requests. ServeRequest is called concurrently, up to
// Limits.Concurrency times. ctx ends at the caller's deadline, when the caller
// cancels, or when its link is lost. The returned message's slices belong to
// the caller of ServeRequest from then on. An error becomes the caller's
// *RemoteError (but see [Refusal]); a panic becomes one with CodePanic.
type Handler interface {
	ServeRequest(ctx context.Context, r *Request) (Message, error)
}

// HandlerFunc makes a function a Handler.
type HandlerFunc func(ctx context.Context, r *Request) (Message, error)

// ServeRequest calls f.
func (f HandlerFunc) ServeRequest(ctx context.Context, r *Request) (Message, error) {
	return f(ctx, r)
}

// Limits bound what one member accepts; zero fields mean the defaults. What is
// beyond them is refused at once (ErrOverloaded or ErrTooLarge at the
// caller) and counted.
type Limits struct {
	Concurrency  int // handlers running at once; default 64
	QueueLength  int // requests waiting; default 1024; negative = none
	QueueBytes   int // bytes of bodies and headers waiting; default 16 MiB
	MessageBytes int // largest body + headers; default 1 MiB, at most 16 MiB
	Capacity     int // relative weight in balancing; default 1
	Tunnels      int // open tunnels; default 16384; negative = none
}

// WithDefaults returns l with every zero field replaced by its default.
func (l Limits) WithDefaults() Limits {
	l.Concurrency = cmp.Or(l.Concurrency, 64)
	l.QueueLength = max(cmp.Or(l.QueueLength, 1024), 0)
	l.QueueBytes = cmp.Or(l.QueueBytes, 16<<20)
	l.MessageBytes = cmp.Or(l.MessageBytes, 1<<20)
	l.Capacity = cmp.Or(l.Capacity, 1)
	l.Tunnels = max(cmp.Or(l.Tunnels, 16384), 0)
	return l
}
