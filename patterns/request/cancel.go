// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// handleCancel takes in that a caller gives up.
func (e *Engine) handleCancel(l Link, frame []byte) {
	m, err := wire.DecodeCancel(frame)
	if err != nil {
		e.drops.Inc(dropMalformed)
		return
	}
	r, ok := e.remotes.find(l.Peer())
	if !ok {
		return
	}
	if j := r.job(m.ID); j != nil && e.withdraw(j) {
		e.drops.Inc(dropCancelled)
		j.server.refuse(j, wire.OutcomeCancelled)
	}
	e.putRemote(r, e.now())
}

// orphan ends the jobs of a peer whose link is lost: nobody can be answered.
func (e *Engine) orphan(r *remote) {
	for _, j := range r.all() {
		if e.withdraw(j) {
			e.drops.Inc(dropOrphaned)
			j.done(e.now())
		}
	}
}

// giveUp ends the contexts of a member's running handlers. Their callers are
// told at once: what a handler may still say comes too late.
func (e *Engine) giveUp(s *Server) {
	for _, r := range e.remotes.all() {
		for _, j := range r.all() {
			if j.server == s {
				e.answerHead(r.link, wire.Reply{ID: j.id, Outcome: wire.OutcomeCancelled}, j.ctx.deadline)
				e.interrupt(j)
			}
		}
	}
}

// withdraw takes a job out of its queue: then it never runs. Otherwise its
// handler's context ends.
func (e *Engine) withdraw(j *job) bool {
	s := j.server
	s.mu.Lock()
	waiting := s.queue.withdraw(&j.ticket)
	s.settleLocked()
	s.mu.Unlock()
	if !waiting {
		e.interrupt(j)
	}
	return waiting
}

func (e *Engine) interrupt(j *job) {
	e.cfg.Exec.Wake(overlay.ExecKey{Name: "request.cancel", N: j.number}, func() { j.ctx.end(context.Canceled) })
}
