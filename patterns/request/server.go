// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"fmt"
	"sync"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// Server is one local member: the shell around its queue. All methods may be
// called concurrently.
type Server struct {
	// Immutable.
	engine  *Engine
	id      cluster.MemberID
	name    string
	service patterns.Service
	limits  patterns.Limits
	keys    *security.Cluster
	seal    bool // what is not sealed is refused
	log     *zap.Logger

	mu      sync.Mutex
	queue   queue   // guarded by mu
	replays replays // guarded by mu
	handled uint64  // guarded by mu
	// Pushes and broadcasts that were accepted and are not over, and their
	// number since the start; guarded by mu.
	kept     map[*job]struct{}
	accepted uint64

	// Lifecycle.
	idle   chan struct{} // closed when it has drained, and is no member any more
	closed bool          // guarded by mu; idle is being closed
}

// AddMember serves member id of the cluster with v, until Drain or
// Engine.Close. Callers do not know of it yet: registering it is up to the
// caller of AddMember. The id must be random and not 0.
func (e *Engine) AddMember(id cluster.MemberID, name string, v patterns.Service, l patterns.Limits) (*Server, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	l = l.WithDefaults()
	if err := checkLimits(l); err != nil {
		return nil, err
	}
	keys := e.cfg.Keys(name)
	s := &Server{
		engine:  e,
		id:      id,
		name:    name,
		service: v,
		limits:  l,
		keys:    keys,
		seal:    e.mustSeal(keys),
		log:     e.log.With(zap.String("cluster", name), zap.Stringer("member", id)),
		queue:   queue{limits: l},
		kept:    make(map[*job]struct{}),
		idle:    make(chan struct{}),
	}
	if e.closed.Load() || e.draining.Load() {
		return nil, patterns.ErrClosed
	}
	if !e.members.add(s) {
		return nil, cluster.ErrDuplicate
	}
	if e.closed.Load() { // since; Close may have missed it
		s.abandon()
		return nil, patterns.ErrClosed
	}
	return s, nil
}

func checkLimits(l patterns.Limits) error {
	switch {
	case l.Concurrency < 0 || l.QueueBytes < 0 || l.MessageBytes < 0 || l.Capacity < 0:
		return fmt.Errorf("request: limits must not be negative: %+v", l)
	case l.MessageBytes > MaxMessage:
		return fmt.Errorf("request: MessageBytes %d is more than %d: send what is larger in parts", l.MessageBytes, MaxMessage)
	}
	return nil
}

// ID is the member's id.
func (s *Server) ID() cluster.MemberID { return s.id }

// Name is the cluster's.
func (s *Server) Name() string { return s.name }

// Service is what the member does.
func (s *Server) Service() patterns.Service { return s.service }

// Limits are the member's, with defaults filled in.
func (s *Server) Limits() patterns.Limits { return s.limits }

// Keys are the cluster's.
func (s *Server) Keys() *security.Cluster { return s.keys }

// Drain refuses new requests, finishes those that were accepted, and removes
// the member. If ctx ends before, the ones that wait are refused, the contexts
// of running handlers end, their callers are told that they were interrupted,
// and ctx's error is returned without waiting for them; the member goes when
// the last one returns. Callers should not be sent here any more when it is
// called: refused requests are tried elsewhere.
func (s *Server) Drain(ctx context.Context) error {
	s.drain()
	select {
	case <-s.idle:
		return nil
	case <-ctx.Done():
		s.abandon()
		return ctx.Err()
	}
}

// drain refuses new requests.
func (s *Server) drain() {
	s.engine.lastLeave.Store(max(s.engine.now(), 1))
	s.mu.Lock()
	s.queue.drain()
	s.settleLocked()
	s.mu.Unlock()
}

// abandon ends what drain would let finish.
func (s *Server) abandon() {
	s.mu.Lock()
	s.queue.drain()
	out := s.queue.abandon()
	running := s.loseLocked(out)
	s.settleLocked()
	s.mu.Unlock()
	for _, t := range out {
		if t.keep {
			s.lose(t.job)
			continue
		}
		s.engine.drops.Inc(dropDraining)
		s.refuse(t.job, wire.OutcomeDraining)
	}
	s.engine.giveUp(s)
	for _, j := range running {
		s.engine.interrupt(j)
	}
}

// settleLocked removes the member when it drains and nothing is left, and tells
// who waits for that.
func (s *Server) settleLocked() {
	if s.closed || !s.queue.draining || !s.queue.idle() {
		return
	}
	s.closed = true
	s.engine.cfg.Exec.Wake(overlay.ExecKey{Name: "request.idle", N: uint64(s.id)}, func() {
		s.engine.members.remove(s)
		close(s.idle)
	})
}

// status describes the member.
func (s *Server) status() MemberStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return MemberStatus{
		Cluster: s.name, Member: s.id.String(), Handled: s.handled, Draining: s.queue.draining,
		Running: s.queue.running, Waiting: s.queue.waiting, Bytes: s.queue.bytes, Accepted: s.accepted,
	}
}
