// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/drop"
	"github.com/arke-mesh/arke/internal/inbox"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/patterns/pubsub/fanout"
)

// Engine is the topics of one node. It routes: what is published here to
// publishers, what comes to sources and paths, both to the subscriptions here.
// All methods may be called concurrently.
type Engine struct {
	base       *env.Base
	inboxes    *inbox.Set
	local      *local
	publishers *publishers
	sources    *sources
	paths      *paths
	roots      *rootOrders
	confirms   *confirmations
	calls      sync.Pool // of *publication

	sweeping overlay.Timer // guarded by base.mu
	armed    atomic.Bool   // it is set, or the engine is closed
}

// New checks cfg and registers with the links; nothing runs yet, and nothing
// needs to be started. Call it before the overlay is started, and after the
// Directory was made.
func New(cfg env.Config) (*Engine, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	set, err := inbox.NewSet(inbox.SetConfig{Exec: cfg.Exec, Clock: cfg.Clock, Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	b := env.NewBase(cfg)
	e := &Engine{base: b, inboxes: set, publishers: newPublishers(b), paths: newPaths(b)}
	e.confirms = &confirmations{Base: b, all: make(map[uint64]*confirmation)}
	e.calls.New = func() any { return &publication{} }
	e.local = newLocal(b, e.publishers)
	e.roots = newRootOrders(b, e.local)
	e.sources = newSources(b, e.local, e.arrived, e.missing)
	cfg.Links.Subscribe(e.handlePeerEvent)
	handle(b, wire.KindPublish, wire.DecodePublish, e.handlePublish)
	handle(b, wire.KindPublishMark, wire.DecodePublishMark, e.handleMark)
	handle(b, wire.KindPath, wire.DecodePath, e.handlePath)
	handle(b, wire.KindPathLost, wire.DecodePathLost, e.handlePathLost)
	handle(b, wire.KindPublishAsk, wire.DecodePublishAsk, e.handleAsk)
	handle(b, wire.KindPublishTook, wire.DecodePublishAsk, e.handleTook)
	return e, nil
}

// handle has to called with the frames of a kind that can be decoded.
func handle[T any](b *env.Base, k wire.Kind, decode func([]byte) (T, error), to func(env.Link, T, int) (kept bool)) {
	b.Cfg.Links.Handle(k, func(l env.Link, body []byte) (kept bool) {
		if m, err := decode(body); err == nil {
			return to(l, m, len(body))
		}
		b.Drops.Inc(env.DropMalformed)
		return false
	})
}

// Subscribe is patterns.Messenger's.
func (e *Engine) Subscribe(ctx context.Context, pattern string, s patterns.Subscriber, o patterns.SubscribeOptions) (patterns.Subscription, error) {
	if err := env.CheckQueue(o.Queue); err != nil {
		return nil, err
	}
	sub, err := e.local.newSubscription(ctx, pattern, o)
	if err != nil {
		return nil, err
	}
	if sub.inbox, err = e.inboxes.New(inbox.Config{Subscriber: s, Options: o, Key: e.base.IDs.Add(1)}); err != nil {
		return nil, err
	}
	if err := sub.join(ctx); err != nil {
		return nil, err
	}
	return sub, nil
}

// NewProxy returns a proxy without subscriptions, which costs nothing. origin
// tells the clients of this node apart, for SubscribeOptions.NoEcho: see
// patterns.PublishOptions.Origin.
func (e *Engine) NewProxy(s Sink, origin uint64) *Proxy {
	return &Proxy{l: e.local, sink: s, origin: origin, key: e.base.IDs.Add(1), subs: make(map[uint64]*subscription)}
}

// mayPublish says whether the node that sends a frame of its own may publish all that
// is in it.
func mayPublish(r env.Rights, publisher peer.ID, m *wire.Publish) bool {
	for rest := m.Messages; len(rest) > 0; {
		first, _, _ := m.Cut(&rest)
		if !r.MayPublish(publisher, first.Topic) {
			return false
		}
	}
	return true
}

// entitled says whether the publisher may publish all that is in a frame. What a
// forwarder of the root group brings was looked at there: no path shows whose it is.
func entitled(e *Engine, l env.Link, key sourceKey, publisher peer.ID, m *wire.Publish) bool {
	switch {
	case publisher == l.Peer():
		return mayPublish(e.base.Cfg.Rights, publisher, m)
	case m.Flags&wire.FlagRoot != 0:
		return true
	}
	return e.sources.allows(key, m)
}

// handlePublish takes in messages: they are passed on, if this node is a
// forwarder, and handed to the subscriptions here, if they are for them.
func (e *Engine) handlePublish(l env.Link, m wire.Publish, size int) (kept bool) {
	word, ok := e.local.groupOf(&m)
	if !ok {
		e.base.Drops.Inc(env.DropMalformed)
		return false
	}
	source, publisher := sourceOf(l, m.Source, m.Origin.Peer), peer.ID(m.Origin.Peer)
	if m.Source == "" && m.Flags&wire.FlagRoot != 0 && publisher != l.Peer() {
		e.base.Drops.Inc(env.DropUnauthorized) // only its publisher may send it up
		return false
	}
	if publisher == "" {
		publisher = source
	}
	if publisher != source && m.Flags&wire.FlagRoot == 0 {
		e.base.Drops.Inc(env.DropUnauthorized) // nobody speaks for others there
		return false
	}
	if e.base.Cfg.Rights.Asks() && !entitled(e, l, sourceKey{source, m.Session}, publisher, &m) {
		e.base.Drops.Add(env.DropNotAllowed, uint64(m.Count))
		return false
	}
	if m.Epoch > 0 {
		e.paths.forward(l, source, publisher, &m)
	}
	if m.Number == 0 {
		return false
	}
	e.base.Counts.Received.Add(uint64(m.Count))
	in := incoming{publisher: publisher, m: m, root: m.Flags&wire.FlagRoot != 0, own: publisher == l.Peer(), by: l.Peer()}
	in.lent, in.keeps = true, true
	switch {
	case in.root && m.Source == "":
		in.relay, word = true, env.RootForwards
	case in.root:
		word = env.RootGroup
	}
	s := e.source(l, sourceKey{source, m.Session}, word, m.Run, m.Number+uint64(m.Count)-1)
	if s == nil {
		return false
	}
	if !opens(e, s, &in) {
		return false
	}
	return s.offer(m.Run, m.Number, size, in, source == l.Peer())
}

// source returns the source of what is for this node as it is now, and has numbers to
// last, or nil.
func (e *Engine) source(l env.Link, key sourceKey, word string, run uint32, last uint64) *source {
	if !e.sources.listens(word, run) {
		e.base.Drops.Inc(env.DropEarlier)
		return nil
	}
	s := e.sources.heard(l.Peer(), key, word, run, last)
	e.armSweep()
	return s
}

// handleMark takes in how much has been addressed to this node, or that the
// source is lost.
func (e *Engine) handleMark(l env.Link, m wire.PublishMark, _ int) (kept bool) {
	source := sourceOf(l, m.Source, "")
	if m.Flags&wire.FlagGone != 0 {
		e.paths.gone(l, sourceKey{source, m.Session})
	}
	e.told(l, sourceKey{source, m.Session}, &m)
	return false
}

func (e *Engine) told(l env.Link, key sourceKey, m *wire.PublishMark) {
	if m.Number == 0 {
		return
	}
	word, _, _ := cutLabel(m.Group)
	s := e.source(l, key, word, m.Run, m.Number)
	switch {
	case s == nil:
	case !s.subject.named(m.Group, key.peer == l.Peer()):
		e.base.Drops.Inc(env.DropUnauthorized)
	default:
		s.tell(m.Run, m.Number)
		if m.Flags&wire.FlagGone != 0 {
			s.lost(e.base.Now())
		}
	}
}

// handlePath takes in that this node is a forwarder, or who may pass on to it.
func (e *Engine) handlePath(l env.Link, part wire.Path, _ int) (kept bool) {
	source := sourceOf(l, part.Source, "")
	p := e.paths.gather(l, source, &part)
	e.armSweep()
	if p == nil {
		return false
	}
	if source != l.Peer() && !e.sources.grant(l.Peer(), source, p) {
		e.base.Drops.Inc(env.DropNotNamed)
		return false
	}
	e.told(l, sourceKey{source, p.Session}, &wire.PublishMark{Run: p.Run, Number: p.Number, Group: p.Group})
	if len(p.Stops) > 0 {
		e.paths.take(l, source, p)
	}
	return false
}

// handlePathLost takes in that a forwarder is not reached: the source makes
// another path, forwarders pass it on.
func (e *Engine) handlePathLost(l env.Link, m wire.PathLost, _ int) (kept bool) {
	if !e.publishers.pathLost(l.Peer(), &m) {
		e.paths.passBack(l, &m)
	}
	return false
}

// sourceOf is whose session it is: of the node that is named, the origin, or the
// sender.
func sourceOf(l env.Link, named, origin string) peer.ID {
	switch {
	case named != "":
		return peer.ID(named)
	case origin != "":
		return peer.ID(origin)
	}
	return l.Peer()
}

// handlePeerEvent takes in what happened to a link.
func (e *Engine) handlePeerEvent(ev overlay.PeerEvent) {
	e.publishers.event(ev)
	e.paths.event(ev)
	e.confirms.event(ev)
	if ev.Type == overlay.LinkDown {
		e.sources.event(ev)
	}
}

// arrived hands messages on whose turn it is.
func (e *Engine) arrived(s *source, in *incoming) {
	switch {
	case in.relay:
		e.republish(in)
	case in.root:
		if in.publisher == s.key.peer {
			in.paths = &s.authors
		}
		e.roots.deliver(in)
	default:
		s.unseen(in)
		s.into.deliver(in, in.publisher == e.base.Self)
	}
}

// republish passes messages of a publisher on to the root group.
func (e *Engine) republish(in *incoming) {
	p := e.publishers.find(env.RootGroup)
	if p == nil {
		e.base.Drops.Add(env.DropNoPath, uint64(in.m.Count-in.skip))
		return
	}
	e.base.Counts.Forwarded.Add(uint64(in.m.Count - in.skip))
	skip := in.skip
	for rest := in.m.Messages; len(rest) > 0; {
		part := *in
		first, run, count := in.m.Cut(&rest)
		in.m.Origin.Serial += uint64(count)
		if part.relay, part.keeps, part.skip = false, false, min(skip, count); skip >= count {
			skip -= count
			continue
		}
		skip = 0
		e.pass(p, &part, first, run, count)
	}
}

// pass passes on messages that have the topic of the first one, and delivers them
// here. Who has them for queues is picked for each.
func (e *Engine) pass(p *publisher, in *incoming, first wire.Message, run wire.Messages, count int) {
	topic := string(first.Topic)
	own := e.local.own.answer(env.FirstWord(topic), topic).queues(true, origin{})
	o := fanout.Outgoing{Topic: topic}
	c := fanout.Content{Flags: in.m.Flags & (wire.FlagSealed | wire.FlagSigned | wire.FlagLent)}
	p.lock()
	queues := len(own) > 0 || p.Audience.HasQueues(topic)
	p.Unlock()
	if in.skip == 0 && !queues {
		c.Messages, c.Count = run, count
		e.passAll(p, in, &o, &c, own)
		return
	}
	var head []byte
	for m := first; count > 0; count-- {
		m = run.Next(m)
		if in.skip--; in.skip < 0 {
			head = append(wire.AppendMessage(head[:0], topic, nil, len(m.Content)), m.Content...)
			next := *in
			next.skip, next.m.Messages, next.m.Count, next.lent, next.keeps = 0, head, 1, true, false
			c.Packed, c.Body = true, m.Content
			e.passAll(p, &next, &o, &c, own)
		}
		in.m.Origin.Serial++
	}
}

func (e *Engine) passAll(p *publisher, in *incoming, o *fanout.Outgoing, c *fanout.Content, own []wire.Interest) {
	o.Origin, o.Forwarder = in.m.Origin, in.m.Forwarder
	if left, _ := p.send(o, c, own, in.publisher, forced); len(left) > 0 {
		p.giveUp(left, o.Count)
	}
	if c.Messages != nil {
		in.m.Messages, in.m.Count, in.m.Named = c.Messages, c.Count, 1
	}
	if unseal(e.base, in, within{}) && e.roots.admit(in, e.base.Self) {
		in.picks = o.Picks
		e.roots.deliver(in)
	}
}

// missing tells whom it concerns that messages of a source are missing; 0 =
// nobody knows how many, because the source itself is lost.
func (e *Engine) missing(s *source, n uint64) {
	e.base.Drops.Add(env.DropGap, n)
	from, exact := s.text, true
	if s.carries.unclear() { // of several publishers, and it may have been no message
		from, exact = "", false
	}
	switch {
	case n == 0 && s.subject.word == env.RootForwards:
		e.local.gap(patterns.Gap{Reason: patterns.GapPublisher}, env.RootGroup)
		if p := e.publishers.find(env.RootGroup); p != nil {
			p.missed(0)
		}
	case n == 0:
		e.local.gap(patterns.Gap{From: from, Reason: patterns.GapPublisher}, e.local.hears(&s.subject)...)
	case s.subject.word == env.RootForwards:
		n = min(n, env.MaxRelayedGap)
		e.local.gap(patterns.Gap{Missed: n, Reason: patterns.GapLost}, env.RootGroup)
		if p := e.publishers.find(env.RootGroup); p != nil {
			p.missed(n)
		}
	default:
		e.local.gap(patterns.Gap{From: from, Missed: n, Exact: exact, Reason: patterns.GapLost}, e.local.hears(&s.subject)...)
	}
}

// armSweep has what is kept looked through from time to time while there is
// something.
func (e *Engine) armSweep() {
	if e.armed.Load() {
		return
	}
	e.base.Mu.Lock()
	defer e.base.Mu.Unlock()
	if e.sweeping == nil && !e.base.Closed {
		due := e.base.Now() + int64(env.SweepTime)
		e.sweeping = e.base.After("pubsub.sweep", env.SweepTime, func() { e.sweep(due) })
	}
	e.armed.Store(true)
}

// sweep forgets what nobody has used for long. After the process stood still nothing was
// used: the links report first what they lost meanwhile, which is told.
func (e *Engine) sweep(due int64) {
	e.base.Mu.Lock()
	e.sweeping = nil
	e.armed.Store(false)
	e.base.Mu.Unlock()
	now := e.base.Now()
	if now-due > int64(env.SweepTime) {
		e.armSweep()
		return
	}
	left := e.publishers.sweep(now) + e.sources.sweep(now, int64(env.StreamTime)) + e.roots.sweep(now) + e.paths.sweep(now) +
		e.local.abroad.sweep(now)
	if left > 0 {
		e.armSweep()
	}
}

// Drain withdraws this node's leases, waits a moment for what is under way, and
// ends the subscriptions: what they have is delivered until ctx ends.
// Publishing still works, as subscribers may need it.
func (e *Engine) Drain(ctx context.Context) error {
	groups, subs := e.local.all()
	for _, g := range groups {
		g.withdraw()
	}
	if len(subs) > 0 {
		overlay.Sleep(ctx, e.base.Cfg.Clock, "pubsub.sleep", env.LingerTime)
	}
	var err error
	for _, s := range subs {
		if e := s.Close(ctx); e != nil {
			err = e
		}
	}
	return err
}

// Close ends everything at once and waits. It is idempotent.
func (e *Engine) Close() error {
	if e.base.Close() {
		if e.sweeping != nil {
			e.sweeping.Stop()
		}
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		groups, subs := e.local.all()
		for _, s := range subs {
			s.end(ended)
		}
		e.sources.end()
		e.publishers.end()
		e.paths.end()
		for _, g := range groups {
			if g.root {
				g.forward.stop()
			}
		}
		e.inboxes.Close()
	}
	e.base.WG.Wait()
	return nil
}

// Status describes the topics of this node. Counts are since the start.
type Status struct {
	Subscriptions int    `json:"subscriptions"`
	Groups        int    `json:"groups"`     // that this node has listened to
	Publishing    int    `json:"publishing"` // groups that this node publishes in
	Streams       int    `json:"streams"`    // publishers that are remembered
	Paths         int    `json:"paths"`      // sessions that are forwarded here
	Published     uint64 `json:"published"`  // messages
	Copies        uint64 `json:"copies"`     // of them and of forwarded ones, sent to other nodes
	Received      uint64 `json:"received"`   // copies from other nodes, for this one
	Forwarded     uint64 `json:"forwarded"`  // messages that were passed on
	Trees         uint64 `json:"trees"`      // made for groups that are published in

	Inboxes inbox.SetStatus `json:"inboxes"`
}

// Status describes the engine now.
func (e *Engine) Status() Status {
	groups, subs := e.local.count()
	return Status{
		Subscriptions: subs, Groups: groups, Publishing: e.publishers.count(), Streams: e.sources.count(), Paths: e.paths.count(),
		Published: e.base.Counts.Published.Load(), Copies: e.base.Counts.Copies.Load(), Received: e.base.Counts.Received.Load(),
		Forwarded: e.base.Counts.Forwarded.Load(), Trees: e.base.Counts.Trees.Load(), Inboxes: e.inboxes.Status(),
	}
}

// Drops counts what went no further, by reason; reasons that never occurred
// are left out.
func (e *Engine) Drops() map[string]uint64 { return e.base.Drops.ByName() }

// DropNames are the reasons that Drops counts.
func DropNames() []string { return drop.Names(env.DropReasons) }
