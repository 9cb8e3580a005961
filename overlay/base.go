// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/budget"
	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/internal/gate"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay/session"
)

// base is what all parts of an overlay stand on: the seam, the link clock, the
// counters, and the end of everything.
type base struct {
	// Immutable after New.
	cfg       Config
	self      peer.ID
	transport Transport
	clock     Clock
	rand      RandStream
	log       *zap.Logger
	epoch     time.Time  // where the link clock begins
	instance  instanceID // of this start

	// Used concurrently.
	drops   drop.Counts[dropReason]
	traffic traffic
	memory
	rounds    atomic.Pointer[session.Rounds] // of all links; nil = each session has its own
	standby   *session.Standby
	sessions  atomic.Uint64
	lastStamp atomic.Uint64
	refused   refusals

	// Lifecycle.
	ctx      context.Context //nolint:containedctx // the run context: ends in Close
	cancel   context.CancelCauseFunc
	gate     gate.Gate
	departed atomic.Bool // Shutdown or Close has begun
}

// memory is where the messages of all links lie.
type memory struct {
	partials *budget.Budget[peer.ID] // those that have arrived in part, in bytes
	chunks   session.Pool
	bodies   wire.Bodies
}

// leaving says whether Shutdown or Close has begun.
func (b *base) leaving() bool { return b.departed.Load() }

// LinkTime expresses t on this node's link clock: nanoseconds since the
// overlay was made, at least 1, so that 0 can mean none. It is what goes on
// the wire.
func (b *base) LinkTime(t time.Time) uint64 { return uint64(max(1, t.Sub(b.epoch))) }

func (b *base) now() uint64 { return b.LinkTime(b.clock.Now()) }

// wall is this node's wall clock as peers are told: ms since 1970, never 0.
func (b *base) wall() int64 { return max(1, b.clock.Now().UnixMilli()) }

// stamp is the link clock for a Hello or a question: now, but later than every
// stamp before.
func (b *base) stamp() uint64 {
	for {
		last := b.lastStamp.Load()
		next := max(b.now(), last+1)
		if b.lastStamp.CompareAndSwap(last, next) {
			return next
		}
	}
}

func (b *base) nextSession() uint64 { return b.sessions.Add(1) }

// wake runs f, which signals a goroutine, by the seam's rules.
func (b *base) wake(name string, n uint64, f func()) {
	b.cfg.Seam.Exec.Wake(ExecKey{Name: name, N: n}, f)
}

// after runs f after d, unless the overlay closes first; Close waits for f.
func (b *base) after(label string, d time.Duration, f func()) Timer {
	return b.clock.AfterFunc(label, d, func() {
		if b.gate.Enter() {
			defer b.gate.Leave()
			f()
		}
	})
}

// repeated is what is done again and again.
type repeated struct {
	mu    sync.Mutex
	timer Timer // guarded by mu; nil = not started
	over  bool  // likewise
}

// start has f run each time that d has passed, until stop.
func (r *repeated) start(b *base, label string, d time.Duration, f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.timer = b.after(label, d, func() {
			f()
			r.start(b, label, d, f)
		})
	}
}

func (r *repeated) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over = true; r.timer != nil {
		r.timer.Stop()
	}
}

// gatedClock is the clock of what belongs to the overlay: Close waits for what its
// timers do, and they do nothing afterwards.
type gatedClock struct{ b *base }

// Now implements Clock.
func (c gatedClock) Now() time.Time { return c.b.clock.Now() }

// AfterFunc implements Clock.
func (c gatedClock) AfterFunc(label string, d time.Duration, f func()) Timer {
	return c.b.after(label, d, f)
}
