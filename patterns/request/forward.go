// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// Forwarder has the requests for members that live elsewhere: in the programs
// beside a relay. Its methods are called on goroutines that read links, so they
// must not block.
type Forwarder interface {
	// Deliver hands a request over that was checked, opened and counted. The
	// Forwarder owns it until it has called its Answer, which it does exactly
	// once, if need be within Deliver.
	Deliver(d *Delivery)
	// Cancel says that nobody waits for d any more: its caller gave up, or the
	// session with it has ended, or the member is taken away. It comes after Deliver
	// has returned, once at most. d.Answer is due
	// nevertheless: until then d counts as under way, unless its member is gone.
	Cancel(d *Delivery)
}

// Serves is a set of patterns, by their bits.
type Serves uint8

// ServesOf returns the set of those patterns.
func ServesOf(ps ...patterns.Pattern) (s Serves) {
	for _, p := range ps {
		s |= 1 << p
	}
	return s
}

// Has says whether the pattern is in the set.
func (s Serves) Has(p patterns.Pattern) bool { return s>>p&1 != 0 }

// Delivery is one request for a member that lives elsewhere.
type Delivery struct {
	// Immutable.
	Number     uint64 // unique on this node
	Server     *Server
	Pattern    patterns.Pattern
	Idempotent bool
	Attempt    uint8     // 0 for the first member that its caller tried
	Deadline   time.Time // of the caller, in local time; zero = none
	// Origin is who asks.
	Origin wire.Origin
	// Link is the one that it came on, and RequestID the id that it has there:
	// for tunnels, whose frames follow on it. Session is the link's.
	Link      Link
	RequestID uint64
	Session   uint64
	// Tunnel is the id that the frames of the tunnel have on Link, where its opening comes
	// from another network by a gateway that can't open it; else 0: the opening has it.
	Tunnel uint64
	// SenderIncarnation is the opener's if Sealed, which says that the request
	// was sealed under the cluster's key. Where this node has finding keys only, Tail
	// is still sealed, and so are the replies that Answer takes, with wire.FlagSealed.
	SenderIncarnation uint64
	Sealed            bool
	// Tail is the encoded headers and the body, opened. It belongs to the Forwarder, which
	// sets it to nil, within Deliver, if it does not need it any more: then it may be in
	// memory that is used again.
	Tail []byte
	Size int // bytes of headers and body, as limits count them

	// Value is the Forwarder's own; nobody else looks at it.
	Value any

	job      *job
	queued   bool // a tunnel's opening is in no queue
	answered bool // guarded by the Server's mu
	state    atomic.Uint32
}

// States of a Delivery.
const (
	stateDelivering uint32 = iota
	stateDelivered
	stateCancelled
)

// handOver calls Deliver, and Cancel behind it if that was due meanwhile.
func (d *Delivery) handOver() {
	d.Server.forward.Deliver(d)
	if !d.state.CompareAndSwap(stateDelivering, stateDelivered) {
		d.Server.forward.Cancel(d)
	}
}

// cancel calls Cancel, unless Deliver has not returned: then that is for handOver.
func (d *Delivery) cancel() {
	if d.state.Swap(stateCancelled) == stateDelivered {
		d.Server.forward.Cancel(d)
	}
}

// From is the origin's peer id.
func (d *Delivery) From() peer.ID { return peer.ID(d.Origin.Peer) }

// Answer sends the reply: of r it takes Outcome, FlagMaybeRan, Queue, Running,
// ServiceMicros and Code, and Tail, which is copied before Answer returns. Outcomes that nodes do not say to each
// other become OutcomeCancelled, but OutcomeUnreachable, which gateways say: what was
// begun is not known; and after
// OutcomeDeadline, which says that nobody waits, nothing is sent. It does not block
// and may be called from anywhere; where the lane to the caller is full the reply
// stands in line. Calls after the first do nothing.
func (d *Delivery) Answer(r wire.Reply) { d.job.server.answerDelivery(d, r) }

// Part sends one of many replies to a message for everybody, before Answer sends the last
// one, whose body is a wire.Summary. Of r it takes what Answer takes, and From. It waits
// for room in the lane until ctx ends.
func (d *Delivery) Part(ctx context.Context, r wire.Reply) error {
	s := d.Server
	r.ID, r.Flags = d.RequestID, r.Flags&wire.FlagMaybeRan|wire.FlagMoreReplies
	if d.Sealed {
		r.Flags |= wire.FlagSealed
		r.Tail = s.keys.Seal(s.random, d.job.binding, make([]byte, 0, len(r.Tail)+security.SealOverhead), r.Tail)
	}
	head := r.AppendHead(nil)
	_, err := d.Link.SendWait(ctx, replyLane(len(head)+len(r.Tail)), wire.KindReply, head, r.Tail)
	return err
}

