// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// Server is one local member: the shell around its queue. All methods may be
// called concurrently.
type Server struct {
	*members

	// Immutable.
	id      cluster.MemberID
	name    string
	service patterns.Service
	forward Forwarder // has the requests in place of service; nil = nobody
	serves  Serves
	keys    *security.Cluster // nil at a leaf
	seal    bool              // what is not sealed is refused

	mu      sync.Mutex
	queue   queue   // guarded by mu
	replays replays // guarded by mu
	handled uint64  // guarded by mu
	brevity brevity // guarded by mu
	// Pushes and broadcasts that were accepted and are not over, and their
	// number since the start; guarded by mu. kept is made for the first one.
	kept     map[*job]struct{}
	accepted uint64

	// Lifecycle.
	idle    chan struct{} // made when it begins to drain; closed when it has, and is no member any more
	drained bool          // guarded by mu; idle is being closed
}

// servesOf returns the patterns that a service implements.
func (m *members) servesOf(v patterns.Service) (s Serves) {
	for p, ok := range [...]bool{
		patterns.PatternRequest:   v.Request != nil,
		patterns.PatternSurvey:    v.Request != nil,
		patterns.PatternPush:      v.Push != nil,
		patterns.PatternBroadcast: v.Broadcast != nil,
		patterns.PatternTunnel:    v.Tunnel != nil && m.cfg.Acceptor != nil,
	} {
		if ok {
			s |= 1 << p
		}
	}
	return s
}

func (m *members) newServer(id cluster.MemberID, name string, l patterns.Limits) (*Server, error) {
	if err := cluster.CheckName(name); err != nil {
		return nil, err
	}
	l = l.WithDefaults()
	if err := checkLimits(l); err != nil {
		return nil, err
	}
	s := &Server{members: m, id: id, name: name, queue: queue{limits: l}}
	if m.cfg.Leaf == nil {
		s.keys = m.cfg.Keys(name)
		s.seal = m.mustSeal(s.keys)
	}
	return s, nil
}

func checkLimits(l patterns.Limits) error {
	switch {
	case l.Concurrency < 0 || l.QueueBytes < 0 || l.MessageBytes < 0 || l.Capacity < 0:
		return fmt.Errorf("request: limits must not be negative: %+v", l)
	case l.Capacity > cluster.MaxCapacity:
		return fmt.Errorf("request: Capacity %d is more than %d: weights are relative, so that smaller ones do", l.Capacity, cluster.MaxCapacity)
	case l.MessageBytes > MaxMessage:
		return fmt.Errorf("request: MessageBytes %d is more than %d: send what is larger in parts", l.MessageBytes, MaxMessage)
	}
	return nil
}

// ID is the member's id.
func (s *Server) ID() cluster.MemberID { return s.id }

// Name is the cluster's.
func (s *Server) Name() string { return s.name }

// Service is what the member does; zero where requests are forwarded.
func (s *Server) Service() patterns.Service { return s.service }

// Limits are the member's, with defaults filled in.
func (s *Server) Limits() patterns.Limits { return s.queue.limits }

// Keys are the cluster's; nil at a leaf.
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
	s.lastLeave.Store(max(s.now(), 1))
	s.mu.Lock()
	s.drainLocked()
	s.settleLocked()
	s.mu.Unlock()
}

func (s *Server) drainLocked() {
	s.queue.drain()
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
}

// abandon ends what drain would let finish.
func (s *Server) abandon() {
	s.mu.Lock()
	s.drainLocked()
	var out []*ticket
	if s.forward == nil { // else they are not here
		out = s.queue.abandon()
	}
	running := s.loseLocked(out)
	s.settleLocked()
	s.mu.Unlock()
	for _, t := range out {
		if t.keep {
			t.job.lose()
			continue
		}
		s.drops.Inc(dropDraining)
		t.job.refuse(wire.OutcomeDraining)
	}
	s.giveUp(s)
	for _, j := range running {
		j.interrupt()
	}
}

