// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/turn"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// base is what all parts of an Engine share: configuration, clock, counts, and
// the end.
type base struct {
	// Immutable after New.
	cfg    Config
	self   peer.ID
	text   string // self, as subscribers see it
	hash   uint64 // self, as picks name it
	start  time.Time
	random overlay.RandStream // sessions and member ids
	picks  overlay.RandStream
	seals  overlay.RandStream

	ids     atomic.Uint64 // numbers of subscriptions and of those who wait
	serials serials
	order   *turn.Turns // of user code
	counts  counts
	drops   drop.Counts[dropReason]
	signers signers

	// Lifecycle.
	ctx    context.Context //nolint:containedctx // the run context: ends in Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	mu     sync.Mutex
	closed bool // guarded by mu
}

// counts is what the status tells beside drops.
type counts struct {
	published, copies, received, forwarded, trees, signatures, verified atomic.Uint64
}

func newBase(cfg Config) *base {
	self := cfg.Links.Self()
	b := &base{
		cfg: cfg, self: self, text: self.String(), hash: hashNode(string(self)),
		start: cfg.Clock.Now().Add(-1), random: cfg.Rand.Stream("pubsub"), picks: cfg.Rand.Stream("pubsub.picks"),
		seals: cfg.Rand.Stream("pubsub.seal"), drops: drop.New(dropReasons), signers: newSigners(), order: turn.Of(cfg.Exec),
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// now is the engine's clock in ns; never 0.
func (b *base) now() int64 { return int64(b.cfg.Clock.Now().Sub(b.start)) }

// atLeast is how long something is waited for that usually takes no longer than d: so
// many of the longest round trips, if that is more.
func (b *base) atLeast(d time.Duration, trips int) time.Duration {
	return max(d, time.Duration(trips)*b.cfg.Links.LongestTrip())
}

// keysOf returns those of the group of that name.
func (b *base) keysOf(group string) groupKeys {
	k := groupKeys{of: b.cfg.Keys, wide: clusterOf(group), always: b.cfg.SealAlways}
	if _, brought := name.CutRef(group); brought == "" {
		k.own = k.of(k.wide)
	}
	return k
}

// mustSeal says whether what is published in a group with these keys is sealed.
func (b *base) mustSeal(keys *security.Cluster) bool { return !keys.Derived() || b.cfg.SealAlways }

// after runs f after d, unless the engine closes first; Close waits for f.
func (b *base) after(label string, d time.Duration, f func()) overlay.Timer {
	return b.cfg.Clock.AfterFunc(label, d, func() {
		if b.enter() {
			defer b.wg.Done()
			f()
		}
	})
}

// work has a worker run f, and says whether one was free; Close waits for f.
func (b *base) work(key overlay.ExecKey, f func()) bool {
	if !b.enter() {
		return true
	}
	if !b.cfg.Exec.Go(key, func() { defer b.wg.Done(); f() }) {
		b.wg.Done()
		return false
	}
	return true
}

// enter says whether the engine is open, and has Close wait for wg.Done.
func (b *base) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.wg.Add(1)
	return true
}

// close ends the run context, and says whether it had not ended before.
func (b *base) close() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.closed
	b.closed = true
	b.cancel()
	return first
}

// sorted returns the values of a map in the order of what order makes of them.
func sorted[K comparable, V any, O cmp.Ordered](m map[K]V, order func(V) O) []V {
	return slices.SortedFunc(maps.Values(m), func(a, b V) int { return cmp.Compare(order(a), order(b)) })
}

// wake has those who wait look again.
func (b *base) wake(ws []*waiter) {
	for _, w := range ws {
		b.cfg.Exec.Wake(overlay.ExecKey{Name: "pubsub.room", N: w.id}, w.wake)
	}
}
