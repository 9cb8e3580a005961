// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"errors"
	"sync"
	"time"

	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim/link"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
)

// Stack is a network of whole nodes in virtual time. Methods may be called
// concurrently, inside the bubble.
type Stack struct {
	// Immutable after New.
	cfg Config
	net *network

	mu     sync.Mutex
	closed bool                          // guarded by mu
	lives  []*participant                // guarded by mu; those that were not closed
	files  map[string]*security.Network  // guarded by mu; by encoded network file
	timers map[time.Duration]*time.Timer // guarded by mu; of At, not fired yet, by their time

	calls sync.WaitGroup // functions that At runs
}

var _ play.Level = (*Stack)(nil)

// New makes an empty network. It must be called inside a testing/synctest
// bubble, which must end with Close.
func New(cfg Config) (*Stack, error) {
	if cfg.Link.Latency < 0 || cfg.Link.Jitter < 0 {
		return nil, errors.New("stack: Config.Link is negative")
	}
	cfg = cfg.withDefaults()
	return &Stack{
		cfg: cfg, net: newNetwork(cfg.Seed, cfg.Link),
		files: make(map[string]*security.Network), timers: make(map[time.Duration]*time.Timer),
	}, nil
}

// Now implements play.Level.
func (s *Stack) Now() time.Duration { return s.net.now() }

// At implements play.Level. What is simultaneous begins in the order of the
// calls, a nanosecond apart: a bubble's timers that fire at one instant do so
// in an order that does not repeat.
func (s *Stack) At(at time.Duration, _ string, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	at = max(at, s.Now())
	for s.timers[at] != nil {
		at++
	}
	s.timers[at] = time.AfterFunc(at-s.Now(), func() {
		s.mu.Lock()
		delete(s.timers, at)
		if s.closed {
			s.mu.Unlock()
			return
		}
		s.calls.Add(1)
		s.mu.Unlock()
		defer s.calls.Done()
		f()
	})
}

// Sleep implements play.Level.
func (s *Stack) Sleep(until time.Duration) { time.Sleep(until - s.Now()) }

// Note implements play.Level: there is no trace, as it would not repeat.
func (*Stack) Note(string, string) {}

// SetLinks implements play.Level.
func (s *Stack) SetLinks(of func(from, to string) scenario.Link) {
	s.net.setModels(func(from, to string) link.Model { return modelOf(of(from, to)) })
}

// Close implements play.Level.
func (s *Stack) Close() error {
	s.mu.Lock()
	s.closed = true
	for _, t := range s.timers {
		t.Stop()
	}
	clear(s.timers)
	lives := s.lives
	s.mu.Unlock()
	s.net.resumeAll()
	errs := make([]error, len(lives))
	var wg sync.WaitGroup
	for i, p := range lives {
		wg.Go(func() { errs[i] = p.Close() })
	}
	wg.Wait()
	s.calls.Wait()
	return errors.Join(errs...)
}
