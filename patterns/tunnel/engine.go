// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/internal/turn"
	"github.com/arke-mesh/arke/patterns/request"
)

// Engine is the tunnel pattern of one node: those it opens and those of its
// members. All methods may be called concurrently.
type Engine struct {
	// Immutable after New.
	cfg    Config
	self   peer.ID
	log    *zap.Logger
	start  time.Time
	random overlay.RandStream
	atOnce context.Context //nolint:containedctx // has ended: who sends with it does not wait
	ctx    context.Context //nolint:containedctx // ends with the engine
	stop   context.CancelFunc

	ids      atomic.Uint64 // of tunnels opened here: the last one
	numbers  atomic.Uint64 // of all tunnels: the last one
	handlers atomic.Int64  // that run
	frames   frames
	buffers  buffers
	turns    turn.Turns
	drops    drop.Counts[dropReason]

	mu       sync.RWMutex // guards what follows
	remotes  map[peer.ID]*remote
	openings map[uint64]*opening // by id
	members  map[cluster.MemberID]*member
	mine     int           // tunnels opened here
	none     chan struct{} // closed when there is none of them; nil = nobody waits
	purse    purse
	fresh    []fresh
	draining bool

	// Lifecycle.
	closed  bool           // guarded by mu
	running sync.WaitGroup // handlers, outlets and timers at work
}

var _ request.Acceptor = (*Engine)(nil)

// New checks cfg and registers with the links; nothing runs yet, and nothing
// needs to be started. Call it before the overlay is started.
func New(cfg Config) (*Engine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	e := &Engine{
		cfg:      cfg,
		self:     cfg.Links.Self(),
		log:      cfg.Logger.Named("tunnel"),
		start:    cfg.Clock.Now(),
		random:   cfg.Rand.Stream("tunnel.seal"),
		remotes:  make(map[peer.ID]*remote),
		openings: make(map[uint64]*opening),
		members:  make(map[cluster.MemberID]*member),
		purse:    purse{bytes: cfg.BufferBytes},
		drops:    drop.New(dropReasons),
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	e.atOnce = ended
	cfg.Links.Subscribe(e.handlePeerEvent)
	cfg.Links.HandleLent(wire.KindTunnelData, e.handleData)
	for _, k := range [...]wire.Kind{wire.KindTunnelCredit, wire.KindTunnelEnd, wire.KindTunnelReset} {
		cfg.Links.Handle(k, e.handle(k))
	}
	return e, nil
}

// Stop ends everything at once: all tunnels end with patterns.ErrClosed here,
// and at the other side when the links go. It does not wait. It is idempotent.
func (e *Engine) Stop() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	for _, t := range e.tunnelsOf(func(*Tunnel) bool { return true }) {
		t.mu.Lock()
		t.fail(patterns.ErrClosed, false)
		t.unlock(true)
	}
	e.stop()
}

// Close is Stop, and waits for the handlers to return, so it must not be called
// by one.
func (e *Engine) Close() error {
	e.Stop()
	e.running.Wait()
	return nil
}

// now is the engine's clock in ns.
func (e *Engine) now() int64 { return int64(e.cfg.Clock.Now().Sub(e.start)) }

func (e *Engine) wake(name string, n uint64, f func()) {
	e.cfg.Exec.Wake(overlay.ExecKey{Name: name, N: n}, f)
}

// begins counts something that runs, unless the engine is closed.
func (e *Engine) begins() bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if !e.closed {
		e.running.Add(1)
	}
	return !e.closed
}

// exec has a worker run f, if one is free.
func (e *Engine) exec(name string, n uint64, f func()) bool {
	if !e.begins() {
		return false
	}
	ok := e.cfg.Exec.Go(overlay.ExecKey{Name: name, N: n}, func() {
		defer e.running.Done()
		f()
	})
	if !ok {
		e.running.Done()
	}
	return ok
}

// work has a worker run f, as soon as one is free.
func (e *Engine) work(name string, n uint64, f func()) {
	if !e.exec(name, n, f) {
		e.later(name, pumpPause, func() { e.work(name, n, f) })
	}
}

// later calls f on another goroutine, unless the engine is closed by then.
func (e *Engine) later(label string, d time.Duration, f func()) {
	if e.ctx.Err() != nil {
		return
	}
	e.cfg.Clock.AfterFunc(label, d, func() {
		if e.begins() {
			defer e.running.Done()
			f()
		}
	})
}

// grow, shrink and giveBack ask the purse.
func (e *Engine) grow(size int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.purse.grow(size)
}

func (e *Engine) shrink(size int) int {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.purse.shrink(size)
}

func (e *Engine) giveBack(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.purse.close(n)
}

// keep takes from the purse what is there already, whatever is left in it.
func (e *Engine) keep(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.purse.keep(n)
}

// memberIDs lists the members that have tunnels, in order.
func (e *Engine) memberIDs() []cluster.MemberID {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return slices.SortedFunc(maps.Keys(e.members), cmp.Compare[cluster.MemberID])
}
