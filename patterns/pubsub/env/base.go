// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package env

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
	"github.com/arke-mesh/arke/internal/turn"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// Base is what all parts of an Engine share: configuration, clock, counts, and
// the end.
type Base struct {
	// Immutable after New.
	Cfg    Config
	Self   peer.ID
	Text   string // self, as subscribers see it
	Hash   uint64 // self, as picks name it
	start  time.Time
	Random overlay.RandStream // sessions and member ids
	Picks  overlay.RandStream
	Seals  overlay.RandStream

	IDs     atomic.Uint64 // numbers of subscriptions and of those who wait
	Serials serials
	Order   *turn.Turns // of user code
	Counts  Counts
	Drops   drop.Counts[DropReason]
	Signers Signers

	// Lifecycle.
	Ctx    context.Context //nolint:containedctx // the run context: ends in Close
	cancel context.CancelFunc
	WG     sync.WaitGroup
	Mu     sync.Mutex
	Closed bool // guarded by Mu
}

// Counts is what the status tells beside drops.
type Counts struct {
	Published, Copies, Received, Forwarded, Trees, Signatures, Verified atomic.Uint64
}

// NewBase makes one; cfg is valid. Close ends it.
func NewBase(cfg Config) *Base {
	self := cfg.Links.Self()
	b := &Base{
		Cfg: cfg, Self: self, Text: self.String(), Hash: HashNode(string(self)),
		start: cfg.Clock.Now().Add(-1), Random: cfg.Rand.Stream("pubsub"), Picks: cfg.Rand.Stream("pubsub.picks"),
		Seals: cfg.Rand.Stream("pubsub.seal"), Drops: drop.New(DropReasons), Signers: newSigners(), Order: turn.Of(cfg.Exec),
	}
	b.Ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// Now is the engine's clock in ns; never 0.
func (b *Base) Now() int64 { return int64(b.Cfg.Clock.Now().Sub(b.start)) }

// Over is how long p is with the links of now.
func (b *Base) Over(p overlay.Patience) time.Duration {
	trip, _ := b.Cfg.Links.LongestTrip()
	return p.Over(trip)
}

// MustSeal says whether what is published in a group with these keys is sealed.
func (b *Base) MustSeal(keys *security.Cluster) bool { return !keys.Derived() || b.Cfg.SealAlways }

// After runs f after d, unless the engine closes first; Close waits for f.
func (b *Base) After(label string, d time.Duration, f func()) overlay.Timer {
	return b.Cfg.Clock.AfterFunc(label, d, func() {
		if b.Enter() {
			defer b.WG.Done()
			f()
		}
	})
}

// Work has a worker run f, and says whether one was free; Close waits for f.
func (b *Base) Work(key overlay.ExecKey, f func()) bool {
	if !b.Enter() {
		return true
	}
	if !b.Cfg.Exec.Go(key, func() { defer b.WG.Done(); f() }) {
		b.WG.Done()
		return false
	}
	return true
}

// Enter says whether the engine is open, and has Close wait for wg.Done.
func (b *Base) Enter() bool {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if b.Closed {
		return false
	}
	b.WG.Add(1)
	return true
}

// Close ends the run context, and says whether it had not ended before.
func (b *Base) Close() bool {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	first := !b.Closed
	b.Closed = true
	b.cancel()
	return first
}

// Sorted returns the values of a map in the order of what order makes of them.
func Sorted[K comparable, V any, O cmp.Ordered](m map[K]V, order func(V) O) []V {
	return slices.SortedFunc(maps.Values(m), func(a, b V) int { return cmp.Compare(order(a), order(b)) })
}
