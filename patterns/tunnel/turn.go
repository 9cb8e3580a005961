// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"sync"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// turn is where a goroutine waits that comes from user code: user code calls
// whenever it likes, in the simulator often several goroutines at the same
// instant, and then who is first must not be up to the scheduler. In production
// nobody waits.
type turn struct {
	wg   sync.WaitGroup
	done func() // wg.Done
}

// turns keeps them for reuse: a turn is taken for each message.
type turns struct{ p sync.Pool }

// take returns in a step of its own, in the order of the key.
func (p *turns) take(x overlay.Exec, name string, n uint64) {
	t, ok := p.p.Get().(*turn)
	if !ok {
		t = &turn{}
		t.done = t.wg.Done
	}
	t.wg.Add(1)
	x.Wake(overlay.ExecKey{Name: name, N: n}, t.done)
	t.wg.Wait()
	p.p.Put(t)
}

// take is the turn of a goroutine that calls a method of t.
func (t *Tunnel) take(name string) { t.engine.turns.take(t.engine.cfg.Exec, name, t.number) }

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
	if !s.forget(wait) {
		t.leave(s, name)
	} else {
		t.mu.Unlock()
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
