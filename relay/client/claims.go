// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// claim is a registration or a subscription: what the client has at its relay
// until the program ends it, over all sessions.
type claim struct {
	// Immutable.
	id   uint64
	name string // of the cluster, or the pattern
	// frame is what asks for it.
	kind  wire.Kind
	frame []byte
	// granted is told of the relay's yes, each time; lost that the session is
	// over in which it had said so. They must not block.
	granted func(wire.Done)
	lost    func()

	// Guarded by claims.mu.
	first chan error // has room for the relay's first word; nil when that has come

	closing  atomic.Bool
	closed   chan struct{} // closed when close is done
	closeErr error         // set before closed is
}

// claims keeps the relay informed of all claims of a client: it is the shell
// around renewals. All methods may be called concurrently.
type claims struct {
	// Immutable.
	link *link
	log  *zap.Logger

	mu       sync.Mutex
	renewals renewals          // guarded by mu
	all      map[uint64]*claim // guarded by mu
	leaving  map[uint64]*leave // guarded by mu
	timer    overlay.Timer     // guarded by mu; nil = nothing is due
	closed   bool              // guarded by mu
}

// leave is a claim that the relay was told to end.
type leave struct {
	late bool           // the answer to what asked for it comes before
	done chan wire.Done // has room for the answer; closed when the session ended
}

func newClaims(l *link, log *zap.Logger) *claims {
	return &claims{link: l, log: log, all: map[uint64]*claim{}, leaving: map[uint64]*leave{}}
}

// make asks the relay for a new claim and waits for its first word. A session
// that ends before is followed by the next one.
func (s *claims) make(ctx context.Context, c *claim) error {
	c.first = make(chan error, 1)
	first := c.first
	s.mu.Lock()
	s.all[c.id] = c
	s.renewals.add(c.id)
	s.pump()
	s.mu.Unlock()
	said, err := await(ctx, &s.link.presence, first)
	if err == nil {
		return said
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, c.id)
	if s.renewals.remove(c.id) != stateUnknown {
		s.sendLeave(c.id, time.Microsecond)
	}
	return err
}

// end has the relay end a claim, and waits until that is over: until ctx ends,
// then at once. Without a relay there is nothing to do.
func (s *claims) end(ctx context.Context, c *claim) error {
	s.mu.Lock()
	delete(s.all, c.id)
	state := s.renewals.remove(c.id)
	if state != stateKnown && state != stateAsked {
		s.mu.Unlock()
		return nil
	}
	l := &leave{late: state == stateAsked, done: make(chan wire.Done, 1)}
	s.leaving[c.id] = l
	var timeout time.Duration
	if at, ok := ctx.Deadline(); ok {
		timeout = max(at.Sub(s.link.now()), time.Microsecond)
	}
	s.sendLeave(c.id, timeout)
	s.mu.Unlock()
	select {
	case d, ok := <-l.done:
		if !ok {
			return nil
		}
		return notFinished(errorOf(d, c.name))
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving[c.id] == l {
		delete(s.leaving, c.id)
		s.sendLeave(c.id, time.Microsecond)
	}
	return ctx.Err()
}

// close is end and what follows it, once. Who comes later waits for that, until ctx
// ends.
func (s *claims) close(ctx context.Context, c *claim, then func() error) error {
	if c.closing.CompareAndSwap(false, true) {
		c.closeErr = cmp.Or(s.end(ctx, c), then())
		close(c.closed)
	}
	select {
	case <-c.closed:
		return c.closeErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sendLeave tells the relay to end a claim; if that can't be sent, the session is
// over. The caller holds mu, so that it does not overtake what asked for it.
func (s *claims) sendLeave(id uint64, timeout time.Duration) {
	_, _ = s.link.Send(wire.LaneCtl, wire.KindLeave, wire.Leave{ID: id, Timeout: uint64(timeout.Microseconds())}.AppendTo(nil))
}

// answered takes in the relay's answer to what asked for a claim, or ended one.
// It says whether it is about one.
func (s *claims) answered(d wire.Done) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.leaving[d.ID]; l != nil {
		if l.late {
			l.late = false
			return true
		}
		delete(s.leaving, d.ID)
		s.link.wake("client/left", d.ID, func() { l.done <- d })
		return true
	}
	c := s.all[d.ID]
	if c == nil {
		return false
	}
	err := errorOf(d, c.name)
	switch {
	case errors.Is(err, errDraining):
		return true // the next relay is asked
	case err == nil:
		c.granted(d)
	case c.first != nil:
		delete(s.all, c.id)
		s.renewals.remove(c.id)
	default:
		s.log.Warn("the relay does not take it again yet", zap.String("name", c.name), zap.Error(err))
	}
	s.renewals.answered(c.id, err == nil, s.link.now(), s.link.roll())
	if first := c.first; first != nil {
		c.first = nil
		s.link.wake("client/claim", c.id, func() { first <- err })
	}
	s.pump()
	return true
}

// attached is called when a session has begun.
func (s *claims) attached() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pump()
}

// detached is called when a session has ended.
func (s *claims) detached() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, l := range s.leaving {
		s.link.wake("client/left", id, func() { close(l.done) })
		delete(s.leaving, id)
	}
	for _, id := range s.renewals.detached() {
		s.all[id].lost()
	}
}

// pump asks for what is due. The caller holds mu.
func (s *claims) pump() {
	if s.closed || s.link.session.Load() == nil {
		return
	}
	for {
		now := s.link.now()
		ids, again := s.renewals.ask(now)
		if len(ids) == 0 {
			s.arm(now, again)
			return
		}
		for _, id := range ids {
			c := s.all[id]
			if _, err := s.link.Send(wire.LaneCtl, c.kind, c.frame); err != nil {
				s.renewals.answered(id, false, now, s.link.roll())
			}
		}
	}
}

// arm has pump called again. The caller holds mu.
func (s *claims) arm(now, again time.Time) {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if !again.IsZero() {
		s.timer = s.link.clock.AfterFunc("client/claims", again.Sub(now), s.attached)
	}
}

// stop ends what is waited for.
func (s *claims) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// notFinished is why not everything was finished when a claim was ended; a time
// that was over is the program's.
func notFinished(err error) error {
	for _, cause := range []error{context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, cause) {
			return cause
		}
	}
	return err
}
