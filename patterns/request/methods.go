// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// Acceptor decides about tunnels. Accept is called on the goroutine that reads
// the link, so it must not block, and for each opening once. The body goes to
// the opener, on lane bulk, so before all that is sent there afterwards. A
// *patterns.Refusal becomes its outcome, any other error a *RemoteError.
type Acceptor interface {
	Accept(o Opening) (body []byte, err error)
}

// Opening is a tunnel that somebody opens.
type Opening struct {
	Server    *Server // of the member that it goes to
	From      Link
	RequestID uint64
	// SenderIncarnation is the opener's if Sealed, which says that it was
	// sealed under the cluster's key; else 0.
	SenderIncarnation uint64
	Sealed            bool
	Deadline          time.Time // of the opening; zero = none
	// Headers and Body belong to the Acceptor.
	Headers patterns.Headers
	Body    []byte
}

// keeps says whether a message is the member's own affair once its queue has
// it: its sender is told at once, and does not wait for the handler.
func keeps(p patterns.Pattern) bool {
	return p == patterns.PatternPush || p == patterns.PatternBroadcast
}

// lacks returns what a caller is told if the member does not implement the
// pattern, else nothing.
func (s *Server) lacks(p patterns.Pattern) (text string) {
	switch v := s.service; {
	case p == patterns.PatternRequest && v.Request == nil:
		return "this member answers no requests"
	case p == patterns.PatternSurvey && v.Request == nil:
		return "this member answers no surveys"
	case p == patterns.PatternPush && v.Push == nil:
		return "this member takes no pushes"
	case p == patterns.PatternBroadcast && v.Broadcast == nil:
		return "this member takes no broadcasts"
	case p == patterns.PatternTunnel && (v.Tunnel == nil || s.engine.cfg.Acceptor == nil):
		return "this member has no tunnels"
	}
	return ""
}

// accept has the Acceptor decide about a tunnel.
func (s *Server) accept(l Link, r wire.Request, o opened, deadline time.Time) {
	e := s.engine
	s.mu.Lock()
	draining := s.queue.draining
	s.mu.Unlock()
	switch {
	case draining:
		e.refuse(l, r.ID, deadline, refusal{wire.OutcomeDraining, dropDraining})
		return
	case !deadline.IsZero() && !deadline.After(e.cfg.Clock.Now()):
		e.refuse(l, r.ID, deadline, refusal{wire.OutcomeExpired, dropExpired})
		return
	}
	body, err := e.cfg.Acceptor.Accept(Opening{
		Server: s, From: l, RequestID: r.ID, SenderIncarnation: o.binding.SenderIncarnation, Sealed: o.sealed,
		Deadline: deadline, Headers: wire.ConvertHeaders[patterns.Header](o.headers), Body: o.body,
	})
	s.tell(l, overlay.LaneBulk, deadline, r.ID, &o.seal, newResult(patterns.Message{Body: body}, err))
}

// tell sends a result for which no handler has to run, or to have run, from the
// goroutine that reads the link.
func (s *Server) tell(l Link, lane overlay.Lane, deadline time.Time, id uint64, seal *seal, r result) {
	s.mu.Lock()
	m := wire.Reply{ID: id, Queue: uint32(s.queue.waiting), Running: uint32(s.queue.running)}
	s.mu.Unlock()
	head, body := s.encode(make([]byte, 0, 64), seal, r, m)
	s.engine.answer(l, lane, id, deadline, head, body)
}
