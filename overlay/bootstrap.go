// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"
)

// saveAfter is how long a change may wait before the remembered peers are
// written.
const saveAfter = 3 * time.Second

// search looks for peers: it drives the candidates core with dials and timers,
// and remembers who was met where.
type search struct {
	o *Overlay

	// Guarded by mu.
	mu         sync.Mutex
	core       *candidates
	book       *addressBook
	running    bool
	timer      Timer
	timerCount uint64 // which timer counts
	dirty      bool   // the book differs from the file
	saveTimer  Timer  // set until the file is written
}

func newSearch(o *Overlay) *search {
	return &search{
		o:    o,
		core: newCandidates(o.self, o.cfg.Seam.Rand.Stream("overlay/candidates")),
		book: newAddressBook(),
	}
}

// start adds the seeds and the remembered peers, and begins to dial.
func (s *search) start() {
	var known []Candidate
	if file := s.o.cfg.RememberFile; file != "" {
		var err error
		if known, err = readRemembered(file); err != nil {
			s.o.log.Warn("remembered peers can't be read and are ignored", zap.Error(err))
		}
	}
	s.step(func(now time.Time) {
		s.running = true
		for _, a := range s.o.cfg.Seeds {
			s.core.add(now, Candidate{Addrs: []string{a}, Source: SourceSeed})
		}
		for _, c := range slices.Backward(known) {
			s.book.meet(c.Peer, c.Addrs)
		}
		for _, c := range known {
			s.core.add(now, c)
		}
	})
}

// stop ends the search; dials under way end with the overlay's context.
func (s *search) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
	s.setTimer(time.Time{}, time.Time{})
	if s.saveTimer != nil {
		s.saveTimer.Stop()
	}
}

func (s *search) add(c Candidate) {
	s.step(func(now time.Time) { s.core.add(now, c) })
}

func (s *search) up(p peer.ID) {
	s.step(func(time.Time) { s.core.up(p) })
}

func (s *search) down(p peer.ID) {
	s.step(func(now time.Time) { s.core.down(now, p, s.book.of(p)) })
}

// met notes where the peer of a link says it can be reached.
func (s *search) met(l *Link) {
	addrs := l.reachable()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.book.meet(l.peer, addrs) {
		s.changed()
	}
}

// step lets f change the core, and does what the core then wants.
func (s *search) step(f func(now time.Time)) {
	s.mu.Lock()
	now := s.o.clock.Now()
	f(now)
	var dials []dial
	if s.running {
		var wake time.Time
		dials, wake = s.core.poll(now)
		s.setTimer(now, wake)
	}
	s.o.drops.add(dropCandidate, s.core.forgotten)
	s.core.forgotten = 0
	s.mu.Unlock()
	for _, d := range dials {
		s.o.wake("overlay/candidate", d.id, func() {
			s.o.gate.spawn(func() { s.dial(d) })
		})
	}
}

// setTimer has the core polled at wake; zero means not at all. mu is held.
func (s *search) setTimer(now, wake time.Time) {
	s.timerCount++
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if wake.IsZero() {
		return
	}
	count := s.timerCount
	s.timer = s.o.after("overlay/candidates", wake.Sub(now), func() {
		s.step(func(time.Time) {
			if count == s.timerCount {
				s.timer = nil
			}
		})
	})
}

// dial connects to one candidate.
func (s *search) dial(d dial) {
	ctx, cancel := WithTimeout(s.o.ctx, s.o.clock, "overlay/connect", connectTimeout)
	p, err := s.o.transport.Connect(ctx, d.candidate)
	cancel()
	if err != nil {
		s.o.log.Debug("candidate can't be reached", zap.Strings("addrs", d.candidate.Addrs), zap.Error(err))
	}
	s.step(func(now time.Time) {
		s.core.result(now, d.id, p, err)
		if err == nil && p != s.o.self && s.book.meet(p, d.candidate.Addrs) {
			s.changed()
		}
	})
}

// changed has the book written soon. mu is held.
func (s *search) changed() {
	s.dirty = true
	if s.o.cfg.RememberFile != "" && s.saveTimer == nil && s.running {
		s.saveTimer = s.o.after("overlay/remember", saveAfter, s.save)
	}
}

// save writes the remembered peers, if they have changed. One call at a time:
// the timer is set anew only afterwards, and Close waits for it.
func (s *search) save() {
	s.mu.Lock()
	dirty := s.dirty && s.o.cfg.RememberFile != ""
	s.dirty = false
	list := s.book.latest(maxRemembered)
	s.mu.Unlock()
	if dirty {
		if err := writeRemembered(s.o.cfg.RememberFile, list); err != nil {
			s.o.log.Warn("remembered peers can't be written", zap.Error(err))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saveTimer = nil
	if s.dirty {
		s.changed()
	}
}

// reachable lists where the peer can be reached: first the address that we
// did reach it at, then what it says itself.
func (l *Link) reachable() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.known.addrs)
}
