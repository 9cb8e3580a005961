// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"

	"github.com/arke-mesh/arke/patterns"
)

// take is the turn of a goroutine that calls a method of t.
func (t *Tunnel) take(name string) { t.engine.turns.Take(t.engine.cfg.Exec, name, t.number) }

// enter waits until it is the goroutine's turn to send or receive. It returns
// with mu held, unless it returns an error.
func (t *Tunnel) enter(ctx context.Context, s *turnstile, name string) error {
	t.take(name)
	t.mu.Lock()
	wait := s.enter()
	if wait == nil {
		return nil
	}
	t.mu.Unlock()
	select {
	case <-wait:
		t.mu.Lock()
		return nil
	case <-ctx.Done():
	}
	t.take(name)
	t.mu.Lock()
	switch {
	case s.forget(wait):
		t.mu.Unlock()
	case s == &t.senders: // it was the caller's turn: an end may have relied on it
		t.leaveSending()
	default:
		t.leave(s, name)
	}
	return late(ctx)
}

// leave lets the next goroutine in. mu is held, and released.
func (t *Tunnel) leave(s *turnstile, name string) {
	next := s.leave()
	t.unlock(true)
	if next != nil {
		t.wake(name+".next", func() { close(next) })
	}
}

// wait releases mu until the bell rings or ctx ends; waiting is noted in flag.
// It returns with mu held.
func (t *Tunnel) wait(ctx context.Context, flag *bool, at **bell, name string) error {
	*flag = true
	if *at == nil {
		*at = newBell()
	}
	b := *at
	t.unlock(true)
	select {
	case <-b.c:
		t.mu.Lock()
		return nil
	case <-ctx.Done():
	}
	t.take(name)
	t.mu.Lock()
	*flag = false
	return late(ctx)
}

// late says that ctx has ended.
func late(ctx context.Context) error {
	return &patterns.DeadlineError{Cause: ctx.Err(), MaybeRan: true}
}
