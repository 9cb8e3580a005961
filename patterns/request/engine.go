// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/internal/turn"
	"github.com/arke-mesh/arke/security"
)

// never is a time, in ns of the engine's clock, that does not come.
const never = math.MaxInt64

// Engine is the request pattern of one node: its callers and its members. All
// methods may be called concurrently.
type Engine struct {
	// Immutable after New.
	cfg    Config
	self   peer.ID
	log    *zap.Logger
	start  time.Time
	random overlay.RandStream // salts of seals

	// Callers.
	ids     atomic.Uint64 // the last request id
	sent    atomic.Uint64
	retried atomic.Uint64
	turns   turn.Turns
	pending pending
	routes  table[string, *route]

	// Members.
	members   registry
	jobs      atomic.Uint64 // the last job's number
	lastJob   atomic.Int64  // when the last request came
	lastLeave atomic.Int64  // when the last member began to leave; 0 = none did
	refusals  atomic.Int64  // that wait for room in a lane
	draining  atomic.Bool

	remotes table[peer.ID, *remote]
	drops   drop.Counts[dropReason]

	// Lifecycle.
	closed   atomic.Bool
	mu       sync.Mutex
	sweeping overlay.Timer // guarded by mu; nil while nothing is kept
}

// New checks cfg and registers with the links; nothing runs yet, and nothing
// needs to be started. Call it before the overlay is started, and after the
// Directory was made, so that the Directory hears of a lost link first.
func New(cfg Config) (*Engine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	e := &Engine{
		cfg:    cfg,
		self:   cfg.Links.Self(),
		log:    cfg.Logger.Named("request"),
		start:  cfg.Clock.Now().Add(-1), // so that 0 is never a time
		random: cfg.Rand.Stream("request.seal"),
		drops:  drop.New(dropReasons),
	}
	cfg.Links.Subscribe(e.handlePeerEvent)
	cfg.Links.HandleLent(wire.KindRequest, e.handleRequest)
	cfg.Links.Handle(wire.KindReply, e.handleReply)
	cfg.Links.Handle(wire.KindCancel, e.handleCancel)
	return e, nil
}

// Close ends everything at once: requests under way fail, members are gone,
// their handlers' contexts end. It waits for the handlers to return, so it must
// not be called by one. It is idempotent.
func (e *Engine) Close() error {
	e.closed.Store(true)
	for _, a := range e.pending.collect(true, func(*attempt) bool { return true }) {
		e.post(a, event{what: eventClosed, attempt: a})
	}
	servers := e.members.all()
	for _, s := range servers {
		s.abandon()
	}
	for _, s := range servers {
		<-s.idle
	}
	e.mu.Lock()
	if e.sweeping != nil {
		e.sweeping.Stop()
	}
	e.mu.Unlock()
	e.routes.sweep(never, 0)
	e.remotes.sweep(never, 0)
	return nil
}

// now is the engine's clock in ns.
func (e *Engine) now() int64 { return int64(e.cfg.Clock.Now().Sub(e.start)) }

// remote returns what is kept for a peer; putRemote it afterwards.
func (e *Engine) remote(id peer.ID) *remote {
	r, created := e.remotes.get(id, func() *remote { return newRemote(id, e.cfg.Links.Link(id)) })
	if created {
		e.armSweep()
	}
	return r
}

func (e *Engine) putRemote(r *remote, now int64) {
	e.remotes.put(r, now)
	if e.closed.Load() {
		e.remotes.sweep(never, 0)
	}
}

// armSweep has the tables looked through from time to time while they hold
// something.
func (e *Engine) armSweep() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sweeping == nil && !e.closed.Load() {
		e.sweeping = e.cfg.Clock.AfterFunc("request.sweep", sweepTime, e.sweep)
	}
}

func (e *Engine) sweep() {
	e.mu.Lock()
	e.sweeping = nil
	e.mu.Unlock()
	if e.closed.Load() {
		return
	}
	routes := e.routes.sweep(e.now(), idleTime)
	remotes := e.remotes.sweep(e.now(), idleTime)
	if routes || remotes {
		e.armSweep()
	}
}

// post hands an event to the goroutine that waits for the attempt's request.
func (e *Engine) post(a *attempt, ev event) {
	e.cfg.Exec.Wake(overlay.ExecKey{Name: "request.event", N: a.id}, func() { a.call.box.put(ev) })
}

// mustSeal says whether requests to a cluster are sealed.
func (e *Engine) mustSeal(keys *security.Cluster) bool {
	return !keys.Derived() || e.cfg.Seal == SealAlways
}
