// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"slices"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// A push or broadcast that was accepted belongs to its member: no link, no
// deadline and no lack of workers ends it, only the end of the member.

// keepLocked notes that a job was accepted.
func (s *Server) keepLocked(j *job) {
	s.accepted++
	s.kept[j] = struct{}{}
}

// acknowledge tells the sender that the member has its message.
func (s *Server) acknowledge(j *job) {
	s.tell(j.remote.link, overlay.LaneRPC, j.ctx.deadline, j.id, &j.seal, result{outcome: wire.OutcomeReply})
}

// startLater tries again to have a job run that no worker was free for.
func (s *Server) startLater(j *job) {
	e := s.engine
	e.cfg.Clock.AfterFunc("request.worker", workerPause, func() {
		if !e.closed.Load() {
			s.start(j)
			return
		}
		s.forget(j)
		s.lose(j)
		if next := s.next(e.now()); next != nil {
			s.start(next)
		}
	})
}

// takeBack undoes keepLocked: nobody was told.
func (s *Server) takeBack(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted--
	delete(s.kept, j)
}

// forget notes that an accepted job is over.
func (s *Server) forget(j *job) {
	s.mu.Lock()
	delete(s.kept, j)
	s.mu.Unlock()
}

// loseLocked forgets the accepted jobs among those that were taken out of the
// queue, and returns the others, in their order: they run.
func (s *Server) loseLocked(out []*ticket) []*job {
	for _, t := range out {
		delete(s.kept, t.job)
	}
	running := make([]*job, 0, len(s.kept))
	for j := range s.kept {
		running = append(running, j)
	}
	slices.SortFunc(running, func(a, b *job) int { return cmp.Compare(a.number, b.number) })
	return running
}

// lose ends an accepted job that never runs.
func (s *Server) lose(j *job) {
	s.engine.drops.Inc(dropAbandoned)
	j.done(s.engine.now())
}
