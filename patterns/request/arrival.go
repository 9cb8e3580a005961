// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// arrival is a request that has come, until it is a job, accepted as a tunnel, or
// refused.
type arrival struct {
	link     Link
	request  wire.Request
	deadline time.Time // local; zero = none
	now      int64

	// Set by open.
	tail    []byte // headers and body
	size    int    // of them, as limits count
	sealed  bool
	far     *Server          // the member, once a request of another network is opened; else nil
	binding security.Binding // of the reply, if sealed
	key     []byte           // if it was refused for an ephemeral key: the present one, sealed
}

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
	case refusedTime:
		return refusal{wire.OutcomeOverloaded, dropTime}
	}
	return refusal{}
}

// admit has a request handled, forwarded or refused.
func (s *Server) admit(in *arrival) (kept bool) {
	if s.cfg.May != nil && !s.cfg.May(in.link.Peer(), s.name) {
		s.refuse(in, refusal{wire.OutcomeUnauthorized, dropNotAllowed})
		return false
	}
	if no := in.open(s); no != (refusal{}) {
		s.refuse(in, no)
		return false
	}
	p := patterns.Pattern(in.request.Pattern)
	switch {
	case !s.serves.Has(p) && passesOn(s):
		s.refuse(in, refusal{wire.OutcomeNoSuchMember, dropNoMethod})
		return false
	case !s.serves.Has(p):
		s.drops.Inc(dropNoMethod)
		s.tell(in, remoteError(patterns.CodeNoMethod, lacking[p]))
		return false
	case s.forward != nil:
		return s.deliver(in)
	}
	headers, body, err := wire.SplitTail(in.tail)
	if err != nil {
		s.drops.Inc(dropMalformed)
		return false
	}
	r := patterns.Request{
		Cluster: s.name, Pattern: p, Headers: wire.ConvertHeaders[patterns.Header](headers), Body: body, Deadline: in.deadline,
	}
	if p == patterns.PatternTunnel {
		s.accept(in, r)
		return true
	}
	return in.newJob(s, r).offer(in.now, in.link)
}

// lacking is what a caller is told whose pattern the member does not implement.
var lacking = [...]string{
	patterns.PatternRequest:   "this member answers no requests",
	patterns.PatternSurvey:    "this member answers no surveys",
	patterns.PatternPush:      "this member takes no pushes",
	patterns.PatternBroadcast: "this member takes no broadcasts",
	patterns.PatternTunnel:    "this member has no tunnels",
}

// open checks a request's size and right to be handled. Of a cluster whose
// requests are sealed nothing is looked at that is not.
func (in *arrival) open(s *Server) refusal {
	in.sealed = in.request.Flags&wire.FlagSealed != 0
	switch {
	case passesOn(s):
		return in.unopened(s)
	case !in.mayBeFar(s):
		return refusal{wire.OutcomeUnauthorized, dropUnauthorized}
	}
	if !in.sealed {
		in.tail = in.request.Tail
		in.size = tailSize(in.tail)
		if s.seal {
			return refusal{wire.OutcomeUnauthorized, dropUnauthorized}
		}
		return s.fits(in.size)
	}
	if len(in.request.Tail) < sealedHead || s.keys == nil {
		return refusal{wire.OutcomeUnauthorized, dropUnauthorized}
	}
	if no := s.fits(len(in.request.Tail) - sealedOverhead - noHeaders); no != (refusal{}) {
		return no
	}
	return in.unseal(s)
}

// fits refuses what is larger than the member accepts.
func (s *Server) fits(size int) refusal {
	if size > s.queue.limits.MessageBytes {
		return refusal{wire.OutcomeTooLarge, dropTooLarge}
	}
	return refusal{}
}

