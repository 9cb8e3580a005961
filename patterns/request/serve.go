// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// offer has the job run, wait, or be refused; then nothing of it is kept.
func (s *Server) offer(j *job, now int64) (kept bool) {
	s.mu.Lock()
	v, expired := s.queue.offer(now, &j.ticket)
	if j.keeps() && v <= verdictWait {
		s.keepLocked(j)
	}
	s.mu.Unlock()
	s.expire(expired)
	switch no := v.refusal(); {
	case v == verdictRun:
		s.begin(j)
	case v == verdictWait && j.keeps():
		s.acknowledge(j)
	case no != (refusal{}):
		s.engine.drops.Inc(no.reason)
		s.refuse(j, no.outcome)
		return false
	}
	return true
}

// begin has a worker run the job. If there is none in the whole node, the job
// is refused, and whoever waited behind it comes next.
func (s *Server) begin(j *job) {
	if s.run(j) {
		if j.keeps() {
			s.acknowledge(j)
		}
		return
	}
	if j.keeps() {
		s.takeBack(j)
	}
	s.turnAway(j)
	if next := s.next(s.engine.now()); next != nil {
		s.start(next)
	}
}

// start is begin for a job that has waited.
func (s *Server) start(j *job) {
	for j != nil && !s.run(j) {
		if j.keeps() {
			s.startLater(j)
			return
		}
		s.turnAway(j)
		j = s.next(s.engine.now())
	}
}

// run has a worker run the job, if one is free.
func (s *Server) run(j *job) bool {
	return s.engine.cfg.Exec.Go(overlay.ExecKey{Name: "request.serve", N: j.number}, func() { s.work(j) })
}

// turnAway refuses a job because no worker is free.
func (s *Server) turnAway(j *job) {
	s.engine.drops.Inc(dropWorkers)
	s.refuse(j, wire.OutcomeOverloaded)
}

// work runs the job, and then those that have waited for it to end.
func (s *Server) work(j *job) {
	for j != nil {
		j = s.next(s.handle(j))
	}
}

// next ends a running job's turn and returns who runs in its place.
func (s *Server) next(now int64) *job {
	s.mu.Lock()
	t, expired := s.queue.finish(now)
	s.settleLocked()
	s.mu.Unlock()
	s.expire(expired)
	if t == nil {
		return nil
	}
	return t.job
}

// expire answers those who have waited until their deadline.
func (s *Server) expire(out []*ticket) {
	for _, t := range out {
		s.engine.drops.Inc(dropExpired)
		s.refuse(t.job, wire.OutcomeExpired)
	}
}

// handle runs the handler and answers. It returns the time when the handler
// had ended.
func (s *Server) handle(j *job) (now int64) {
	e := s.engine
	began := e.now()
	switch {
	case !j.over(began):
	case j.keeps():
		s.forget(j)
		s.lose(j)
		return began
	default: // since the verdict
		e.drops.Inc(dropCancelled)
		j.done(began)
		return began
	}
	r := j.run()
	e.takeTurn("request.done", j.number)
	now = e.now()
	if j.keeps() {
		s.finished(j)
	} else {
		s.answer(j, r, now, time.Duration(now-began))
	}
	j.done(now)
	return now
}

// answer sends the reply. A handler's goroutine may wait for room: that slows
// the member down, which is what callers who do not read should see.
func (s *Server) answer(j *job, r result, now int64, took time.Duration) {
	s.mu.Lock()
	s.handled++
	waiting, running := s.queue.waiting, s.queue.running
	s.mu.Unlock()
	head, body := s.encode(j.scratch[:0], &j.seal, r, wire.Reply{
		ID: j.id, Queue: uint32(waiting), Running: uint32(running - 1), ServiceMicros: micros(took),
	})
	lane := overlay.LaneRPC
	if len(body) > wire.MaxPayload-len(head) {
		lane = overlay.LaneBulk
	}
	j.parts[0], j.parts[1] = head, body
	if !j.over(now) {
		if _, err := j.remote.link.SendWait(&j.ctx, lane, wire.KindReply, j.parts[:]...); err == nil {
			return
		}
	}
	s.engine.drops.Inc(dropReplyUnsent)
}

