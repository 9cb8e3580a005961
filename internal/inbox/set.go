// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/internal/turn"
	"github.com/arke-mesh/arke/overlay"
)

const (
	// batch is how many messages and gaps one inbox gets a worker for while
	// others stand in line for one.
	batch = 64
	// retryTime is when a worker is asked for again if there was none and no
	// inbox has one.
	retryTime = 10 * time.Millisecond
)

// Set is the inboxes of one node: they share its workers. All methods may be
// called concurrently.
type Set struct {
	// Immutable after NewSet.
	exec    overlay.Exec
	clock   overlay.Clock
	workers int
	order   *turn.Turns // of workers: in the simulator, where several come at one instant
	log     *zap.Logger

	drops  drop.Counts[dropReason]
	panics atomic.Uint64

	mu      sync.Mutex
	working int           // guarded by mu; workers that are at inboxes
	line    line          // guarded by mu; inboxes without a worker
	retry   overlay.Timer // guarded by mu; nil = not set
	closed  bool          // guarded by mu
}

// NewSet returns an empty set.
func NewSet(c SetConfig) (*Set, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &Set{exec: c.Exec, clock: c.Clock, workers: c.Workers, order: turn.Of(c.Exec), log: c.Logger.Named("inbox"), drops: drop.New(dropReasons)}, nil
}

// New returns an empty inbox, which costs memory and nothing else until
// something is put into it.
func (s *Set) New(c Config) (*Inbox, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	o := c.Options.WithDefaults()
	return &Inbox{
		set: s, subscriber: c.Subscriber, key: c.Key,
		backlog: backlog{limits: limits{length: o.QueueLength, bytes: o.QueueBytes, overflow: o.Overflow}},
	}, nil
}

// Close stops asking for workers. The inboxes must have been closed.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.retry != nil {
		s.retry.Stop()
	}
}

// SetStatus counts since NewSet, over all inboxes.
type SetStatus struct {
	Drops   map[string]uint64 `json:"drops"`   // messages, by reason
	Panics  uint64            `json:"panics"`  // of subscribers
	Working int               `json:"working"` // workers that are at inboxes now
	InLine  int               `json:"in_line"` // inboxes that wait for a worker
}

// Status describes the set.
func (s *Set) Status() SetStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return SetStatus{Drops: s.drops.ByName(), Panics: s.panics.Load(), Working: s.working, InLine: s.line.n}
}

// DropNames are the reasons that SetStatus.Drops counts.
func DropNames() []string { return drop.Names(dropReasons) }

// start finds a worker for b, or has it stand in line, where whoever is free
// first gets it: at the end, or in front if it stood there before.
func (s *Set) start(b *Inbox, front bool) bool {
	s.mu.Lock()
	free := s.working < s.workers
	if free {
		s.working++
	}
	s.mu.Unlock()
	if free && s.exec.Go(overlay.ExecKey{Name: "inbox.serve", N: b.key}, func() { s.work(b) }) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if free {
		s.working--
	}
	if front {
		s.line.pushFront(b)
	} else {
		s.line.push(b)
	}
	if s.retry == nil && !s.closed {
		s.retry = s.clock.AfterFunc("inbox.retry", retryTime, s.again)
	}
	return false
}

// again finds workers for those in line.
func (s *Set) again() {
	s.mu.Lock()
	s.retry = nil
	n := s.line.n
	s.mu.Unlock()
	for range n {
		s.mu.Lock()
		b := s.line.pop()
		s.mu.Unlock()
		if b == nil || !s.start(b, true) {
			return
		}
	}
}

// work is one worker: it serves b, and then whoever stands in line.
func (s *Set) work(b *Inbox) {
	for b != nil {
		b = s.serve(b)
	}
}

// serve delivers what b has until nothing is left, or others had to wait long
// enough. It returns who is next.
func (s *Set) serve(b *Inbox) (next *Inbox) {
	for n := 1; ; n++ {
		p, g, ok := b.take()
		if !ok {
			return s.leave()
		}
		b.deliver(p, g)
		s.order.Take("inbox.next", b.key)
		if n%batch == 0 {
			if next := s.swap(b); next != b {
				return next
			}
		}
	}
}

// leave returns who gets the worker; nil if it is not needed any more.
func (s *Set) leave() *Inbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.line.pop()
	if next == nil {
		s.working--
	}
	return next
}

// swap has b stand in line behind the others, if there are any, and returns
// who is first.
func (s *Set) swap(b *Inbox) *Inbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.push(b)
	return s.line.pop()
}
