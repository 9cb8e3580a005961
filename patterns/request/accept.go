// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/binary"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// refusal is an answer to a request that no handler has seen, and its reason.
// The zero refusal is none.
type refusal struct {
	outcome wire.Outcome
	reason  dropReason
}

// refusal returns what the queue's verdict means for the caller.
func (v verdict) refusal() refusal {
	switch v {
	case refusedDraining:
		return refusal{wire.OutcomeDraining, dropDraining}
	case refusedExpired:
		return refusal{wire.OutcomeExpired, dropExpired}
	case refusedLength:
		return refusal{wire.OutcomeOverloaded, dropLength}
	case refusedBytes:
		return refusal{wire.OutcomeOverloaded, dropBytes}
	}
	return refusal{}
}

// opened is a request that may be handled.
type opened struct {
	headers []wire.Header
	body    []byte
	size    int
	seal
}

// seal says how a reply has to be sealed.
type seal struct {
	sealed  bool
	binding security.Binding
}

// handleRequest takes a request in, on the goroutine that reads the link. What
// is refused costs the sender's own link the time to look at it, and nobody
// else's.
func (e *Engine) handleRequest(l Link, frame []byte) (kept bool) {
	r, err := wire.DecodeRequest(frame)
	if err != nil {
		e.drops.Inc(dropMalformed)
		return false
	}
	now := e.now()
	e.lastJob.Store(now)
	var deadline time.Time
	if r.Deadline != 0 {
		deadline = l.LocalTime(r.Deadline)
	}
	s := e.members.get(cluster.MemberID(r.Member))
	if s == nil || r.Incarnation != e.cfg.Incarnation {
		e.refuse(l, r.ID, deadline, refusal{wire.OutcomeNoSuchMember, dropNoMember})
		return false
	}
	o, no := s.open(l.Peer(), r)
	if no != (refusal{}) {
		e.refuse(l, r.ID, deadline, no)
		return false
	}
	p := patterns.Pattern(r.Pattern)
	if text := s.lacks(p); text != "" {
		e.drops.Inc(dropNoMethod)
		s.tell(l, overlay.LaneRPC, deadline, r.ID, &o.seal, remoteError(patterns.CodeNoMethod, text))
		return false
	}
	if p == patterns.PatternTunnel {
		s.accept(l, r, o, deadline)
		return true
	}
	j := s.newJob(e.remote(l.Peer()), r.ID, p, deadline, o)
	if !j.keeps() && !j.remote.add(j) {
		e.drops.Inc(dropDuplicate) // the first one is answered
		e.putRemote(j.remote, now)
		return false
	}
	return s.offer(j, now)
}

// open checks a request's size and right to be handled. Of a cluster whose
// requests are sealed nothing is looked at that is not.
func (s *Server) open(from peer.ID, r wire.Request) (opened, refusal) {
	sealed := r.Flags&wire.FlagSealed != 0
	if !sealed {
		o := opened{headers: r.Headers, body: r.Body, size: messageSize(r.Headers, r.Body)}
		if s.seal {
			return o, refusal{wire.OutcomeUnauthorized, dropUnauthorized}
		}
		return o, s.fits(o.size)
	}
	if len(r.Body) < sealedHead || len(r.Headers) > 0 {
		return opened{}, refusal{wire.OutcomeUnauthorized, dropUnauthorized}
	}
	if no := s.fits(len(r.Body) - sealedOverhead - wire.HeadersSize(nil)); no != (refusal{}) {
		return opened{}, no
	}
	return s.unseal(from, r)
}

// fits refuses what is larger than the member accepts.
func (s *Server) fits(size int) refusal {
	if size > s.limits.MessageBytes {
		return refusal{wire.OutcomeTooLarge, dropTooLarge}
	}
	return refusal{}
}

// unseal opens a sealed request, once.
func (s *Server) unseal(from peer.ID, r wire.Request) (opened, refusal) {
	b := security.Binding{
		Sender:            from,
		SenderIncarnation: binary.BigEndian.Uint64(r.Body),
		Member:            r.Member,
		MemberIncarnation: r.Incarnation,
		RequestID:         r.ID,
		Pattern:           r.Pattern,
	}
	headers, body, err := openMessage(s.keys, b, r.Body[sealedHead:])
	if err != nil {
		return opened{}, refusal{wire.OutcomeUnauthorized, dropUnauthorized}
	}
	o := opened{headers: headers, body: body, size: messageSize(headers, body), seal: seal{true, b}}
	o.binding.Reply = true
	s.mu.Lock()
	fresh := s.replays.fresh(replayKey{from, b.SenderIncarnation, r.ID})
	s.mu.Unlock()
	if !fresh {
		return o, refusal{wire.OutcomeUnauthorized, dropReplay}
	}
	return o, s.fits(o.size)
}

// newJob makes the job of a request. r is counted as used until the job is
// done.
func (s *Server) newJob(r *remote, id uint64, p patterns.Pattern, deadline time.Time, o opened) *job {
	e := s.engine
	j := &job{
		server: s,
		remote: r,
		id:     id,
		number: e.jobs.Add(1),
		seal:   o.seal,
		request: patterns.Request{
			Cluster: s.name, From: r.text, Pattern: p, Headers: wire.ConvertHeaders[patterns.Header](o.headers), Body: o.body,
		},
		ctx: jobContext{clock: e.cfg.Clock, deadline: deadline, endless: keeps(p)},
	}
	j.ticket = ticket{job: j, size: o.size, deadline: never, keep: keeps(p)}
	if !j.keeps() {
		j.request.Deadline = deadline
	}
	if !deadline.IsZero() {
		j.ticket.deadline = int64(deadline.Sub(e.start))
	}
	return j
}
