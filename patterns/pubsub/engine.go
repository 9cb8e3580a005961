// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/internal/turn"
	"github.com/arke-mesh/arke/patterns/pubsub/inbox"
	"github.com/arke-mesh/arke/patterns/pubsub/match"
	"github.com/arke-mesh/arke/security"
)

// Engine is the topics of one node: what it publishes, what it listens to, and
// what it forwards. All methods may be called concurrently.
type Engine struct {
	// Immutable after New.
	cfg    Config
	self   peer.ID
	text   string // self, as subscribers see it
	hash   uint64 // self, as picks name it
	log    *zap.Logger
	start  time.Time
	random overlay.RandStream // sessions and member ids
	picks  overlay.RandStream
	seals  overlay.RandStream
	hops   overlay.RandStream // ids of pipes

	ids     atomic.Uint64 // numbers of subscriptions and of those who wait
	serial  atomic.Uint64 // numbers of sealed messages
	ranks   atomic.Uint64 // serial of the last message to the root group
	turns   atomic.Uint64 // of queues, among local subscriptions
	order   *turn.Turns   // of user code
	counts  counts
	drops   drop.Counts[dropReason]
	inboxes *inbox.Set
	plain   match.Index[*subscription] // of patterns that begin with a word
	root    match.Index[*subscription] // of the others

	// Guarded by mu, which is never held while another lock is taken.
	mu       sync.Mutex
	subs     map[uint64]*subscription
	groups   map[string]*group
	courses  map[string]*course // what is published here, by group
	streams  map[streamKey]*stream
	lines    map[peer.ID]*line // of the publishers that the root group hears
	legs     map[legKey]*legs
	pipes    map[peer.ID]*pipe
	inlets   map[peer.ID]*inlet
	upward   *upward // to the root group's forwarders; nil = nothing is published
	sweeping overlay.Timer
	closed   bool

	// Lifecycle.
	ctx    context.Context //nolint:containedctx // the run context: ends in Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// counts is what the status tells beside drops.
type counts struct {
	published, copies, received, forwarded, trees atomic.Uint64
}

// New checks cfg and registers with the links; nothing runs yet, and nothing
// needs to be started. Call it before the overlay is started, and after the
// Directory was made.
func New(cfg Config) (*Engine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	set, err := inbox.NewSet(inbox.SetConfig{Exec: cfg.Exec, Clock: cfg.Clock, Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	self := cfg.Links.Self()
	e := &Engine{
		cfg: cfg, self: self, text: self.String(), hash: hashNode(string(self)), log: cfg.Logger.Named("pubsub"),
		start: cfg.Clock.Now().Add(-1), random: cfg.Rand.Stream("pubsub"), picks: cfg.Rand.Stream("pubsub.picks"),
		seals: cfg.Rand.Stream("pubsub.seal"), hops: cfg.Rand.Stream("pubsub.pipe"), inboxes: set, drops: drop.New(dropReasons), order: turn.Of(cfg.Exec),
		subs: make(map[uint64]*subscription), groups: make(map[string]*group), courses: make(map[string]*course),
		streams: make(map[streamKey]*stream), lines: make(map[peer.ID]*line), legs: make(map[legKey]*legs), pipes: make(map[peer.ID]*pipe),
		inlets: make(map[peer.ID]*inlet),
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	cfg.Links.Subscribe(e.handlePeerEvent)
	cfg.Links.Handle(wire.KindPublish, e.numbered(e.handlePublish))
	cfg.Links.Handle(wire.KindPublishMark, e.numbered(e.handleMark))
	cfg.Links.Handle(wire.KindPath, e.numbered(e.handlePath))
	cfg.Links.Handle(wire.KindPathLost, e.numbered(e.handlePathLost))
	cfg.Links.Handle(wire.KindPublishPart, e.numbered(e.handlePart))
	cfg.Links.Handle(wire.KindPublishResume, e.handleResume)
	cfg.Links.Handle(wire.KindPublishAck, e.handleAck)
	return e, nil
}

// now is the engine's clock in ns; never 0.
func (e *Engine) now() int64 { return int64(e.cfg.Clock.Now().Sub(e.start)) }

// mustSeal says whether what is published in a group with these keys is sealed.
func (e *Engine) mustSeal(keys *security.Cluster) bool { return !keys.Derived() || e.cfg.SealAlways }

// after runs f after d, unless the engine closes first; Close waits for f.
func (e *Engine) after(label string, d time.Duration, f func()) overlay.Timer {
	return e.cfg.Clock.AfterFunc(label, d, func() {
		if e.enter() {
			defer e.wg.Done()
			f()
		}
	})
}

// enter says whether the engine is open, and has Close wait for wg.Done.
func (e *Engine) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.wg.Add(1)
	return true
}

func (e *Engine) wakeAll(ws []*watcher) {
	for _, w := range ws {
		e.cfg.Exec.Wake(overlay.ExecKey{Name: "pubsub.room", N: w.id}, w.wake)
	}
}

// sorted returns the values of a map in the order of their keys, or of what
// order makes of them.
func sorted[K comparable, V any, O cmp.Ordered](m map[K]V, order func(V) O) []V {
	out := make([]V, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b V) int { return cmp.Compare(order(a), order(b)) })
	return out
}
