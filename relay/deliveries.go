// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// doubtAfter is how long requests stay with a client whose connection broke
// before they are refused, so that others are asked.
const doubtAfter = 60 * time.Millisecond

// othersTime bounds the look at who else is in a cluster.
const othersTime = time.Second

// deliveries are the requests that a client has not answered, and how far it can
// be reached with others.
type deliveries struct {
	c *client

	// Guarded by mu.
	mu       sync.Mutex
	open     map[uint64]*request.Delivery
	members  map[*member]struct{} // that are registered
	reach    reach
	sweeping bool    // a timer runs
	places   portion // for those in open
}

// Why a request is not delivered.
var (
	errTooManyDeliveries = errors.New("relay: the client's members have too many requests")
	errShareOfDeliveries = errors.New("relay: the clients' members have too many requests, and this client has its share")
)

// reach says how a client can be reached.
type reach uint8

const (
	attached reach = iota // it reads, as far as anybody knows
	missing               // not for a moment: what comes waits for it
	doubted               // not for longer: what others may be asked for is refused
	over                  // never again
)

func newDeliveries(c *client, number uint64) *deliveries {
	return &deliveries{
		c: c, open: map[uint64]*request.Delivery{}, members: map[*member]struct{}{},
		places: c.relay.shares.deliveries.Portion(number, ownPlaces, stepPlaces),
	}
}

// registered notes that a cluster knows the member, and says whether the client
// is missing.
func (s *deliveries) registered(m *member, reg *node.Forwarded) (suspect bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.reg = reg
	s.members[m] = struct{}{}
	return s.reach != attached
}

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
	// While the client is doubted, too: callers know that it is, and who asks it
	// nevertheless has nobody better.
	if err := m.pass(d); err != nil {
		s.turnAway(d, err)
	}
}

// pass puts a request into the client's lane.
func (m *member) pass(d *request.Delivery) error {
	s := m.of
	head := m.headOf(d)
	var buf [256]byte
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reach == over {
		return session.ErrDown
	}
	switch {
	case len(s.open) >= s.c.relay.cfg.Limits.Deliveries:
		return errTooManyDeliveries
	case !s.places.Cover(len(s.open) + 1):
		return errShareOfDeliveries
	}
	r, err := s.c.sess.Send(wire.LaneRPC, wire.KindRequest, head.AppendHead(buf[:0]), d.Tail)
	if err == nil {
		d.Value = held{r, m.cluster}
		d.Tail = nil // the lane has it: however long the handler takes, it is not held twice
		s.open[d.Number] = d
		s.expect(d)
	}
	return err
}

// headOf is a delivery as the client gets it.
func (m *member) headOf(d *request.Delivery) wire.Request {
	head := wire.Request{
		ID: d.Number, Member: m.id, Deadline: m.of.c.linkTime(d.Deadline), Attempt: d.Attempt, Pattern: uint8(d.Pattern),
		Origin: &d.Origin,
	}
	if d.Idempotent {
		head.Flags = wire.FlagIdempotent
	}
	return head
}

// turnAway refuses a delivery that is not in the client's lane.
func (s *deliveries) turnAway(d *request.Delivery, err error) {
	if o := outcomeOf(err); o != wire.OutcomeOverloaded || err == session.ErrLaneFull {
		s.c.relay.count.drop(dropSlowDelivery)
	} else {
		s.c.relay.count.limit(err)
	}
	refuse(d, outcomeOf(err))
}

// refuse answers a delivery that no handler has seen.
func refuse(d *request.Delivery, o wire.Outcome) { d.Answer(wire.Reply{Outcome: o, Tail: noHeaders}) }

// noHeaders is the tail of a message without anything.
var noHeaders = wire.AppendTail(nil, nil, nil)

