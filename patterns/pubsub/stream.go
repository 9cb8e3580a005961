// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// streamKey names what one source numbers for this node.
type streamKey struct {
	source  peer.ID
	session uint64
	run     uint16
}

// stream is what comes from one source: the shell around its sequence.
type stream struct {
	// Immutable.
	e     *Engine
	key   streamKey
	group string
	root  bool
	text  string            // the source, as subscribers see it
	keys  *security.Cluster // of the group; nil = of each topic's

	mu    sync.Mutex
	seq   sequence[*incoming] // guarded by mu
	steps []step[*incoming]   // guarded by mu; scratch
	subs  []*subscription     // guarded by mu; scratch
	timer overlay.Timer       // guarded by mu; nil = not set
	over  bool                // guarded by mu; a later run has begun
	due   int64               // guarded by mu; when it ends
	last  int64               // guarded by mu
}

// incoming is one message that came.
type incoming struct {
	pub       patterns.Publication
	picks     []wire.Pick
	publisher peer.ID // in the root group
	rank      rank    // likewise
	root      bool
	echo      bool          // this node published it: only its queues still want it
	relay     *wire.Publish // for the root group's nodes, to be passed on; nil = to subscriptions here
}

// stream returns the stream of that key, or nil if there are too many.
func (e *Engine) stream(key streamKey, group string) *stream {
	e.mu.Lock()
	s := e.streams[key]
	fresh := s == nil
	if fresh {
		if e.closed || len(e.streams) >= maxStreams {
			e.mu.Unlock()
			e.drops.Inc(dropStreams)
			e.forgetStreams(int64(idleTime)) // so that there is room for the next one
			return nil
		}
		s = &stream{e: e, key: key, group: group, root: group == rootGroup, text: key.source.String()}
		s.seq = sequence[*incoming]{wait: int64(holeTime), maxHeld: maxHeld, maxBytes: maxHeldBytes}
		if group != rootGroup && group != rootForwards {
			s.keys = e.cfg.Keys(clusterOf(group))
		}
		s.last = e.now()
		before, later := e.runs(key)
		s.mu.Lock() // whoever finds it waits until those before have ended
		e.streams[key] = s
		e.mu.Unlock()
		s.succeed(before, later)
		s.mu.Unlock()
		e.armSweep()
		return s
	}
	e.mu.Unlock()
	return s
}

// offer takes in a message.
func (s *stream) offer(number uint64, size int, in *incoming) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = s.e.now()
	if s.over {
		s.e.drops.Inc(dropLate)
		s.seq.tell(s.last, number)
		s.advance()
		return
	}
	if s.seq.pass(number) {
		s.e.arrived(s, in)
		return
	}
	if !s.seq.offer(s.last, number, size, in) {
		s.e.drops.Inc(dropLate)
		return
	}
	s.advance()
}

// tell takes in how much has been addressed to this node.
func (s *stream) tell(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = s.e.now()
	s.seq.tell(s.last, number)
	s.advance()
}

// advance hands on what can go on. mu is held: nothing that follows waits.
func (s *stream) advance() {
	now := s.e.now()
	s.steps = s.seq.advance(now, s.steps[:0])
	for i := range s.steps {
		if n := s.steps[i].gap; n > 0 {
			s.e.missed(s, n)
		} else {
			s.e.arrived(s, s.steps[i].item)
		}
	}
	clear(s.steps)
	due, ok := s.seq.due()
	if s.timer != nil && (!ok || due != s.due) {
		s.timer.Stop()
		s.timer = nil
	}
	if ok && s.timer == nil {
		s.due = due
		s.timer = s.e.after("pubsub.hole", time.Duration(due-now), s.expire)
	}
}

// expire looks whether a hole has been waited for long enough.
func (s *stream) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = nil
	s.advance()
}

// idle says whether the stream may be forgotten.
func (s *stream) idle(now, silent int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now-s.last > silent
}

// end stops the timer.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
}