// encode lays a reply out in two parts, the first one behind dst.
func (s *Server) encode(dst []byte, seal *seal, r result, m wire.Reply) (head, body []byte) {
	m.Outcome, m.Code = r.outcome, uint32(r.code)
	m.Headers = wire.ConvertHeaders[wire.Header](r.message.Headers)
	body = r.message.Body
	if r.text != "" {
		body = []byte(r.text)
	}
	if seal.sealed && (r.outcome == wire.OutcomeReply || r.outcome == wire.OutcomeRemoteError) {
		m.Flags |= wire.FlagSealed
		sealed := make([]byte, 0, sealedSize(m.Headers, body))
		body = sealMessage(s.keys, s.engine.random, seal.binding, sealed, m.Headers, body)
		m.Headers = nil
	}
	return m.AppendHead(dst), body
}

// finished closes the books on a job that nobody waits for.
func (s *Server) finished(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handled++
	delete(s.kept, j)
}

// over says whether nobody waits for the job any more.
func (j *job) over(now int64) bool { return j.ticket.deadline <= now || j.ctx.ended() }

// done ends the job's life.
func (j *job) done(now int64) {
	j.ctx.end(context.Canceled)
	j.remote.remove(j)
	j.server.engine.putRemote(j.remote, now)
}

// refuse answers a job that no handler has seen, and ends it.
func (s *Server) refuse(j *job, o wire.Outcome) {
	s.mu.Lock()
	m := wire.Reply{ID: j.id, Outcome: o, Queue: uint32(s.queue.waiting), Running: uint32(s.queue.running)}
	s.mu.Unlock()
	s.engine.answerHead(j.remote.link, m, j.ctx.deadline)
	j.done(s.engine.now())
}

// refuse answers a request that became no job.
func (e *Engine) refuse(l Link, id uint64, deadline time.Time, no refusal) {
	e.drops.Inc(no.reason)
	e.answerHead(l, wire.Reply{ID: id, Outcome: no.outcome}, deadline)
}

// answerHead sends a reply that is nothing but a head.
func (e *Engine) answerHead(l Link, m wire.Reply, deadline time.Time) {
	e.answer(l, overlay.LaneRPC, m.ID, deadline, m.AppendHead(make([]byte, 0, m.HeadSize())))
}

// answer sends a reply. It does not block: if the lane is full, because the
// caller does not read, a worker waits in its place.
func (e *Engine) answer(l Link, lane overlay.Lane, id uint64, deadline time.Time, parts ...[]byte) {
	_, err := l.Send(lane, wire.KindReply, parts...)
	if errors.Is(err, overlay.ErrLaneFull) && e.answerLater(l, lane, id, deadline, parts) {
		return
	}
	if err != nil {
		e.drops.Inc(dropReplyUnsent)
	}
}

// answerLater has a worker wait for room, if one can be spared.
func (e *Engine) answerLater(l Link, lane overlay.Lane, id uint64, deadline time.Time, parts [][]byte) bool {
	wait := func() {
		defer e.refusals.Add(-1)
		e.answerWhenRoom(l, lane, deadline, parts)
	}
	if e.refusals.Add(1) > maxRefusals || !e.cfg.Exec.Go(overlay.ExecKey{Name: "request.refuse", N: id}, wait) {
		e.refusals.Add(-1)
		return false
	}
	return true
}

func (e *Engine) answerWhenRoom(l Link, lane overlay.Lane, deadline time.Time, parts [][]byte) {
	left := DefaultTimeout
	if !deadline.IsZero() {
		left = min(left, deadline.Sub(e.cfg.Clock.Now()))
	}
	ctx, cancel := overlay.WithTimeout(context.Background(), e.cfg.Clock, "request.refuse", left)
	defer cancel()
	if _, err := l.SendWait(ctx, lane, wire.KindReply, parts...); err != nil {
		e.drops.Inc(dropReplyUnsent)
	}
}

func micros(d time.Duration) uint32 {
	return uint32(min(max(d.Microseconds(), 0), math.MaxUint32))
}
