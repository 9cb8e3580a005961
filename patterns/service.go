// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package patterns

import "context"

// Service is a member that speaks several patterns: a field for each. A nil
// field means that the member does not implement the pattern; who uses it gets
// a *RemoteError with CodeNoMethod and no handler runs. Service is a Handler,
// to be given to Messenger.Serve. All fields are called concurrently, together
// at most Limits.Concurrency at once; tunnels are bounded by Limits.Tunnels
// instead.
type Service struct {
	// Request answers requests, and surveys, which ask every member what a
	// request asks one of them.
	Request func(ctx context.Context, r *Request) (Message, error)
	// Push takes a message that was sent to this member and has no reply.
	// Its sender was told that it is accepted before Push is called, so ctx
	// has no deadline; it ends when the node closes.
	Push func(ctx context.Context, r *Request)
	// Broadcast takes a message that was sent to every member. Otherwise as
	// Push.
	Broadcast func(ctx context.Context, r *Request)
	// Tunnel has a tunnel that a caller opened, for as long as it runs. When
	// it returns nil the tunnel is closed in good order, else it is reset
	// with the error's text and, of a *RemoteError, its code. ctx ends when
	// the tunnel has.
	Tunnel func(ctx context.Context, t Tunnel) error
}

var _ Handler = Service{}

// ServeRequest implements Handler.
func (s Service) ServeRequest(ctx context.Context, r *Request) (Message, error) {
	if s.Request == nil {
		return Message{}, &RemoteError{Cluster: r.Cluster, Code: CodeNoMethod, Message: "this member answers no requests"}
	}
	return s.Request(ctx, r)
}

// ServiceOf returns h as a Service: itself if it is one, else one that answers
// requests and surveys only.
func ServiceOf(h Handler) Service {
	switch h := h.(type) {
	case Service:
		return h
	case *Service:
		return *h
	}
	return Service{Request: h.ServeRequest}
}