// deliver hands a request over to the Forwarder.
func (s *Server) deliver(in *arrival) (kept bool) {
	r := &in.request
	p := patterns.Pattern(r.Pattern)
	both := &struct { // in one piece
		d Delivery
		j job
	}{}
	d, j := &both.d, &both.j
	*d = Delivery{
		Server: s, Pattern: p, Idempotent: r.Flags&wire.FlagIdempotent != 0, Attempt: r.Attempt, Deadline: in.deadline,
		Origin: in.origin(),
		Link:   in.link, RequestID: r.ID, Session: in.link.Session(), Tunnel: r.Tunnel, Sealed: in.sealed,
		SenderIncarnation: in.binding.SenderIncarnation, Tail: in.tail, Size: in.size,
		queued: p != patterns.PatternTunnel,
	}
	if !d.queued {
		if no := s.openTo(in); no != (refusal{}) {
			s.refuse(in, no)
			return false
		}
	}
	in.fill(j, s, patterns.Request{Pattern: p})
	j.forward, d.job, d.Number = d, j, j.number
	if d.queued {
		return j.offer(in.now, in.link)
	}
	if !j.remote.addJob(j) {
		s.drops.Inc(dropDuplicate)
		s.peers.put(j.remote, in.now)
		return false
	}
	d.handOver()
	return true
}

// answer is described at Delivery.Answer.
func (s *Server) answerDelivery(d *Delivery, r wire.Reply) {
	if !d.first() {
		return
	}
	j := d.job
	if r.Outcome == wire.OutcomeDeadline || j.over(s.now()) {
		s.drops.Inc(dropReplyUnsent)
		d.over()
		return
	}
	head := s.encodeAnswer(d, &r)
	lane := replyLane(len(head) + len(r.Tail))
	if !d.queued {
		lane = overlay.LaneBulk // before what the tunnel sends
	}
	j.parts[0], j.parts[1] = head, r.Tail
	switch _, err := d.Link.Send(lane, wire.KindReply, j.parts[:]...); {
	case errors.Is(err, overlay.ErrLaneFull): // it counts as under way meanwhile
		j.parts[1] = bytes.Clone(r.Tail)
		s.answerLater(d.Link, lane, d.Deadline, d.over, j.parts[:]...)
		return
	case err != nil:
		s.drops.Inc(dropReplyUnsent)
	}
	d.over()
}

// first says whether it was not answered before, once.
func (d *Delivery) first() bool {
	s := d.Server
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !d.answered
	d.answered = true
	return first
}

// encodeAnswer returns the head of a reply, and seals its tail if it must be.
func (s *Server) encodeAnswer(d *Delivery, r *wire.Reply) (head []byte) {
	passed := r.Flags & wire.FlagSealed
	r.ID, r.From, r.Flags = d.RequestID, nil, r.Flags&wire.FlagMaybeRan
	if r.Outcome > wire.OutcomeCancelled && r.Outcome != wire.OutcomeUnreachable {
		r.Outcome = wire.OutcomeCancelled
	}
	if r.Tail == nil {
		r.Tail = emptyTail
	}
	switch {
	case passesOn(s):
		r.Flags |= passed
		return r.AppendHead(d.job.scratch[:0])
	case d.job.far:
		var head []byte
		head, r.Tail = conceal(s, d.job.scratch[:0], d.job.binding, *r)
		return head
	}
	if d.Sealed && (r.Outcome == wire.OutcomeReply || r.Outcome == wire.OutcomeRemoteError) {
		r.Flags |= wire.FlagSealed
		r.Tail = s.keys.Seal(s.random, d.job.binding, make([]byte, 0, len(r.Tail)+security.SealOverhead), r.Tail)
	}
	return r.AppendHead(d.job.scratch[:0])
}

// over ends a delivery: it is not under way any more.
func (d *Delivery) over() {
	s, j := d.Server, d.job
	now := s.now()
	s.mu.Lock()
	var shed []*ticket
	if d.queued && j.ticket.place == placeRunning {
		_, shed = s.queue.finish(now, &j.ticket, didNotRun) // the next one was handed over long ago
	} else if d.queued {
		s.queue.withdraw(&j.ticket)
	}
	s.handled++
	s.settleLocked()
	s.mu.Unlock()
	s.shed(shed, now)
	j.done(now)
}
