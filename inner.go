// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arke

import (
	"context"

	"github.com/arke-mesh/arke/internal/wire/header"
	"github.com/arke-mesh/arke/patterns"
)

// The functions below turn this package's types into those of the layers below
// and back. Bodies are shared, never copied.

func innerMessage(m Message) patterns.Message {
	return patterns.Message{Headers: header.Convert[patterns.Header](m.Headers), Body: m.Body}
}

func outerMessage(m patterns.Message) Message {
	return Message{Headers: header.Convert[Header](m.Headers), Body: m.Body}
}

func outerRequest(r *patterns.Request) *Request {
	return &Request{
		Cluster: r.Cluster, From: r.From, Pattern: Pattern(r.Pattern), Deadline: r.Deadline,
		Headers: header.Convert[Header](r.Headers), Body: r.Body,
	}
}

func outerMissing(all []patterns.Missing) []Missing {
	if len(all) == 0 {
		return nil
	}
	out := make([]Missing, len(all))
	for i, m := range all {
		out[i] = Missing{Member: m.Member, Peer: m.Peer, Err: outward(m.Err)}
	}
	return out
}

func outerMembers(all []patterns.Member) []Member {
	members := make([]Member, 0, len(all))
	for _, m := range all {
		members = append(members, Member(m))
	}
	return members
}

// innerService returns h as the layers below know one.
func innerService(h Handler) patterns.Service {
	s := serviceOf(h)
	var in patterns.Service
	if f := s.Request; f != nil {
		in.Request = func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
			m, err := f(ctx, outerRequest(r))
			return innerMessage(m), inward(err)
		}
	}
	in.Push, in.Broadcast = innerTaker(s.Push), innerTaker(s.Broadcast)
	if f := s.Tunnel; f != nil {
		in.Tunnel = func(ctx context.Context, t patterns.Tunnel) error { return inward(f(ctx, &Tunnel{t})) }
	}
	return in
}

func innerTaker(f func(context.Context, *Request)) func(context.Context, *patterns.Request) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, r *patterns.Request) { f(ctx, outerRequest(r)) }
}

// serviceOf returns h as a Service: itself if it is one, else one that answers
// requests and surveys only.
func serviceOf(h Handler) Service {
	switch h := h.(type) {
	case Service:
		return h
	case *Service:
		return *h
	}
	return Service{Request: h.ServeRequest}
}
