// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// job is one request at its member, from its arrival to its answer. A push or
// broadcast that was accepted belongs to its member: no link, no deadline and no
// lack of workers ends it, only the end of the member.
type job struct {
	// Immutable once it is offered to the queue.
	server  *Server
	remote  *remote
	id      uint64 // of the request
	number  uint64 // of the job, on this node
	sealed  bool   // and so must its reply be
	far     bool   // and all that is said of it
	binding security.Binding
	request patterns.Request // the handler's from the moment it runs
	forward *Delivery        // if the handler is elsewhere

	ticket ticket // owned by the queue
	took   int64  // ns of its handler, or didNotRun; owned by whoever works at it
	ctx    jobContext

	orphaned atomic.Bool // the session has ended that it came on

	// Owned by who answers.
	scratch [64]byte
	parts   [2][]byte
}

// result is how a handler ended.
type result struct {
	outcome wire.Outcome
	code    patterns.Code
	text    string // of a remote error
	message patterns.Message

	tooLarge bool // the handler's reply can't travel
}

// keeps says whether a message is the member's own affair once its queue has
// it: its sender is told at once, and does not wait for the handler.
func keeps(p patterns.Pattern) bool {
	return p == patterns.PatternPush || p == patterns.PatternBroadcast
}

// newJob makes the job of a request. Its remote counts as used until it is done.
func (in *arrival) newJob(s *Server, r patterns.Request) *job {
	j := &job{}
	in.fill(j, s, r)
	return j
}

func (in *arrival) fill(j *job, s *Server, r patterns.Request) {
	j.server, j.remote, j.id, j.number = s, s.peers.get(in.link.Peer()), in.request.ID, s.jobs.Add(1)
	j.sealed, j.far, j.binding, j.request = in.sealed, in.far != nil, in.binding, r
	j.took = didNotRun
	keep := keeps(r.Pattern) && s.forward == nil
	j.ctx.clock, j.ctx.deadline, j.ctx.endless = s.cfg.Clock, in.deadline, keep
	j.ticket = ticket{job: j, size: in.size, deadline: never, kind: kindOf(r.Pattern), keep: keep}
	if !in.deadline.IsZero() {
		j.ticket.deadline = int64(in.deadline.Sub(s.start))
		if l, ok := in.link.(interface{ RTT() time.Duration }); ok { // a leaf's relay is near
			j.ticket.back = int64(l.RTT() / 2)
		}
	}
	if keep {
		j.request.Deadline = time.Time{}
	}
	j.request.From = j.remote.text
	if o := in.request.Origin; o != nil {
		j.request.From = s.textOf(o.Peer)
	}
}

// keeps is described at the function.
func (j *job) keeps() bool { return j.ticket.keep }

// offer has the job, which has come over from, run, wait, or be refused; then nothing of
// it is kept.
func (j *job) offer(now int64, from Link) (kept bool) {
	s := j.server
	if !j.keeps() && !j.remote.addJob(j) {
		s.drops.Inc(dropDuplicate) // the first one is answered
		s.peers.put(j.remote, now)
		return false
	}
	s.mu.Lock()
	v, shed := s.queue.offer(now, &j.ticket)
	if j.keeps() && v <= verdictWait {
		s.accepted++
		if s.kept == nil {
			s.kept = make(map[*job]struct{})
		}
		s.kept[j] = struct{}{}
	}
	brief := s.brevity.brief()
	s.mu.Unlock()
	s.shed(shed, now)
	switch no := v.refusal(); {
	case no != (refusal{}):
		j.turnAway(no)
		return false
	case j.forward != nil:
		j.forward.handOver()
		return j.forward.Tail != nil
	case v == verdictRun && brief && j.runLast(from):
		j.begun()
	case v == verdictRun:
		j.begin()
	case j.keeps():
		j.acknowledge()
	}
	return true
}

// begin has a worker run the job. If there is none in the whole node, the job
// is refused, and whoever waited behind it comes next.
func (j *job) begin() {
	s := j.server
	if j.run() {
		j.begun()
		return
	}
	if j.keeps() { // nobody was told
		s.mu.Lock()
		s.accepted--
		delete(s.kept, j)
		s.mu.Unlock()
	}
	j.turnAway(refusal{wire.OutcomeOverloaded, dropWorkers})
	if next := s.next(j, s.now()); next != nil {
		next.start()
	}
}

