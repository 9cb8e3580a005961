// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

// When a source begins to count anew for this node, what it counted before may
// be under way still, on another path. It must not come after what is new.

// lookBack is how many runs of one source are looked at.
const lookBack = 4

// runs returns the streams of the same source and session before and after k,
// the oldest first. e.mu is held.
func (e *Engine) runs(k streamKey) (before []*stream, later bool) {
	for i := uint16(lookBack); i > 0; i-- {
		old, next := k, k
		old.run, next.run = k.run-i, k.run+i
		if s := e.streams[old]; s != nil {
			before = append(before, s)
		}
		later = later || e.streams[next] != nil
	}
	return before, later
}

// succeed ends the runs before s; if there is a later one, s has ended already.
// s.mu is held.
func (s *stream) succeed(before []*stream, later bool) {
	for _, old := range before {
		old.mu.Lock()
		old.retire()
		old.mu.Unlock()
	}
	if later {
		s.retire()
	}
}

// retire hands on what waits; what is missing is not waited for, and what
// comes later counts as missing, too. mu is held.
func (s *stream) retire() {
	s.over = true
	s.seq.wait = 0
	s.advance()
}
