// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/internal/pace"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// control is the membership of one node without goroutine, clock or socket:
// the cores, and the order in which they hear of things. Feed it with step,
// call finish once all events at hand are in, perform what that returns, and
// come back with finish at next. It reads the routing table and the node's own
// addresses through functions; everything else comes in events.
type control struct {
	*base
	anchor    *anchor
	registrar *registrar
	watcher   *watcher
	strays    []stray
}

// controlConfig is what control needs.
type controlConfig struct {
	key         security.NodeKey
	network     security.NetworkID
	incarnation uint64
	zone        string
	home        string
	addrs       func() []string
	nearest     func(key overlay.Key, k int) []peer.ID
	trip        func() (time.Duration, bool) // Network.LongestTrip; nil = none is long
	keys        func(name string) *security.Cluster
	walls       func() []time.Time                         // Config.Walls
	rand        io.Reader                                  // seals records
	ephemeral   func(cluster string) security.EphemeralKey // nil = there is none
	seed        uint64                                     // of jitter

	certificates Certificates // nil = none are needed
	drops        drop.Counts[dropReason]
	shards       shardLimits // zero = the usual ones
}

func newControl(now time.Time, cfg controlConfig) *control {
	rng, out := prng(cfg.seed), &outbox{}
	if cfg.certificates == nil {
		cfg.certificates = noCertificates{}
	}
	if cfg.ephemeral == nil {
		cfg.ephemeral = func(string) (none security.EphemeralKey) { return none }
	}
	if cfg.trip == nil {
		cfg.trip = func() (time.Duration, bool) { return 0, true }
	}
	if cfg.shards == (shardLimits{}) {
		cfg.shards = usualShards()
	}
	b := &base{
		self: cfg.key.PeerID(), network: cfg.network, key: cfg.key, verify: security.VerifyLease,
		out: out, rng: &rng, drops: cfg.drops, certificates: cfg.certificates,
	}
	b.peers = newPeerTable(b.self, cfg.addrs, &rng, out, &settling{trip: cfg.trip})
	b.finder = newFinder(now, b.peers, &rng, out, cfg.nearest)
	b.claims = &claims{base: b, at: make(map[peer.ID]*claim)}
	b.epochs = &epochTable{self: b.self, keys: cfg.keys, walls: cfg.walls, terms: make(map[string]*term)}
	a := &anchor{
		base:     b,
		examiner: examiner{self: b.self, prove: security.VerifyProof, began: now, checks: pace.New[peer.ID](checking, maxCheckers)},
		holders:  holders{links: b.peers, guests: make(map[peer.ID]*guest)},
		sharding: sharding{cfg.shards, make(map[*book]time.Time)},
	}
	a.announcer = announcer{base: b, deputies: cfg.shards.deputies, plans: &a.plans}
	return &control{
		base:   b,
		anchor: a,
		registrar: &registrar{
			base: b, incarnation: cfg.incarnation, zone: cfg.zone, here: whereabouts{ask: cfg.addrs}, rand: cfg.rand, ephemeral: cfg.ephemeral,
			leaving: make(map[*registration]time.Time),
			started: now, served: servedTable{doubted: make(map[string]bool)},
		},
		watcher: &watcher{
			base: b, zone: cfg.zone, home: cfg.home,
			names: make(map[string]*watchedCluster), byID: make(map[security.ClusterID]*epochView),
		},
	}
}

// step handles one event.
func (c *control) step(now time.Time, e event) {
	e.apply(c, now)
	c.spread(now)
}

// finish does what is due, makes known what changed, and returns what has to
// be done outside, in order. Messages to this node itself do not leave it.
func (c *control) finish(now time.Time) []action {
	var actions []action
	for {
		c.tick(now)
		c.anchor.flush(now)
		c.watcher.flush(now)
		c.spread(now)
		if len(c.out.actions) == 0 {
			return actions
		}
		done := c.out.actions
		c.out.actions = nil
		for _, a := range done {
			if s, ok := a.(sendAction); ok && s.to == c.self {
				c.receive(now, c.self, s.msg)
				c.spread(now)
			} else {
				actions = append(actions, a)
			}
		}
	}
}

// next is when finish has to be called at the latest; zero = when something
// happens.
func (c *control) next() time.Time {
	var first alarm
	for _, at := range []time.Time{
		c.peers.alarm.at, c.finder.lookups.next(), c.epochs.turns.next(), c.anchor.plans.next(),
		c.registrar.alarm.at, c.registrar.plans.next(), c.watcher.plans.next(), c.watcher.idlers.next(),
		c.claims.plans.next(),
	} {
		first.plan(at)
	}
	return first.at
}

