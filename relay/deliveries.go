// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"slices"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// Deliver implements request.Forwarder: the request goes into the client's lane,
// or is refused. There is no queue but the lane.
func (m *member) Deliver(d *request.Delivery) {
	s := m.of
	if s.c.tooLarge(d.Size) {
		refuse(d, wire.OutcomeTooLarge)
		return
	}
	if d.Pattern == patterns.PatternTunnel {
		s.c.tunnels.deliver(m, d)
		return
	}
	s.mu.Lock()
	doubted := s.reach >= doubted
	s.mu.Unlock()
	if doubted {
		s.c.relay.count.drop(dropAway)
		refuse(d, wire.OutcomeDraining)
		return
	}
	if err := m.pass(d, wire.LaneRPC, d.Tail); err != nil {
		s.c.relay.count.drop(dropSlowDelivery)
		refuse(d, outcomeOf(err))
	}
}

// pass puts a request into the client's lane.
func (m *member) pass(d *request.Delivery, lane wire.Lane, tail []byte) error {
	s := m.of
	head := wire.Request{
		ID: d.Number, Member: m.id, Deadline: s.c.linkTime(d.Deadline), Attempt: d.Attempt, Pattern: uint8(d.Pattern),
		Origin: &d.Origin,
	}
	if d.Idempotent {
		head.Flags = wire.FlagIdempotent
	}
	var buf [256]byte
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reach == over {
		return session.ErrDown
	}
	r, err := s.c.sess.Send(lane, wire.KindRequest, head.AppendHead(buf[:0]), tail)
	if err == nil && d.Pattern != patterns.PatternTunnel {
		d.Value = r
		s.deliveries[d.Number] = d
		s.expect(d)
	}
	return err
}

// refuse answers a delivery that no handler has seen.
func refuse(d *request.Delivery, o wire.Outcome) { d.Answer(wire.Reply{Outcome: o, Tail: noHeaders}) }

// noHeaders is the tail of a message without anything.
var noHeaders = wire.AppendTail(nil, nil, nil)

// outcomeOf says why a frame is not in a client's lane.
func outcomeOf(err error) wire.Outcome {
	switch err {
	case session.ErrLaneFull:
		return wire.OutcomeOverloaded
	case session.ErrTooLarge:
		return wire.OutcomeTooLarge
	}
	return wire.OutcomeDraining
}

// Cancel implements request.Forwarder.
func (m *member) Cancel(d *request.Delivery) {
	s := m.of
	if d.Pattern == patterns.PatternTunnel {
		s.c.tunnels.cancel(d)
		return
	}
	if s.take(d.Number) == nil {
		return
	}
	if !s.c.sess.Withdraw(receiptOf(d)) {
		// A hint: without room it is not told.
		s.c.sess.Send(wire.LaneRPC, wire.KindCancel, wire.Cancel{ID: d.Number}.AppendTo(nil))
	}
	refuse(d, wire.OutcomeCancelled)
}

// sweepEvery is how often requests are looked for that nobody waits for any more.
const sweepEvery = 250 * time.Millisecond

// expect has a delivery end some time after its deadline, whatever the client
// does. The caller holds mu.
func (s *members) expect(d *request.Delivery) {
	if !s.sweeping && !d.Deadline.IsZero() {
		s.sweeping = true
		s.c.relay.clock.AfterFunc("relay/sweep", sweepEvery, s.sweep)
	}
}

// sweep ends the deliveries whose deadline has passed.
func (s *members) sweep() {
	now := s.c.now()
	var late []*request.Delivery
	s.mu.Lock()
	s.sweeping = false
	for id, d := range s.deliveries {
		switch {
		case d.Deadline.IsZero():
		case d.Deadline.Before(now):
			delete(s.deliveries, id)
			late = append(late, d)
		default:
			s.expect(d)
		}
	}
	s.mu.Unlock()
	for _, d := range late {
		refuse(d, wire.OutcomeExpired)
	}
}

// receiptOf is what the client's lane gave for a delivery.
func receiptOf(d *request.Delivery) session.Receipt {
	r, _ := d.Value.(session.Receipt)
	return r
}

// take returns a delivery, once.
func (s *members) take(id uint64) *request.Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.deliveries[id]
	delete(s.deliveries, id)
	return d
}

// handleReply passes the client's answer on. It keeps the body.
func (s *members) handleReply(body []byte) error {
	r, err := wire.DecodeReply(body)
	switch {
	case err != nil:
		return malformed(err)
	case r.From != nil || r.Flags&^wire.FlagMaybeRan != 0:
		return undue("a reply of somebody else")
	}
	if s.c.tunnels.answered(&r) {
		return nil
	}
	d := s.take(r.ID)
	if d == nil {
		s.c.relay.count.drop(dropLateAnswer)
		return nil
	}
	s.c.relay.count.refusal(&r)
	d.Answer(r)
	return nil
}

// suspect is called when the connection broke, or when nothing is heard: callers
// shall rather ask others.
func (s *members) suspect() {
	s.mark(missing, true)
}

// doubt refuses what the client has not seen, and what may be repeated: others
// are asked. What may not waits for the client, or the end of its session.
func (s *members) doubt() {
	s.mu.Lock()
	if s.reach != missing {
		s.mu.Unlock()
		return
	}
	s.reach = doubted
	open := s.sorted()
	s.mu.Unlock()
	for _, d := range open {
		switch {
		case s.c.sess.Withdraw(receiptOf(d)):
			if s.take(d.Number) != nil {
				s.c.relay.count.drop(dropAway)
				refuse(d, wire.OutcomeDraining)
			}
		case d.Idempotent && s.take(d.Number) != nil:
			s.c.relay.count.drop(dropAway)
			refuse(d, wire.OutcomeInterrupted)
		}
	}
}

// recover is called when the client is back.
func (s *members) recover() { s.mark(attached, false) }

// mark has callers know what became of the client.
func (s *members) mark(r reach, suspect bool) {
	s.mu.Lock()
	if s.reach == over {
		s.mu.Unlock()
		return
	}
	s.reach = r
	var regs []*node.Forwarded
	for _, m := range s.all() {
		if m.reg != nil {
			regs = append(regs, m.reg)
		}
	}
	s.mu.Unlock()
	for _, reg := range regs {
		reg.Suspect(suspect)
	}
}

// end is called when the session has ended: what is under way may have been
// done.
func (s *members) end() {
	s.mu.Lock()
	s.reach = over
	open := s.sorted()
	clear(s.deliveries)
	s.mu.Unlock()
	for _, d := range open {
		if s.c.sess.Withdraw(receiptOf(d)) {
			refuse(d, wire.OutcomeDraining)
		} else {
			refuse(d, wire.OutcomeInterrupted)
		}
	}
}

// sorted returns what is under way, in the order in which it came. The caller
// holds mu.
func (s *members) sorted() []*request.Delivery {
	open := make([]*request.Delivery, 0, len(s.deliveries))
	for _, d := range s.deliveries {
		open = append(open, d)
	}
	slices.SortFunc(open, func(a, b *request.Delivery) int { return int(int64(a.Number) - int64(b.Number)) })
	return open
}
