// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// registerTimeout is what a Serve or a Subscribe has that says nothing.
const registerTimeout = 30 * time.Second

// doubtAfter is how long requests stay with a client whose connection broke
// before they are refused, so that others are asked.
const doubtAfter = 60 * time.Millisecond

// members are the registrations of one client, and the requests that it has not
// answered.
type members struct {
	c *client

	// Guarded by mu.
	mu         sync.Mutex
	byID       map[uint64]*member
	deliveries map[uint64]*request.Delivery
	reach      reach
	sweeping   bool // a timer runs
}

// reach says how a client can be reached.
type reach uint8

const (
	attached reach = iota // it reads, as far as anybody knows
	missing               // for a moment: what comes waits for it
	doubted               // for longer: what comes is refused
	over                  // for ever
)

// member is one registration. It is the Forwarder that the node sees.
type member struct {
	of      *members
	id      uint64
	cluster string
	cancel  context.CancelFunc
	ctx     context.Context // when it ends, everything is over at once
	done    chan struct{}   // closed when the node has forgotten the member
	// serving ends with the time to register, or when the member is to leave.
	serving     context.Context
	stopServing context.CancelFunc
	patience    time.Duration // that leaving may take; 0 = as long as it needs

	// Guarded by of.mu.
	reg     *node.Forwarded // nil until it is acknowledged
	leave   chan struct{}   // closed to leave
	leaving bool
	asked   bool // a Done for a Leave is due
}

var _ request.Forwarder = (*member)(nil)

func newMembers(c *client) *members {
	return &members{c: c, byID: map[uint64]*member{}, deliveries: map[uint64]*request.Delivery{}}
}

func (s *members) handleServe(body []byte) error {
	f, err := wire.DecodeServe(body)
	if err != nil {
		return malformed(err)
	}
	m := s.newMember(&f)
	err = s.add(m)
	switch {
	case err == errDuplicate || s.c.topics.has(f.ID):
		return undue(fmt.Sprintf("id %d is in use", f.ID))
	case err == nil && !s.c.spawn("relay/serve", func() { m.run(&f) }):
		s.forget(m)
		err = patterns.ErrOverloaded
	}
	if err != nil {
		m.cancel()
		s.c.relay.count.limit(err)
		s.c.done(wire.LaneCtl, f.ID, err, 0)
	}
	return nil
}

func (s *members) newMember(f *wire.Serve) *member {
	m := &member{of: s, id: f.ID, cluster: f.Cluster, done: make(chan struct{}), leave: make(chan struct{})}
	m.ctx, m.cancel = context.WithCancel(s.c.ctx)
	m.serving, m.stopServing = s.c.within(m.ctx, micros(f.Timeout, registerTimeout))
	return m
}

// wanted says whether anybody wants to know that the client lives.
func (s *members) wanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byID) > 0
}

// add takes a place for a registration.
func (s *members) add(m *member) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.byID[m.id] != nil:
		return errDuplicate
	case s.c.relay.isDraining():
		return errDraining
	case strings.HasPrefix(m.cluster, reserved):
		return fmt.Errorf("relay: %q: names that begin with %q are the relay's", m.cluster, reserved)
	case len(s.byID) >= s.c.relay.cfg.Limits.Registrations:
		return ErrTooManyRegistrations
	}
	s.byID[m.id] = m
	return nil
}

// has says that a registration has the id.
func (s *members) has(id uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id] != nil
}

// run is the life of the registration.
func (m *member) run(f *wire.Serve) {
	defer close(m.done)
	defer m.cancel()
	c := m.of.c
	reg, err := m.register(f)
	if err != nil {
		if c.relay.isDraining() {
			err = errDraining
		}
		asked := m.of.forget(m)
		c.done(wire.LaneCtl, m.id, err, 0)
		if asked {
			c.done(wire.LaneCtl, m.id, nil, 0)
		}
		return
	}
	m.of.acknowledged(m, reg)
	c.sess.Want(m.of.wanted)
	c.done(wire.LaneCtl, m.id, nil, uint64(reg.ID()))
	select {
	case <-m.leave:
	case <-m.ctx.Done():
	}
	err = m.drain(reg)
	if m.of.forget(m) {
		c.done(wire.LaneCtl, m.id, err, 0)
	}
}

