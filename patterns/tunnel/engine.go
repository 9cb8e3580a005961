// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/internal/gate"
	"github.com/arke-mesh/arke/internal/turn"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// Engine is the tunnel pattern of one node, or of one client: the tunnels it
// opens and those of its members. All methods may be called concurrently.
type Engine struct {
	// Immutable after New.
	cfg    Config
	start  time.Time
	random overlay.RandStream
	atOnce context.Context //nolint:containedctx // has ended: who sends with it does not wait

	ids      atomic.Uint64 // of tunnels opened here: the last one
	numbers  atomic.Uint64 // of all tunnels: the last one
	handlers atomic.Int64  // that run
	frames   frames
	turns    *turn.Turns
	drops    drop.Counts[dropReason]
	budget   *credit.Budget
	table    table

	// Lifecycle.
	gate    gate.Gate // of handlers and timers at work
	delays  delays
	resting atomic.Bool // a timer runs that looks for idle tunnels
}

var _ request.Acceptor = (*Engine)(nil)

// New checks cfg and registers with the links; nothing runs yet, and nothing
// needs to be started. Call it before the overlay is started.
func New(cfg Config) (*Engine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Logger = cfg.Logger.Named("tunnel")
	e := &Engine{
		cfg: cfg, start: cfg.Clock.Now(),
		budget: credit.NewBudget(cfg.BufferBytes), drops: drop.New(dropReasons), table: newTable(), turns: turn.Of(cfg.Exec),
	}
	if cfg.Keys != nil {
		e.random = cfg.Rand.Stream("tunnel.seal")
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	e.atOnce = ended
	cfg.Links.Subscribe(e.handlePeerEvent)
	cfg.Links.HandleLent(wire.KindTunnelData, func(l request.Link, body []byte) bool {
		return e.hear(nil, l.Peer(), wire.KindTunnelData, body)
	})
	for _, k := range [...]wire.Kind{wire.KindTunnelCredit, wire.KindTunnelEnd, wire.KindTunnelReset} {
		cfg.Links.Handle(k, func(l request.Link, body []byte) { e.hear(nil, l.Peer(), k, body) })
	}
	return e, nil
}

// NewHop makes the hop of a client's session. Close is due when that ends, not
// when a connection of it breaks.
func (e *Engine) NewHop(c HopConfig) *Hop {
	l := &Hop{engine: e, cfg: c, remote: newRemote(c.Conduit, c.Recycle), budget: credit.NewSharedBudget(c.BufferBytes, c.Room)}
	e.table.mu.Lock()
	e.table.clients[l] = struct{}{}
	e.table.mu.Unlock()
	return l
}

// Stop ends everything at once: all tunnels end with patterns.ErrClosed here,
// and at the other side when the links go. It does not wait. It is idempotent.
func (e *Engine) Stop() {
	e.gate.Shut()
	e.delays.stop()
	e.table.close()
	for _, t := range e.table.all(func(*port) bool { return true }) {
		t.lose(patterns.ErrClosed)
	}
}

// Close is Stop, and waits for the handlers to return, so it must not be called
// by one.
func (e *Engine) Close() error {
	e.Stop()
	e.gate.Close()
	return nil
}

// Drain refuses new tunnels to this node's members and waits until theirs are
// over and their handlers have returned. If ctx ends before, they are
// interrupted, and ctx's error is returned without waiting for the handlers.
// Then it does the same for the tunnels that were opened here: handlers may have
// needed them, and the program may be using them. Tunnels of attached clients
// count as those of the program here.
func (e *Engine) Drain(ctx context.Context) error {
	var err error
	for _, id := range e.table.drain() {
		if e := e.DrainMember(ctx, id); e != nil {
			err = e
		}
	}
	if err == nil {
		err = e.DrainMember(ctx, openedHere)
	}
	return err
}

// DrainMember does that for one member, which must not get new openings any
// more.
func (e *Engine) DrainMember(ctx context.Context, id cluster.MemberID) error {
	idle := e.table.idle(id)
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	for _, t := range e.table.all(func(p *port) bool { return p.place != nil && p.place.id == id }) {
		t.end(wire.CauseLeaving, patterns.ErrClosed)
	}
	return ctx.Err()
}

// hear takes in the body of one frame, on the goroutine that reads the link, and
// says whether the body is in use still. It is of a client, or of a peer.
func (e *Engine) hear(client *remote, p peer.ID, k wire.Kind, body []byte) (kept bool) {
	id, flags, err := wire.TunnelOf(body)
	if err != nil {
		e.drops.Inc(dropMalformed)
		return false
	}
	t, early := e.table.find(client, p, id, flags)
	switch {
	case t != nil:
		return t.hear(k, body)
	case early && client == nil && e.table.keepEarly(p, k, id, body, e.drops):
		return true
	case early && client == nil: // it is open meanwhile
		return e.hear(client, p, k, body)
	}
	// Of a tunnel that has ended here meanwhile a reset, credit, or the word that
	// nobody receives any more is nothing lost.
	if k == wire.KindTunnelData || k == wire.KindTunnelEnd && flags&wire.FlagClosed == 0 {
		e.drops.Inc(dropUnknown)
		if flags&wire.FlagOpener == 0 && client == nil {
			// Its opening was given up before the member's answer came. The
			// member need not wait for a word until the opening's deadline.
			e.disown(p, id)
		}
	}
	return false
}

// blame says what becomes of a tunnel whose other side has broken the protocol:
// what that one is told, and what the program here is.
func (e *Engine) blame(err error) (wire.TunnelReset, error) {
	reason, how := dropViolation, patterns.ErrInterrupted
	if errors.Is(err, security.ErrUnauthorized) {
		reason, how = dropForged, errForged
	}
	e.drops.Inc(reason)
	return wire.TunnelReset{Cause: wire.CauseViolation, Text: err.Error()}, how
}

// count counts what a step has dropped.
func (e *Engine) count(do todo) {
	if do&countLate != 0 {
		e.drops.Inc(dropLate)
	}
	if do&countForged != 0 {
		e.drops.Inc(dropForged)
	}
}

// disown tells a member that nobody here has the tunnel. If that finds no room,
// the opener's silence says so later.
func (e *Engine) disown(p peer.ID, id uint64) {
	m := wire.TunnelReset{ID: id, Flags: wire.FlagOpener, Cause: wire.CauseInterrupted}
	_ = linkConduit{e.cfg.Links.Link(p), e.atOnce}.Send(overlay.LaneCtl, wire.KindTunnelReset, m.AppendTo(nil))
}

// handlePeerEvent ends the tunnels of a session that has ended. A connection that
// breaks is no matter: the session's frames go again.
func (e *Engine) handlePeerEvent(ev overlay.PeerEvent) {
	if ev.Type != overlay.LinkDown {
		return
	}
	lost := e.table.all(func(p *port) bool { return p.remote.link != nil && p.remote.id == ev.Peer && p.session == ev.Session })
	for _, t := range lost {
		t.lose(patterns.ErrInterrupted)
	}
}

// peer returns what is kept for a peer; table.left is due.
func (e *Engine) peer(l request.Link) *remote {
	return e.table.join(l.Peer(), func() *remote { return newPeer(l, e.atOnce) })
}

// leave gives back the place of a tunnel.
func (e *Engine) leave(p *place, number uint64) {
	if idle := e.table.leave(p); idle != nil {
		e.wake("tunnel.idle", number, func() { close(idle) })
	}
}

// now is the engine's clock in ns.
func (e *Engine) now() int64 { return int64(e.cfg.Clock.Now().Sub(e.start)) }

func (e *Engine) wake(name string, n uint64, f func()) {
	e.cfg.Exec.Wake(overlay.ExecKey{Name: name, N: n}, f)
}

// exec has a worker run f, if one is free.
func (e *Engine) exec(name string, n uint64, f func()) bool {
	if !e.gate.Enter() {
		return false
	}
	ok := e.cfg.Exec.Go(overlay.ExecKey{Name: name, N: n}, func() {
		defer e.gate.Leave()
		f()
	})
	if !ok {
		e.gate.Leave()
	}
	return ok
}

// later calls f on another goroutine, unless the engine is closed by then.
func (e *Engine) later(label string, d time.Duration, f func()) {
	e.delays.add(e.cfg.Clock, label, d, func() {
		if e.gate.Enter() {
			defer e.gate.Leave()
			f()
		}
	})
}

// rest has the tunnels in which nothing is sent give back their credit, as long as there
// are any.
func (e *Engine) rest() {
	if !e.resting.CompareAndSwap(false, true) {
		return
	}
	e.later("tunnel.rest", restTime, func() {
		e.resting.Store(false)
		again := false
		for _, t := range e.table.all(func(*port) bool { return true }) {
			switch t := t.(type) {
			case *Tunnel:
				again = true
				t.sender.returnIdle()
			case *side:
				again = true
				t.returnIdle()
			}
		}
		if again {
			e.rest()
		}
	})
}

// Status describes the tunnels of one node, or of one client.
type Status struct {
	Opened int `json:"opened"` // from here, those that are being opened included
	Served int `json:"served"` // by members here
	// BufferBytes is how much of Config.BufferBytes is given away: what may
	// come and wait to be received.
	BufferBytes int `json:"buffer_bytes"`
	// UnsentBytes waits for room in the links' lanes.
	UnsentBytes int `json:"unsent_bytes"`
}

// Status describes the tunnels there are now.
func (e *Engine) Status() Status {
	s := e.table.status()
	s.BufferBytes = e.budget.Used()
	return s
}

// Drops counts what went no further, by reason; reasons that never occurred are
// left out.
func (e *Engine) Drops() map[string]uint64 { return e.drops.ByName() }

// DropNames are the reasons that Drops counts.
func DropNames() []string { return drop.Names(dropReasons) }
