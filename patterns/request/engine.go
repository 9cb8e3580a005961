// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/internal/turn"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// Engine is the request pattern of one node: its callers and its members. All
// methods may be called concurrently.
type Engine struct {
	*env
	peers   *peers
	calls   *calls
	members *members
	upkeep  *sweeper
}

// New checks cfg and registers with the links; nothing runs yet, and nothing
// needs to be started. Call it before the overlay is started, and after the
// Directory was made, so that the Directory hears of a lost link first.
func New(cfg Config) (*Engine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	n := &env{
		cfg:   cfg,
		self:  cfg.Links.Self(),
		log:   cfg.Logger.Named("request"),
		start: cfg.Clock.Now().Add(-1), // so that 0 is never a time
		drops: drop.New(dropReasons),
	}
	if cfg.Leaf == nil {
		n.random = cfg.Rand.Stream("request.seal")
	}
	e := &Engine{env: n, upkeep: &sweeper{env: n}}
	turns := turn.Of(cfg.Exec)
	e.peers = &peers{env: n, upkeep: e.upkeep}
	e.calls = &calls{env: n, peers: e.peers, upkeep: e.upkeep, turns: turns, lapses: &lapses{env: n}, ledgers: ledgers{other: Ledger{Cluster: OtherClusters, Other: true}}, alone: alone{on: cfg.Bell}}
	e.members = &members{env: n, peers: e.peers, turns: turns, servers: make(map[cluster.MemberID]*Server)}
	e.upkeep.tables = []sweepFunc{e.calls.routes.sweep, e.peers.table.sweep}
	cfg.Links.Subscribe(e.handlePeerEvent)
	cfg.Links.HandleLent(wire.KindRequest, e.members.handleRequest)
	cfg.Links.Handle(wire.KindReply, e.calls.handleReply)
	cfg.Links.Handle(wire.KindCancel, e.members.handleCancel)
	return e, nil
}

// AddMember serves member id of the cluster with v, until Drain or
// Engine.Close. Callers do not know of it yet: registering it is up to the
// caller of AddMember. The id must be random and not 0.
func (e *Engine) AddMember(id cluster.MemberID, name string, v patterns.Service, l patterns.Limits) (*Server, error) {
	s, err := e.members.newServer(id, name, l)
	if err != nil {
		return nil, err
	}
	s.service, s.serves = v, e.members.servesOf(v)
	return s, e.members.add(s)
}

// Forward makes f the one that has the requests of member id, until Drain or
// Close of what it returns, which is as with AddMember: registering it is up to
// the caller. serves says which patterns the member implements. Size, seal,
// replay and limits are checked here; there is no queue: what is beyond
// Concurrency and QueueLength together, or beyond QueueBytes while so many are
// under way that it would have to wait, is refused as overloaded at once.
func (e *Engine) Forward(id cluster.MemberID, name string, l patterns.Limits, serves Serves, f Forwarder) (*Server, error) {
	s, err := e.members.newServer(id, name, l)
	if err != nil {
		return nil, err
	}
	s.forward, s.serves = f, serves
	return s, e.members.add(s)
}

// handlePeerEvent takes in what happened to a link.
func (e *Engine) handlePeerEvent(ev overlay.PeerEvent) {
	r, ok := e.peers.table.find(ev.Peer)
	if !ok {
		return
	}
	e.calls.peerEvent(r, ev)
	if ev.Type == overlay.LinkDown {
		e.members.orphan(r)
	}
	e.peers.put(r, e.now())
}

// Close ends everything at once: requests under way fail, members are gone,
// their handlers' contexts end. It waits for the handlers to return, so it must
// not be called by one. It is idempotent.
func (e *Engine) Close() error {
	e.closed.Store(true)
	e.calls.close()
	e.members.close()
	e.upkeep.close()
	return nil
}

// Drain refuses new requests at every member, finishes those that were
// accepted, and waits until callers have had time to learn that the members
// left: until then their requests are refused, and so tried elsewhere, instead
// of lost. Registrations must have been withdrawn before. Requests made here
// still work, as handlers may need them. If ctx ends before, what is left is
// ended as Server.Drain does.
func (e *Engine) Drain(ctx context.Context) error { return e.members.drain(ctx) }

// Members lists who serves the cluster, in the order of member ids. Its errors
// are those of Do. Without a deadline in ctx it has 5 s.
func (e *Engine) Members(ctx context.Context, name string) ([]patterns.Member, error) {
	return e.calls.members(ctx, name)
}

// MembersAfter is described at patterns.Messenger.
func (e *Engine) MembersAfter(ctx context.Context, name, version string) ([]patterns.Member, error) {
	return e.calls.membersAfter(ctx, name, version)
}

// View returns who serves the cluster: at least one member, and everybody if
// it says that it is complete, for which it waits a moment. Errors and default
// deadline are those of Do.
func (e *Engine) View(ctx context.Context, name string) (*cluster.View, error) {
	return e.calls.viewOf(ctx, name, completing, isComplete)
}

// Status describes the local members, by cluster, then id.
func (e *Engine) Status() []MemberStatus {
	servers := e.members.all()
	out := make([]MemberStatus, 0, len(servers))
	for _, s := range servers {
		out = append(out, s.status())
	}
	return out
}

// Calls describes this node as a caller.
func (e *Engine) Calls() CallStatus { return e.calls.status() }

// Drops counts what went no further, by reason; reasons that never occurred
// are left out.
func (e *Engine) Drops() map[string]uint64 { return e.drops.ByName() }

// DropNames are the reasons that Drops counts.
func DropNames() []string { return drop.Names(dropReasons) }