func (c *control) tick(now time.Time) {
	c.peers.tick(now)
	c.spread(now)
	c.finder.tick(now)
	for _, name := range c.epochs.tick(now) {
		c.turned(now, name)
	}
	c.registrar.tick(now)
	c.watcher.tick(now)
	c.claims.tick(now)
}

// turned tells the cores that other ids are valid for name.
func (c *control) turned(now time.Time, name string) {
	c.registrar.turned(now, name)
	c.watcher.turned(now, name)
}

// spread tells the cores what reach and finder have concluded, until there is
// no more news.
func (c *control) spread(now time.Time) {
	for {
		switch {
		case len(c.peers.events) > 0:
			p := c.peers.events[0].peer
			if !c.peers.events[0].blink {
				c.finder.peerChanged(now, p)
			}
			c.peers.events = c.peers.events[1:]
			c.anchor.peerChanged(p)
			c.registrar.peerChanged(now, p)
			c.watcher.peerChanged(now, p)
		case len(c.finder.events) > 0:
			cid := c.finder.events[0]
			c.finder.events = c.finder.events[1:]
			c.anchor.anchorsChanged(cid)
			c.registrar.anchorsChanged(now, cid)
			c.watcher.anchorsChanged(now, cid)
		default:
			return
		}
	}
}

// receive handles a message. One from a link that is down is late: what it
// asks for would never end.
func (c *control) receive(now time.Time, from peer.ID, m message) {
	if c.peers.session(from) == 0 {
		c.drops.Inc(dropNoLink)
		return
	}
	switch m := m.(type) {
	case *registeredMsg:
		c.tell(now, m.cid, from, m.anchors)
		c.registrar.registered(now, from, m)
	case *snapshotMsg:
		c.tell(now, m.cid, from, m.anchors)
		c.watcher.snapshot(now, from, m)
	case *deltaMsg:
		c.tell(now, m.cid, from, m.anchors)
		c.watcher.delta(now, from, m)
	case *watchMsg:
		c.bringHome(now, m.cid)
		c.anchor.receive(now, from, m)
	case *claimsMsg:
		if !m.differs {
			c.anchor.compare(c.out, from, m)
		} else if c.claims.differs(from) {
			c.drops.Inc(dropClaimsDiffer)
			c.mend(now, from)
		}
	default:
		c.anchor.receive(now, from, m)
	}
}

// mend asks p anew, one by one, for all that this node believes to have there.
func (c *control) mend(now time.Time, p peer.ID) {
	for _, g := range c.registrar.members {
		for _, e := range g.registrations {
			if a := e.at(p); a != nil && a.state == leaseHeld {
				a.again(now.Add(spread(c.rng, mendSpread)))
				c.registrar.plans.plan(e, a.next())
			}
		}
	}
	for _, s := range ordered(c.watcher.byID, compareIDs) {
		if v := s.at(p); v != nil && v.stake.stands && !v.stake.waits {
			v.next = now.Add(spread(c.rng, mendSpread))
			c.watcher.plans.plan(s, v.next)
		}
	}
}

func (c *control) tell(now time.Time, cid security.ClusterID, from peer.ID, anchors []peer.ID) {
	if len(anchors) > 0 {
		c.finder.tell(now, cid, from, anchors)
	}
}

// link handles a change of a link.
func (c *control) link(now time.Time, e PeerEvent) {
	if e.Peer == c.self {
		return
	}
	switch e.Type {
	case PeerUp:
		if c.peers.session(e.Peer) != 0 {
			c.link(now, PeerEvent{Type: PeerDown, Peer: e.Peer})
		}
		c.peers.up(e.Peer, e.Session, e.Addr)
		c.spread(now)
		c.recall(e.Peer, e.Session)
	case PeerDown:
		c.peers.down(now, e.Peer)
		c.anchor.down(now, e.Peer)
	case PeerSuspect, PeerRecovered:
		on := e.Type == PeerSuspect
		if !on {
			c.peers.seen(e.Peer, e.Addr)
		}
		c.peers.setSuspect(now, e.Peer, on)
		c.anchor.suspected(now, e.Peer, on)
	case PeerDialFailed:
		c.peers.dialFailed(now, e.Peer)
	}
}

// event is something that happened; control takes them in one at a time.
type event interface {
	apply(c *control, now time.Time)
}