// register makes the member one of its cluster.
func (m *member) register(f *wire.Serve) (*node.Forwarded, error) {
	defer m.stopServing()
	limits := patterns.Limits{
		Concurrency: int(f.Concurrency), QueueLength: int(f.QueueLength), QueueBytes: int(f.QueueBytes),
		MessageBytes: int(f.MessageBytes), Capacity: int(f.Capacity), Tunnels: int(f.Tunnels),
	}
	return m.of.c.relay.cfg.Node.Forward(m.serving, f.Cluster, servesOf(f.Patterns), limits, m)
}

// servesOf names the patterns as the node does.
func servesOf(p wire.Patterns) request.Serves {
	var list []patterns.Pattern
	for bit, implied := range map[wire.Patterns][]patterns.Pattern{
		wire.ServesRequests:   {patterns.PatternRequest, patterns.PatternSurvey},
		wire.ServesPushes:     {patterns.PatternPush},
		wire.ServesBroadcasts: {patterns.PatternBroadcast},
		wire.ServesTunnels:    {patterns.PatternTunnel},
	} {
		if p&bit != 0 {
			list = append(list, implied...)
		}
	}
	return request.ServesOf(list...)
}

// acknowledged notes that the cluster knows the member.
func (s *members) acknowledged(m *member, reg *node.Forwarded) {
	s.mu.Lock()
	m.reg = reg
	suspect := s.reach != attached
	s.mu.Unlock()
	if suspect {
		reg.Suspect(true)
	}
}

// drain leaves the cluster and waits for what was accepted, as long as that
// may take.
func (m *member) drain(reg *node.Forwarded) error {
	ctx, cancel := m.ctx, context.CancelFunc(func() {})
	if m.patience > 0 {
		ctx, cancel = m.of.c.within(ctx, m.patience)
	}
	defer cancel()
	return reg.Close(ctx)
}

// forget gives id and place free, and says whether the client waits for the end.
// It comes before whatever tells the client that both are free.
func (s *members) forget(m *member) (asked bool) {
	s.mu.Lock()
	delete(s.byID, m.id)
	asked = m.asked
	s.mu.Unlock()
	s.c.sess.Want(s.wanted)
	return asked
}

// handleLeave ends a registration; false if there is none of that id.
func (s *members) handleLeave(f wire.Leave) bool {
	s.mu.Lock()
	m := s.byID[f.ID]
	if m == nil {
		s.mu.Unlock()
		return false
	}
	again := m.asked
	m.asked = true
	s.mu.Unlock()
	if again {
		m.cancel()
	} else {
		m.depart(micros(f.Timeout, 0))
	}
	return true
}

// depart begins to drain the member, or ends its registration.
func (m *member) depart(patience time.Duration) {
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	if !m.leaving {
		m.leaving, m.patience = true, patience
		close(m.leave)
		m.stopServing()
	}
}

// all returns the registrations in the order of their ids. The caller holds mu.
func (s *members) all() []*member {
	list := make([]*member, 0, len(s.byID))
	for _, m := range s.byID {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *member) int { return int(int64(a.id) - int64(b.id)) })
	return list
}

// drain has all members leave, and returns them.
func (s *members) drain() []*member {
	s.mu.Lock()
	list := s.all()
	s.mu.Unlock()
	for _, m := range list {
		m.depart(0)
	}
	return list
}

// status returns the clusters of the registrations, and how much is under way.
func (s *members) status() (clusters []string, deliveries int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clusters = make([]string, 0, len(s.byID))
	for _, m := range s.byID {
		clusters = append(clusters, m.cluster)
	}
	slices.Sort(clusters)
	return clusters, len(s.deliveries)
}