// loseLocked forgets the accepted jobs among those that were taken out of the
// queue, and returns the others, in their order: they run.
func (s *Server) loseLocked(out []*ticket) []*job {
	for _, t := range out {
		delete(s.kept, t.job)
	}
	return slices.SortedFunc(maps.Keys(s.kept), func(a, b *job) int { return cmp.Compare(a.number, b.number) })
}

// settleLocked removes the member when it drains and nothing is left, and tells
// who waits for that.
func (s *Server) settleLocked() {
	if s.drained || !s.queue.draining || !s.queue.idle() {
		return
	}
	s.drained = true
	s.cfg.Exec.Wake(overlay.ExecKey{Name: "request.idle", N: uint64(s.id)}, func() {
		s.remove(s)
		close(s.idle)
	})
}

// next ends a running job's turn and returns the one that runs in its place.
func (s *Server) next(j *job, now int64) *job {
	s.mu.Lock()
	t, shed := s.queue.finish(now, &j.ticket, j.took)
	s.settleLocked()
	s.mu.Unlock()
	s.shed(shed, now)
	if t == nil {
		return nil
	}
	return t.job
}

// shed answers those that have waited in vain.
func (s *Server) shed(out []*ticket, now int64) {
	for _, t := range out {
		v := refusedTime
		if t.deadline <= now {
			v = refusedExpired
		}
		t.job.turnAway(v.refusal())
	}
}

// load is what a reply says of the queue.
func (s *Server) load() (waiting, running uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return uint32(s.queue.waiting.n), uint32(s.queue.running.n)
}

// tell sends a result for which no handler has to run, or to have run, from the
// goroutine that reads the link. What a tunnel is answered goes before what the
// tunnel sends.
func (s *Server) tell(in *arrival, r result) {
	m := wire.Reply{ID: in.request.ID}
	m.Queue, m.Running = s.load()
	lane := overlay.LaneRPC
	if patterns.Pattern(in.request.Pattern) == patterns.PatternTunnel {
		lane = overlay.LaneBulk
	}
	head, body := s.encode(make([]byte, 0, 64), sealing{roomIf(in.sealed), in.far != nil, &in.binding}, r, m)
	s.answer(in.link, lane, in.deadline, head, body)
}

// roomIf is room to seal in, that nobody gets back.
func roomIf(sealed bool) *sealRoom {
	if sealed {
		return &sealRoom{}
	}
	return nil
}

// sealing is how a reply is sealed.
type sealing struct {
	to      *sealRoom // nil = it is not
	far     bool      // with its head
	binding *security.Binding
}

// encode lays a reply out in two parts, the first one behind dst, the second one in the room
// of seal if it is sealed.
func (s *Server) encode(dst []byte, seal sealing, r result, m wire.Reply) (head, body []byte) {
	m.Outcome, m.Code = r.outcome, uint32(r.code)
	headers := wire.ConvertHeaders[wire.Header](r.message.Headers)
	body = r.message.Body
	if r.text != "" {
		body = []byte(r.text)
	}
	if seal.far {
		m.Tail = append(wire.AppendHeaders(make([]byte, 0, wire.HeadersSize(headers)+len(body)), headers), body...)
		return conceal(s, dst, *seal.binding, m)
	}
	if seal.to != nil && (r.outcome == wire.OutcomeReply || r.outcome == wire.OutcomeRemoteError) {
		m.Flags |= wire.FlagSealed
		seal.to.b = sealMessage(s.keys, s.random, *seal.binding, seal.to.b[:0], headers, body)
		return m.AppendHead(dst), seal.to.b
	}
	return wire.AppendHeaders(m.AppendHead(dst), headers), body
}

// status describes the member.
func (s *Server) status() MemberStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return MemberStatus{
		Cluster: s.name, Member: s.id.String(), Handled: s.handled, Draining: s.queue.draining,
		Running: s.queue.running.n, Waiting: s.queue.waiting.n, Bytes: s.queue.bytes, Accepted: s.accepted,
	}
}