type (
	// frameEvent: a control message came.
	frameEvent struct {
		from peer.ID
		msg  message
		size int // of its body, in bytes
	}
	// linkEvent: a link changed.
	linkEvent struct{ PeerEvent }
	// keysEvent: other keys, or wall clocks, count.
	keysEvent struct{}
	// tableEvent: the routing table changed.
	tableEvent struct{}
	// lookedUpEvent: a lookup ended.
	lookedUpEvent struct {
		cid   security.ClusterID
		peers []peer.ID
	}
	// unsentEvent: a message never left.
	unsentEvent struct {
		to  peer.ID
		msg message
	}
	// sentEvent: a message left in that session of the link.
	sentEvent struct {
		to      peer.ID
		msg     message
		session uint64
	}
	// registerEvent and unregisterEvent: a local member comes or goes.
	registerEvent struct {
		name string
		what Registration
	}
	reviseEvent struct {
		name string
		as   Registration
	}
	passEvent struct {
		name   string
		member MemberID
		passed map[security.ClusterID]Passed
	}
	doubtEvent struct {
		name   string
		member MemberID
		on     bool
	}
	unregisterEvent struct {
		name   string
		member MemberID
	}
	// watchEvent, idleEvent and forgetEvent: a cluster is watched, nobody is
	// interested until then unless it is heard otherwise, it is forgotten.
	watchEvent struct {
		name string
		pool *pool
	}
	idleEvent struct {
		name  string
		until time.Time
	}
	forgetEvent struct{ name string }
)

func (e frameEvent) apply(c *control, now time.Time) { c.receive(now, e.from, e.msg) }

func (e linkEvent) apply(c *control, now time.Time) { c.link(now, e.PeerEvent) }

func (e keysEvent) apply(c *control, now time.Time) {
	for _, name := range c.epochs.renew(now) {
		c.turned(now, name)
	}
}

func (e tableEvent) apply(c *control, now time.Time) { c.finder.tableChanged(now) }

func (e lookedUpEvent) apply(c *control, now time.Time) { c.finder.lookedUp(now, e.cid, e.peers) }

func (e unsentEvent) apply(c *control, now time.Time) {
	c.anchor.sendFailed(now, e.to, e.msg)
	c.registrar.sendFailed(now, e.to, e.msg)
}

func (e sentEvent) apply(c *control, _ time.Time) { c.sent(e.to, e.msg, e.session) }

func (e registerEvent) apply(c *control, now time.Time) {
	if err := c.registrar.add(now, e.name, e.what); err != nil {
		c.out.add(registeredAction{e.name, e.what.Member, err})
	}
}

func (e reviseEvent) apply(c *control, now time.Time) {
	c.registrar.revise(now, e.name, e.as)
}

func (e passEvent) apply(c *control, now time.Time) {
	pass(now, c.registrar, e.name, e.member, e.passed)
}

func (e doubtEvent) apply(c *control, now time.Time) {
	c.registrar.doubt(now, e.name, e.member, e.on)
}

func (e unregisterEvent) apply(c *control, now time.Time) {
	c.registrar.remove(now, e.name, e.member)
}

func (e watchEvent) apply(c *control, now time.Time) { c.watcher.start(now, e.name, e.pool) }

func (e idleEvent) apply(c *control, _ time.Time) { c.watcher.idle(e.name, e.until) }

func (e forgetEvent) apply(c *control, now time.Time) { c.watcher.stop(now, e.name) }

// stray is a Register or Watch that left in a later session of its link than
// the cores know of: they will hear that the link went down and came up again,
// and forget that they sent it.
type stray struct {
	to      peer.ID
	session uint64
	msg     message
}

// sent notes which session a message left in.
func (c *control) sent(to peer.ID, m message, session uint64) {
	if session == c.peers.session(to) {
		return
	}
	switch m.(type) {
	case *registerMsg, *watchMsg:
		c.strays = append(c.strays, stray{to, session, m})
	}
}

// recall takes back the strays of the session that began, as far as the cores
// want them no longer.
func (c *control) recall(p peer.ID, session uint64) {
	strays := c.strays
	c.strays = nil
	for _, s := range strays {
		if s.to != p {
			c.strays = append(c.strays, s)
			continue
		}
		if s.session != session {
			continue // ended with its session
		}
		switch m := s.msg.(type) {
		case *registerMsg:
			if !c.registrar.attached(m.cid, m.member, p) {
				c.out.send(p, &unregisterMsg{m.cid, m.member})
			}
		case *watchMsg:
			if !c.watcher.attached(m.cid, p) {
				c.out.send(p, &unwatchMsg{m.cid})
			}
		}
	}
}