// begun tells the sender of a job that belongs to the member, which is sure to run it.
func (j *job) begun() {
	if j.keeps() {
		j.acknowledge()
	}
}

// start is begin for a job that has waited.
func (j *job) start() {
	for j != nil && !j.run() {
		if j.keeps() {
			j.startLater()
			return
		}
		j.turnAway(refusal{wire.OutcomeOverloaded, dropWorkers})
		j = j.server.next(j, j.server.now())
	}
}

// startLater tries again to have an accepted job run that no worker was free for.
func (j *job) startLater() {
	s := j.server
	s.cfg.Clock.AfterFunc("request.worker", workerPause, func() {
		if !s.closed.Load() {
			j.start()
			return
		}
		j.forget()
		j.lose()
		if next := s.next(j, s.now()); next != nil {
			next.start()
		}
	})
}

// run has a worker run the job, if one is free.
func (j *job) run() bool {
	r := j.newRun()
	return j.server.cfg.Exec.Go(overlay.ExecKey{Name: "request.serve", N: j.number}, r.work) || r.returned()
}

// runLast has the goroutine run the job that reads its link, and has read it alone.
func (j *job) runLast(from Link) bool {
	r := j.newRun()
	return from.Last(r.once) || r.returned()
}

// run is what a worker or a reader is handed: functions that exist already.
type run struct {
	members *members
	job     *job
	work    func() // runs the job, and those that have waited for it
	once    func() // has workers run those
}

func (j *job) newRun() *run {
	m := j.server.members
	r, ok := m.runs.Get().(*run)
	if !ok {
		r = &run{members: m}
		r.work = func() { r.take().work() }
		r.once = func() { r.take().once() }
	}
	r.job = j
	return r
}

// take returns the job, and has the run used for others.
func (r *run) take() *job {
	j := r.job
	r.returned()
	return j
}

// returned has the run used for others. It is false.
func (r *run) returned() bool {
	r.job = nil
	r.members.runs.Put(r)
	return false
}

// work runs the job, and then those that have waited for it to end.
func (j *job) work() {
	for j != nil {
		now := j.handle()
		j = j.server.next(j, now)
	}
}

// once runs the job, and has a worker run who has waited for it to end.
func (j *job) once() {
	now := j.handle()
	if next := j.server.next(j, now); next != nil {
		next.start()
	}
}

// turnAway counts a job that no handler sees, and refuses it.
func (j *job) turnAway(no refusal) {
	j.server.drops.Inc(no.reason)
	j.refuse(no.outcome)
}

// handle runs the handler and answers. It returns the time when the handler
// had ended.
func (j *job) handle() (now int64) {
	s := j.server
	began := s.now()
	switch {
	case !j.over(began):
	case j.keeps():
		j.forget()
		j.lose()
		return began
	default: // since the verdict
		s.drops.Inc(dropCancelled)
		j.owe()
		j.done(began)
		return began
	}
	r := j.call()
	s.turns.Take("request.done", j.number)
	now = s.now()
	j.took = now - began
	if j.keeps() {
		j.forget()
		s.mu.Lock()
		s.handled++
		s.brevity.ended(time.Duration(now - began))
		s.mu.Unlock()
	} else {
		j.answer(r, now, time.Duration(now-began))
	}
	j.done(now)
	return now
}

// call calls the handler.
func (j *job) call() (r result) {
	defer func() {
		if p := recover(); p != nil {
			r = remoteError(patterns.CodePanic, fmt.Sprint(p))
			j.server.log.Error("handler panicked", zap.String("cluster", j.server.name), zap.Stringer("member", j.server.id),
				zap.String("panic", r.text), zap.ByteString("stack", debug.Stack()))
		}
	}()
	switch v := &j.server.service; j.request.Pattern {
	case patterns.PatternPush:
		v.Push(&j.ctx, &j.request)
		return result{}
	case patterns.PatternBroadcast:
		v.Broadcast(&j.ctx, &j.request)
		return result{}
	default:
		r = newResult(v.Request(&j.ctx, &j.request))
		if r.tooLarge {
			j.server.drops.Inc(dropReplyOver)
		}
		return r
	}
}

