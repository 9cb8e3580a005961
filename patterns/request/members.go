// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/internal/turn"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// members is the members' half of an engine: what others ask of this node.
type members struct {
	*env
	peers *peers
	turns *turn.Turns

	mu      sync.RWMutex
	servers map[cluster.MemberID]*Server // guarded by mu

	runs      sync.Pool     // of *run
	jobs      atomic.Uint64 // the last job's number
	lastJob   atomic.Int64  // when the last request came
	lastLeave atomic.Int64  // when the last member began to leave; 0 = none did
	inLine    atomic.Int64  // refusals that wait for room in a lane
	draining  atomic.Bool
	lastFrom  atomic.Pointer[origin]
}

// origin is a peer id in both its forms: the text costs more than the rest of
// a request's way in.
type origin struct{ id, text string }

// textOf returns a peer id as handlers see it.
func (m *members) textOf(id string) string {
	o := m.lastFrom.Load()
	if o == nil || o.id != id {
		o = &origin{id, peerText(id)}
		m.lastFrom.Store(o)
	}
	return o.text
}

// peerText writes a peer id. A relay tells its clients what is text already.
func peerText(id string) string {
	if _, err := peer.Decode(id); err == nil {
		return id
	}
	return peer.ID(id).String()
}

// add makes a member, unless there is one of that id.
func (m *members) add(s *Server) error {
	if m.closed.Load() || m.draining.Load() {
		return patterns.ErrClosed
	}
	m.mu.Lock()
	_, duplicate := m.servers[s.id]
	if !duplicate {
		m.servers[s.id] = s
	}
	m.mu.Unlock()
	switch {
	case duplicate:
		return cluster.ErrDuplicate
	case m.closed.Load(): // since; close may have missed it
		s.abandon()
		return patterns.ErrClosed
	}
	return nil
}

func (m *members) remove(s *Server) {
	m.mu.Lock()
	delete(m.servers, s.id)
	m.mu.Unlock()
}

func (m *members) get(id cluster.MemberID) *Server {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.servers[id]
}

// all returns the members by cluster, then id.
func (m *members) all() []*Server {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.SortedFunc(maps.Values(m.servers), func(a, b *Server) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.id, b.id))
	})
}

// handleRequest takes a request in, on the goroutine that reads the link. What
// is refused costs the sender's own link the time to look at it, and nobody
// else's.
func (m *members) handleRequest(l Link, frame []byte) (kept bool) {
	r, err := wire.DecodeRequest(frame)
	if err != nil || r.Route != nil {
		m.drops.Inc(dropMalformed)
		return false
	}
	now := m.now()
	m.lastJob.Store(now)
	in := arrival{link: l, request: r, now: now}
	if r.Deadline != 0 {
		in.deadline = l.LocalTime(r.Deadline)
	}
	s := m.get(cluster.MemberID(r.Member))
	if s == nil || r.Incarnation != m.cfg.Incarnation && m.cfg.Leaf == nil {
		m.refuse(&in, refusal{wire.OutcomeNoSuchMember, dropNoMember})
		return false
	}
	return s.admit(&in)
}

// handleCancel takes in that a caller gives up.
func (m *members) handleCancel(l Link, frame []byte) {
	c, err := wire.DecodeCancel(frame)
	if err != nil {
		m.drops.Inc(dropMalformed)
		return
	}
	r, ok := m.peers.table.find(l.Peer())
	if !ok {
		return
	}
	if j := r.job(c.ID); j != nil && j.giveUp() {
		m.drops.Inc(dropCancelled)
		j.refuse(wire.OutcomeCancelled)
	}
	m.peers.put(r, m.now())
}

// orphan ends the jobs of a peer whose session has ended: nobody can be
// answered. While it lasts, even without a connection, they go on.
func (m *members) orphan(r *remote) {
	for _, j := range r.allJobs() {
		j.orphaned.Store(true)
		if j.giveUp() {
			m.drops.Inc(dropOrphaned)
			j.done(m.now())
		}
	}
}

// giveUp ends what a member has under way. Its callers are told at once: what
// a handler may still say comes too late.
func (m *members) giveUp(s *Server) {
	for _, r := range m.peers.table.all() {
		for _, j := range r.allJobs() {
			if j.server == s {
				j.answerHead(wire.Reply{ID: j.id, Outcome: wire.OutcomeCancelled})
				j.interrupt()
				if j.forward != nil && j.forward.first() {
					j.forward.over() // nothing runs here that has to be waited for
				}
			}
		}
	}
}