// unseal opens a sealed request, once.
func (in *arrival) unseal(s *Server) (no refusal) {
	r := &in.request
	by, id := in.sealer()
	b := security.Binding{
		Sender:            by,
		SenderIncarnation: binary.BigEndian.Uint64(r.Tail),
		Member:            r.Member,
		MemberIncarnation: r.Incarnation,
		RequestID:         id,
		Pattern:           r.Pattern,
	}
	sealed := r.Tail[sealedHead:]
	var err error
	switch b.Agreement, err = s.cfg.Ephemerals.Agreed(s.keys, b, sealed); {
	case errors.Is(err, security.ErrForgotten):
		in.tellKey(s, b, sealed)
		return refusal{wire.OutcomeNoSuchMember, dropForgotten}
	case err != nil:
		return refusal{wire.OutcomeUnauthorized, dropUnauthorized}
	}
	key, _ := security.SealedWith(sealed)
	if in.tail, err = s.keys.OpenInPlace(b, sealed); err != nil {
		return refusal{wire.OutcomeUnauthorized, dropUnauthorized}
	}
	b.Agreement.Keep(in.deadline)
	in.size = tailSize(in.tail)
	in.binding = b
	in.binding.Reply, in.binding.Key = true, key // the caller has that one
	s.mu.Lock()
	fresh := s.replays.fresh(replayKey{sealer{b.Sender, b.SenderIncarnation}, id}, b.Sender == in.link.Peer())
	s.mu.Unlock()
	if !fresh {
		return refusal{wire.OutcomeUnauthorized, dropReplay}
	}
	if in.foreign() {
		in.far = s
	}
	return s.fits(in.size)
}

// tellKey has the caller told the present ephemeral key: what it has sealed was for one
// that is gone.
func (in *arrival) tellKey(s *Server, b security.Binding, sealed []byte) {
	b.Reply = true
	b.Key, _ = security.SealedWith(sealed)
	key := s.cfg.Ephemerals.Public()
	in.key = s.keys.Seal(s.random, b, nil, key[:])
}

// sealer is who has sealed a request, and under which id. Hops change the request's
// own, and never that of the origin block; without one the link's peer has sealed it.
func (in *arrival) sealer() (peer.ID, uint64) {
	if o := in.request.Origin; o != nil {
		return peer.ID(o.Peer), o.Serial
	}
	return in.link.Peer(), in.request.ID
}

// accept has the Acceptor decide about a tunnel.
func (s *Server) accept(in *arrival, r patterns.Request) {
	if no := s.openTo(in); no != (refusal{}) {
		s.refuse(in, no)
		return
	}
	opener, origin := in.link.Peer(), ""
	if o := in.request.Origin; o != nil {
		opener, origin = peer.ID(o.Peer), s.textOf(o.Peer)
	}
	body, err := s.cfg.Acceptor.Accept(Opening{
		Server: s, From: in.link, RequestID: in.request.ID, SenderIncarnation: in.binding.SenderIncarnation, Sealed: in.sealed,
		Opener: opener, Origin: origin, Tunnel: in.request.Tunnel, Deadline: in.deadline, Headers: r.Headers, Body: r.Body,
	})
	s.tell(in, newResult(patterns.Message{Body: body}, err))
}

// openTo refuses what waits in no queue if the member leaves, or time is over.
func (s *Server) openTo(in *arrival) refusal {
	s.mu.Lock()
	draining := s.queue.draining
	s.mu.Unlock()
	switch {
	case draining:
		return refusal{wire.OutcomeDraining, dropDraining}
	case !in.deadline.IsZero() && !in.deadline.After(s.cfg.Clock.Now()):
		return refusal{wire.OutcomeExpired, dropExpired}
	}
	return refusal{}
}

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
	Opener    peer.ID
	Origin    string // Opener, as programs see it, if that is not the link's peer; else empty
	Tunnel    uint64 // as in Delivery
	// SenderIncarnation is the opener's if Sealed, which says that it was
	// sealed under the cluster's key; else 0.
	SenderIncarnation uint64
	Sealed            bool
	Deadline          time.Time // of the opening; zero = none
	// Headers and Body belong to the Acceptor.
	Headers patterns.Headers
	Body    []byte
}