// answer sends the reply. A handler's goroutine may wait for room: that slows
// the member down, which is what callers who do not read should see.
func (j *job) answer(r result, now int64, took time.Duration) {
	s := j.server
	s.mu.Lock()
	s.handled++
	s.brevity.ended(took)
	waiting, running := s.queue.waiting.n, s.queue.running.n
	s.mu.Unlock()
	seal := sealing{far: j.far, binding: &j.binding}
	if j.sealed {
		seal.to = s.rooms.take()
		defer s.rooms.put(seal.to) // the link has it, or nobody
	}
	head, body := s.encode(j.scratch[:0], seal, r, wire.Reply{
		ID: j.id, Queue: uint32(waiting), Running: uint32(running - 1), ServiceMicros: micros(took),
	})
	j.parts[0], j.parts[1] = head, body
	if !j.over(now) {
		lane := replyLane(len(head) + len(body))
		if _, err := j.remote.link.SendWait(&j.ctx, lane, wire.KindReply, j.parts[:]...); err == nil {
			return
		}
	}
	s.drops.Inc(dropReplyUnsent)
	j.owe()
}

// owe tells a leaf's relay that a job is over for which nobody waits any more: it
// counts what is under way here. A member's deadline is a little before the
// caller's, so the caller must not hear it as an answer.
func (j *job) owe() {
	if j.server.cfg.Leaf != nil && !j.orphaned.Load() {
		j.server.answerHead(j.remote.link, wire.Reply{ID: j.id, Outcome: wire.OutcomeDeadline}, time.Time{})
	}
}

// replyLane is where a reply of that size travels.
func replyLane(size int) overlay.Lane {
	if size > wire.MaxPayload {
		return overlay.LaneBulk
	}
	return overlay.LaneRPC
}

// acknowledge tells the sender that the member has its message.
func (j *job) acknowledge() {
	s := j.server
	m := wire.Reply{ID: j.id}
	m.Queue, m.Running = s.load()
	head, body := s.encode(make([]byte, 0, 64), sealing{roomIf(j.sealed), j.far, &j.binding}, result{outcome: wire.OutcomeReply}, m)
	s.answer(j.remote.link, overlay.LaneRPC, j.ctx.deadline, head, body)
}

// refuse answers a job that no handler has seen, and ends it.
func (j *job) refuse(o wire.Outcome) {
	m := wire.Reply{ID: j.id, Outcome: o}
	m.Queue, m.Running = j.server.load()
	j.answerHead(m)
	j.done(j.server.now())
}

// answerHead sends a reply that is nothing but a head.
func (j *job) answerHead(m wire.Reply) {
	if j.far {
		answerFar(j.server, j.remote.link, j.binding, m, j.ctx.deadline)
		return
	}
	j.server.answerHead(j.remote.link, m, j.ctx.deadline)
}

// giveUp takes a job out of its queue: then it never runs, and giveUp is true.
// Otherwise whoever works at it is told that nobody waits.
func (j *job) giveUp() (waited bool) {
	s := j.server
	if j.forward == nil {
		s.mu.Lock()
		waited = s.queue.withdraw(&j.ticket)
		s.settleLocked()
		s.mu.Unlock()
	}
	if !waited {
		j.interrupt()
	}
	return waited
}

// interrupt ends the handler's context, wherever the handler is.
func (j *job) interrupt() {
	s := j.server
	if j.forward != nil {
		if j.ctx.end(context.Canceled) {
			j.forward.cancel()
		}
		return
	}
	s.cfg.Exec.Wake(overlay.ExecKey{Name: "request.cancel", N: j.number}, func() { j.ctx.end(context.Canceled) })
}

// forget notes that an accepted job is over.
func (j *job) forget() {
	j.server.mu.Lock()
	delete(j.server.kept, j)
	j.server.mu.Unlock()
}

// lose ends an accepted job that never runs.
func (j *job) lose() {
	j.server.drops.Inc(dropAbandoned)
	j.done(j.server.now())
}

// over says whether nobody waits for the job any more.
func (j *job) over(now int64) bool { return j.ticket.deadline <= now || j.ctx.ended() }

// done ends the job's life.
func (j *job) done(now int64) {
	j.ctx.end(context.Canceled)
	j.remote.removeJob(j)
	j.server.peers.put(j.remote, now)
}

func micros(d time.Duration) uint32 {
	return uint32(min(max(d.Microseconds(), 0), math.MaxUint32))
}
