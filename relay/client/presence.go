// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// presence says whether the relay is there, and wakes those who wait for it to
// come. All methods may be called concurrently.
type presence struct {
	// Immutable.
	clock  overlay.Clock
	exec   overlay.Exec
	limit  time.Duration // Config.RelayWait
	target string        // the relay, for people
	closed chan struct{} // closed when it won't come any more

	mu       sync.Mutex
	attached bool      // guarded by mu; a connection carries the session
	waiters  []*waiter // guarded by mu
	waited   uint64    // guarded by mu; how many there were
	lastErr  error     // guarded by mu; why it is not attached
}

// wake runs f, which signals a goroutine.
func (p *presence) wake(name string, n uint64, f func()) {
	p.exec.Wake(overlay.ExecKey{Name: name, N: n}, f)
}

// gone says that the relay is; nil while it is not.
func (p *presence) gone() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.attached {
		return nil
	}
	//nolint:errorlint // the last attempt's error is told, and not to be matched
	return fmt.Errorf("%w: that at %s has not come back within %v (%v)", ErrNoRelay, p.target, p.limit, p.lastErr)
}

// limited is ctx with the default timeout, if it has no deadline of its own.
func (p *presence) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return overlay.WithTimeout(ctx, p.clock, "client/deadline", defaultTimeout)
}

// waiter is who waits for the relay to come, or to go.
type waiter struct {
	n       uint64
	changed chan struct{} // has room for one
}

// watch tells w from now on when anything about the relay has changed.
func (p *presence) watch() *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waited++
	w := &waiter{n: p.waited, changed: make(chan struct{}, 1)}
	p.waiters = append(p.waiters, w)
	return w
}

func (p *presence) unwatch(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiters = slices.DeleteFunc(p.waiters, func(one *waiter) bool { return one == w })
}

// here says whether the relay is there now.
func (p *presence) here() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.attached
}

// change notes that the relay is there, or why it is not, and tells who waits, in
// the order in which they came.
func (p *presence) change(attached bool, err error) {
	p.mu.Lock()
	p.attached, p.lastErr = attached, err
	waiters := slices.Clone(p.waiters)
	p.mu.Unlock()
	for _, w := range waiters {
		p.wake("client/changed", w.n, func() {
			select {
			case w.changed <- struct{}{}:
			default:
			}
		})
	}
}

// await waits for an answer of the relay, or for a session if answer is nil: until
// ctx ends, and no longer than RelayWait while the relay is gone. Errors are ctx's,
// patterns.ErrUnreachable and patterns.ErrClosed.
func await[T any](ctx context.Context, p *presence, answer <-chan T) (got T, err error) {
	var patience chan struct{}
	w := p.watch()
	defer p.unwatch(w)
	for {
		attached := p.here()
		switch {
		case attached && answer == nil:
			return got, nil
		case attached:
			patience = nil
		case patience == nil:
			patience = make(chan struct{})
			timer := p.clock.AfterFunc("client/patience", p.limit, func() { close(patience) })
			defer timer.Stop()
		}
		select {
		case got = <-answer:
			return got, nil
		case <-w.changed:
		case <-patience:
			return got, fmt.Errorf("%w: %w", patterns.ErrUnreachable, p.gone())
		case <-ctx.Done():
			return got, ctx.Err()
		case <-p.closed:
			return got, patterns.ErrClosed
		}
	}
}

// arrival waits for the relay as await does, limited; an error that is ctx's is a
// DeadlineError.
func (p *presence) arrival(ctx context.Context) error {
	ctx, cancel := p.limited(ctx)
	defer cancel()
	_, err := await[struct{}](ctx, p, nil)
	if err != nil && ctx.Err() != nil {
		err = &patterns.DeadlineError{Cause: cause(ctx)}
	}
	return err
}

// patience ends the calls under way when a relay has been gone for too long: one
// timer for each time that it goes. The zero value is ready.
type patience struct {
	mu    sync.Mutex
	timer overlay.Timer // guarded by mu; nil = the relay is there, or time is up
}

// begin has over called after d, unless it is to be already, or end is called.
func (p *patience) begin(clock overlay.Clock, d time.Duration, over func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		return
	}
	var timer overlay.Timer
	timer = clock.AfterFunc("client/wait", d, func() {
		p.mu.Lock()
		current := p.timer == timer
		if current {
			p.timer = nil
		}
		p.mu.Unlock()
		if current {
			over()
		}
	})
	p.timer = timer
}

// end is called when the relay is back.
func (p *patience) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

// down is why nothing can be sent without a session.
func (p *presence) down() error {
	select {
	case <-p.closed:
		return overlay.ErrClosed
	default:
		return overlay.ErrLinkDown
	}
}