// outcomeOf says why a frame is not in a client's lane.
func outcomeOf(err error) wire.Outcome {
	switch err {
	case session.ErrLaneFull, errTooManyDeliveries, errShareOfDeliveries:
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
	if !s.c.sess.Withdraw(heldOf(d).receipt) {
		// A hint: without room it is not told.
		s.c.sess.Send(wire.LaneRPC, wire.KindCancel, wire.Cancel{ID: d.Number}.AppendTo(nil))
	}
	refuse(d, wire.OutcomeCancelled)
}

// sweepEvery is how often requests are looked for that nobody waits for any more.
const sweepEvery = 250 * time.Millisecond

// expect has a delivery end some time after its deadline, whatever the client
// does. The caller holds mu.
func (s *deliveries) expect(d *request.Delivery) {
	if !s.sweeping && !d.Deadline.IsZero() {
		s.sweeping = true
		s.c.relay.clock.AfterFunc("relay/sweep", sweepEvery, s.sweep)
	}
}

// sweep ends the deliveries whose deadline has passed.
func (s *deliveries) sweep() {
	now := s.c.now()
	var late []*request.Delivery
	s.mu.Lock()
	s.sweeping = false
	for id, d := range s.open {
		switch {
		case d.Deadline.IsZero():
		case d.Deadline.Before(now):
			delete(s.open, id)
			late = append(late, d)
		default:
			s.expect(d)
		}
	}
	s.places.Cover(len(s.open))
	s.mu.Unlock()
	slices.SortFunc(late, inOrder)
	for _, d := range late {
		refuse(d, wire.OutcomeExpired)
	}
}

// held is what the relay knows of a delivery.
type held struct {
	receipt session.Receipt // what the client's lane gave for it
	cluster string
}

func heldOf(d *request.Delivery) held {
	h, _ := d.Value.(held)
	return h
}

// take returns a delivery, once.
func (s *deliveries) take(id uint64) *request.Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.open[id]
	delete(s.open, id)
	s.places.Cover(len(s.open))
	return d
}

// handleReply passes the client's answer on.
func (s *deliveries) handleReply(body []byte) error {
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

// doubt has others asked for what the client has not seen, and what may be
// repeated, where there are others. What may not, or was refused elsewhere, waits
// for the client, or the end of its session. It is false if the client is back.
func (s *deliveries) doubt() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reach != missing {
		return false
	}
	s.reach = doubted
	if len(s.open) > 0 && !s.c.spawn("relay/doubt", s.moveOn) {
		s.c.log.Debug("no worker is free to look for other members")
	}
	return true
}

// moveOn refuses what others can be asked for.
func (s *deliveries) moveOn() {
	s.mu.Lock()
	open := s.sorted()
	s.mu.Unlock()
	others := map[string]bool{} // by cluster
	for _, d := range open {
		if d.Pattern == patterns.PatternSurvey || d.Pattern == patterns.PatternBroadcast {
			continue // each is for this member
		}
		cluster := heldOf(d).cluster
		is, known := others[cluster]
		if !known {
			is = s.othersIn(cluster)
			others[cluster] = is
		}
		if !is || d.Attempt > 0 { // or all could refuse what all doubt for a moment
			continue
		}
		s.mu.Lock()
		back := s.reach != doubted
		s.mu.Unlock()
		switch {
		case back:
			return
		case s.c.sess.Withdraw(heldOf(d).receipt):
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

// othersIn says whether a cluster has members that nobody doubts.
func (s *deliveries) othersIn(cluster string) bool {
	ctx, cancel := s.c.relay.within(s.c.ctx, othersTime)
	defer cancel()
	ref, err := s.c.conn.keys.cluster(cluster)
	if err != nil {
		return false
	}
	members, err := s.c.relay.cfg.Node.Members(ctx, ref)
	return err == nil && slices.ContainsFunc(members, func(m patterns.Member) bool { return m.State == "live" })
}

// mark has callers know what became of the client: that it is back, or that they shall
// rather ask others.
func (s *deliveries) mark(r reach) {
	s.mu.Lock()
	if s.reach == over {
		s.mu.Unlock()
		return
	}
	s.reach = r
	list := slices.SortedFunc(maps.Keys(s.members), func(a, b *member) int { return cmp.Compare(a.id, b.id) })
	s.mu.Unlock()
	for _, m := range list {
		m.reg.Suspect(r != attached)
	}
}

// end is called when the session has ended: what is under way may have been
// done.
func (s *deliveries) end() {
	s.mu.Lock()
	s.reach = over
	open := s.sorted()
	clear(s.open)
	s.places.Cover(0)
	s.mu.Unlock()
	for _, d := range open {
		if s.c.sess.Withdraw(heldOf(d).receipt) {
			refuse(d, wire.OutcomeDraining)
		} else {
			refuse(d, wire.OutcomeInterrupted)
		}
	}
}

// sorted returns what is under way, in the order in which it came. The caller
// holds mu.
func (s *deliveries) sorted() []*request.Delivery {
	return slices.SortedFunc(maps.Values(s.open), inOrder)
}

func inOrder(a, b *request.Delivery) int { return cmp.Compare(a.Number, b.Number) }

// count says how many there are.
func (s *deliveries) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}