// refuse answers a request that became no job.
func (m *members) refuse(in *arrival, no refusal) {
	m.drops.Inc(no.reason)
	if s := in.far; s != nil {
		answerFar(s, in.link, in.binding, wire.Reply{ID: in.request.ID, Outcome: no.outcome}, in.deadline)
		return
	}
	r := wire.Reply{ID: in.request.ID, Outcome: no.outcome, Tail: emptyTail}
	if in.key != nil {
		r.Flags, r.Tail = wire.FlagSealed, in.key
	}
	m.answer(in.link, overlay.LaneRPC, in.deadline, r.AppendTo(make([]byte, 0, 64+len(r.Tail))))
}

// answerHead sends a reply that is nothing but a head.
func (m *members) answerHead(l Link, r wire.Reply, deadline time.Time) {
	r.Tail = emptyTail
	m.answer(l, overlay.LaneRPC, deadline, r.AppendTo(make([]byte, 0, 64)))
}

// emptyTail has no headers and no body.
var emptyTail = []byte{0, 0}

// answer sends a reply for which no handler ran. It does not block: if the lane is
// full, because the caller does not read, the reply stands in line, if not too
// many do.
func (m *members) answer(l Link, lane overlay.Lane, deadline time.Time, parts ...[]byte) {
	_, err := l.Send(lane, wire.KindReply, parts...)
	if errors.Is(err, overlay.ErrLaneFull) {
		if m.inLine.Add(1) <= maxRefusals {
			m.answerLater(l, lane, deadline, func() { m.inLine.Add(-1) }, parts...)
			return
		}
		m.inLine.Add(-1)
	}
	if err != nil {
		m.drops.Inc(dropReplyUnsent)
	}
}

// answerLater has a reply stand in line for room until its deadline at most. over
// is called once when it does not any more; then parts may change.
func (m *members) answerLater(l Link, lane overlay.Lane, deadline time.Time, over func(), parts ...[]byte) {
	left := DefaultTimeout
	if !deadline.IsZero() {
		left = min(left, deadline.Sub(m.cfg.Clock.Now()))
	}
	r := &lateReply{drops: m.drops, over: over}
	withdraw, err := l.SendLater(lane, wire.KindReply, func(_ overlay.Receipt, err error) { r.end(err) }, parts...)
	if err != nil {
		r.end(err)
		return
	}
	r.expireBy(m.cfg.Clock, left, withdraw)
}

// lateReply is a reply that stands in line.
type lateReply struct {
	drops drop.Counts[dropReason]
	over  func()

	mu    sync.Mutex
	ended bool          // guarded by mu
	timer overlay.Timer // guarded by mu
}

// end takes in that it has left the line.
func (r *lateReply) end(err error) {
	r.mu.Lock()
	first, timer := !r.ended, r.timer
	r.ended = true
	r.mu.Unlock()
	if !first {
		return
	}
	if timer != nil {
		timer.Stop()
	}
	if err != nil {
		r.drops.Inc(dropReplyUnsent)
	}
	r.over()
}

// expireBy takes it out of the line when time is over.
func (r *lateReply) expireBy(clock overlay.Clock, left time.Duration, withdraw func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.timer = clock.AfterFunc("request.refuse", left, func() {
			if withdraw() {
				r.end(context.DeadlineExceeded)
			}
			r.end(nil) // it has just left
		})
	}
}

// drain is described at Engine.Drain.
func (m *members) drain(ctx context.Context) error {
	m.draining.Store(true)
	servers := m.all()
	for _, s := range servers {
		s.drain()
	}
	var err error
	for _, s := range servers {
		if e := s.Drain(ctx); e != nil {
			err = e
		}
	}
	for err == nil {
		left := m.linger()
		if left <= 0 || !overlay.Sleep(ctx, m.cfg.Clock, "request.sleep", left) {
			break
		}
	}
	return err
}

// linger is how long to wait until callers have stopped sending requests here,
// before looking again; 0 = no more. It counts from when the last member began
// to leave, which may be long ago: a relay has drained its clients' members one
// by one before its node is.
func (m *members) linger() time.Duration {
	left := m.lastLeave.Load()
	if left == 0 {
		return 0
	}
	now := m.now()
	since, quiet := time.Duration(now-left), time.Duration(now-m.lastJob.Load())
	if since >= lingerLimit {
		return 0
	}
	return max(lingerTime-since, quietTime-quiet)
}

// close ends all members, and waits for their handlers.
func (m *members) close() {
	servers := m.all()
	for _, s := range servers {
		s.abandon()
	}
	for _, s := range servers {
		<-s.idle
	}
}
