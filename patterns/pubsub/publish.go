// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/patterns/pubsub/fanout"
	"github.com/arke-mesh/arke/security"
)

// publication is one call of Publish.
type publication struct {
	e      *Engine
	m      patterns.Message
	tail   []byte        // in place of m
	run    wire.Messages // likewise: several, none of which is named
	count  int           // of messages
	origin origin
	plain  fanout.Content // what is published
	what   fanout.Content // the same, signed and sealed as it has to be
	out    fanout.Outgoing
	to     *publisher
	uplink *uplink // nil = nothing of it goes to the root group
	here   here
	serial uint64            // of seal and signature; 0 = there is none
	keys   *security.Cluster // that seal it; nil = it is not sealed
	key    security.KeyID    // the one of them that does

	sent    bool
	lacking []*fanout.Receiver // nothing was sent, because none of these has room
	left    []*fanout.Receiver // who had no room
	above   bool               // the forwarder of the root group had no room
}

// here is what the subscriptions on the publisher's own node have of a publication.
type here struct {
	copy    *message        // for inboxes, which keep it; nil = there is none yet
	blocked []*subscription // for whose room the publisher has to wait
	out     handout         // to proxies, which are done with it when they return
}

// clear lets go of the publication, and keeps scratch.
func (h *here) clear() {
	h.out.clear()
	h.copy, h.blocked = nil, nil
}

// Publish is patterns.Messenger's.
func (e *Engine) Publish(ctx context.Context, topic string, m patterns.Message, o patterns.PublishOptions) error {
	e.base.Order.Call("pubsub.publish", topic, m.Body, 0)
	if len(m.Headers) == 0 && o.Keys == "" && o.Confirm == nil {
		if done, err := publishQuickly(ctx, e, topic, m.Body); done {
			return err
		}
	}
	p := e.calls.Get().(*publication)
	p.m = m
	err := p.publish(ctx, e, topic, o)
	e.finished(p)
	return err
}

// TryPublish is patterns.Messenger's.
func (e *Engine) TryPublish(topic string, m patterns.Message, o patterns.PublishOptions) error {
	e.base.Order.Call("pubsub.publish", topic, m.Body, 0)
	p := e.calls.Get().(*publication)
	p.m = m
	err := p.try(e, topic, o)
	e.finished(p)
	return err
}

// PublishTail is Publish of headers and body as they travel (see Delivery.Tails). tail is
// copied before PublishTail returns.
func (e *Engine) PublishTail(ctx context.Context, topic string, tail []byte, o patterns.PublishOptions) error {
	e.base.Order.Call("pubsub.publish", topic, tail, 0)
	p := e.calls.Get().(*publication)
	p.tail = tail
	err := p.publish(ctx, e, topic, o)
	e.finished(p)
	return err
}

// TryPublishTail is PublishTail, but returns patterns.ErrWouldBlock where that
// would wait, and has sent nothing then.
func (e *Engine) TryPublishTail(topic string, tail []byte, o patterns.PublishOptions) error {
	e.base.Order.Call("pubsub.publish", topic, tail, 0)
	p := e.calls.Get().(*publication)
	p.tail = tail
	err := p.try(e, topic, o)
	e.finished(p)
	return err
}

// finished lets the next call have p.
func (e *Engine) finished(p *publication) {
	if p.serial != 0 {
		e.base.Serials.Done(p.serial)
	}
	p.here.clear()
	*p = publication{here: p.here} // its scratch
	e.calls.Put(p)
}

func (p *publication) publish(ctx context.Context, e *Engine, topic string, o patterns.PublishOptions) error {
	if err := ctx.Err(); err != nil && !o.Accepted {
		return &patterns.DeadlineError{Cause: err}
	}
	if err := p.begin(e, topic, o); err != nil {
		return err
	}
	defer e.publishers.done(p.to)
	p.out.Confirmed = o.Confirm != nil
	if err := p.toAll(ctx); err != nil || o.Confirm == nil {
		return err
	}
	nodes, err := p.confirm(ctx)
	*o.Confirm = nodes
	return err
}

// toAll has all who listen sent the publication.
func (p *publication) toAll(ctx context.Context) error {
	ready := p.ready()
	if ready {
		p.send(waits)
		if p.sent && len(p.left) == 0 && len(p.here.blocked) == 0 && !p.above {
			return nil
		}
	}
	return p.slowly(ctx, ready)
}

// ready says whether those who listen are known.
func (p *publication) ready() bool {
	return known(&p.to.listeners, p.uplink)
}

// slowly is publish if something has to be waited for. tried says that send was called:
// ready would not tell, because it may have become true since.
func (p *publication) slowly(ctx context.Context, tried bool) error {
	if _, limited := ctx.Deadline(); !limited { // it costs something, and is seldom needed
		var cancel context.CancelFunc
		ctx, cancel = overlay.WithTimeout(ctx, p.e.base.Cfg.Clock, "pubsub.publish", env.DefaultTimeout)
		defer cancel()
	}
	if !tried {
		if err := p.await(ctx); err != nil {
			return err
		}
		p.send(waits)
	}
	return p.finish(ctx)
}

func (p *publication) try(e *Engine, topic string, o patterns.PublishOptions) error {
	if err := p.begin(e, topic, o); err != nil {
		return err
	}
	defer e.publishers.done(p.to)
	if !p.ready() || p.blocksHere() || p.uplink != nil && p.uplink.wouldBlock(p.what.Size(topic)) {
		return patterns.ErrWouldBlock
	}
	p.send(tries)
	switch {
	case p.out.Apart:
		return errApart
	case !p.sent:
		return patterns.ErrWouldBlock
	}
	p.giveUp() // where somebody else took the room: there will be a gap
	return nil
}

// begin checks the message and takes it in.
func (p *publication) begin(e *Engine, topic string, o patterns.PublishOptions) error {
	p.e, p.origin = e, origin{local: true, client: o.Origin}
	r, up, err := e.publishers.begin(topic, o.Keys)
	if err != nil {
		return err
	}
	p.to, p.out.Topic, p.out.Route = r.to, r.topic, &r.WayTo
	if p.run != nil && !p.together(r, up) {
		e.publishers.done(p.to)
		return errApart
	}
	if err := p.pack(); err != nil {
		e.publishers.done(p.to)
		e.base.Drops.Inc(env.DropTooLarge)
		return err
	}
	e.armSweep()
	p.uplink = up
	if p.to.keys.Seals() {
		p.keys = p.to.keys.Now()
		p.key = p.keys.CommonKey()
		if p.key == (security.KeyID{}) {
			e.publishers.done(p.to)
			return env.NoKeys(p.out.Topic)
		}
	}
	p.wrap(r.asked(up))
	return nil
}

// wrap signs what is published, if somebody asks for that, and seals it, if it has to be.
func (p *publication) wrap(sign bool) {
	p.what = p.plain
	seal := p.keys != nil
	if (sign || seal) && p.serial == 0 {
		p.serial = p.e.base.Serials.Take()
	}
	if sign {
		p.what = signed(p.e.base, p.session(), p.serial, p.out.Topic, p.what)
	}
	if seal {
		p.what = sealWith(p.e.base, p.keys, p.key, p.out.Topic, p.serial, p.what)
	}
}

// session is the one in which it is published.
func (p *publication) session() uint64 {
	p.to.lock()
	defer p.to.Unlock()
	p.to.use()
	return p.to.Session
}

// pack checks what is published.
func (p *publication) pack() error {
	size := len(p.tail)
	if p.run != nil {
		p.plain = fanout.Content{Unnamed: p.run, Count: p.count}
		return nil
	}
	if p.tail != nil {
		if _, _, err := wire.DecodeHeaders(p.tail); err != nil {
			return patterns.ErrTooLarge
		}
		p.plain = fanout.Content{Packed: true, Body: p.tail}
	} else {
		p.plain = fanout.Content{Head: wire.ConvertHeaders[wire.Header](p.m.Headers), Body: p.m.Body}
		if wire.CheckHeaders(p.plain.Head) != nil {
			return patterns.ErrTooLarge
		}
		size = wire.HeadersSize(p.plain.Head) + len(p.m.Body)
	}
	if size > env.MaxMessage+wire.HeadersSize(nil) {
		return patterns.ErrTooLarge
	}
	return nil
}

// send sends to whoever has room.
func (p *publication) send(m mode) {
	listeners := p.heard()
	if p.run != nil && !listeners.atOnce() { // somebody has subscribed since a moment ago
		p.out.Apart = true
		return
	}
	own := listeners.queues(false, p.origin)
	p.left, p.lacking = p.to.send(&p.out, &p.what, own, "", m)
	if p.out.Unsigned { // somebody asks for it since a moment ago
		p.wrap(true)
		p.left, p.lacking = p.to.send(&p.out, &p.what, own, "", m)
	}
	if p.sent = p.lacking == nil && !p.out.Apart; !p.sent {
		return
	}
	p.e.base.Counts.Published.Add(uint64(p.what.Number()))
	p.deliverHere(listeners)
	p.above = p.uplink != nil && p.uplink.put(p.to.last.Load(), p.out.Topic, &p.what) != nil
}

// giveUp leaves those who had no room without the message.
func (p *publication) giveUp() {
	if len(p.left) > 0 {
		p.to.giveUp(p.left, p.what.Number())
	}
	for _, s := range p.here.blocked {
		s.inbox.Put(p.copied().unpacked())
	}
	if p.above {
		p.uplink.giveUp(p.what.Number())
	}
}

// await waits until the subscribers are known.
func (p *publication) await(ctx context.Context) error {
	if err := p.to.await(ctx, p.e.base); err != nil {
		return err
	}
	if p.uplink != nil {
		return p.uplink.await(ctx, p.e.base)
	}
	return nil
}

// finish waits for room where there was none.
func (p *publication) finish(ctx context.Context) error {
	if p.out.Apart {
		return errApart
	}
	for !p.sent {
		done, err := p.to.waitRoom(ctx, &p.out, p.what.Size(p.out.Topic), false, p.lacking)
		if err != nil {
			p.send(forced)
			p.giveUp()
			return p.waitError(ctx, err)
		}
		p.send(waits)
		done()
	}
	for len(p.left) > 0 {
		done, err := p.to.waitRoom(ctx, &p.out, p.out.Size(), true, p.left[:1])
		if err != nil {
			p.giveUp()
			return p.waitError(ctx, err)
		}
		p.left = p.to.again(&p.out, &p.what, p.left)
		done()
	}
	if p.above {
		if err := p.uplink.send(ctx, p.out.Topic, &p.what); err != nil {
			p.above = false // it has given up itself
			p.giveUp()
			return p.waitError(ctx, err)
		}
	}
	var err error
	for _, s := range p.here.blocked {
		if e := s.inbox.PutWait(ctx, p.copied().unpacked()); e != nil && !errors.Is(e, patterns.ErrClosed) {
			err = p.waitError(ctx, e)
		}
	}
	return err
}

func (p *publication) waitError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &patterns.DeadlineError{Cause: ctx.Err(), MaybeRan: true}
	}
	if errors.Is(err, overlay.ErrClosed) {
		return patterns.ErrClosed
	}
	return err
}

// heard returns the subscriptions on this node that the publication is for; nil = none.
func (p *publication) heard() *answer {
	return p.e.local.heardHere(&p.to.keys, p.key, p.out.Topic)
}

// blocksHere says whether the publisher would have to wait for room here.
func (p *publication) blocksHere() bool {
	if p.run != nil {
		return false
	}
	subs := p.e.local.published(p.heard(), p.to.keys.Common(), p.origin, nil, nil)
	return slices.ContainsFunc(subs, func(s *subscription) bool { return s.inbox != nil && s.inbox.Blocks(p.copied().unpacked()) })
}

// deliverHere hands what is published to those of these subscriptions that it is for, but
// not to those for whose room the publisher has to wait.
func (p *publication) deliverHere(listeners *answer) {
	h := &p.here
	subs := p.e.local.published(listeners, p.to.keys.Common(), p.origin, p.out.Picks, h.out.all[:0])
	if len(subs) == 0 {
		return
	}
	p.out.Took++
	h.out.all = subs[:0]
	for _, s := range subs {
		switch {
		case s.lends():
			p.lend(s)
		case s.proxy != nil:
			h.out.all = append(h.out.all, s)
		case !s.inbox.Offer(p.copied().unpacked()):
			h.blocked = append(h.blocked, s)
		}
	}
	if len(h.out.all) > 0 {
		p.handHere()
	}
}

// handHere hands what is published to the proxies.
func (p *publication) handHere() {
	out := &p.here.out
	out.sink = Delivery{Topic: p.out.Topic, Publisher: p.e.base.Self}
	switch {
	case p.run != nil:
		m := wire.Message{}
		for rest := p.run; len(rest) > 0; {
			m = rest.Next(m)
			out.add(m.Content)
		}
	case p.tail != nil:
		out.add(p.tail)
	default:
		out.add(p.copied().encoded())
	}
	out.toAll()
}

// lend hands what is published on the gateway's own node to it, if it is the one that
// has it.
func (p *publication) lend(s *subscription) {
	for _, pick := range p.out.Picks {
		if pick.Queue == s.queue && pick.Node == p.e.base.Hash {
			m := p.copied()
			d := Delivery{Topic: m.pub.Topic, Publisher: m.publisher, Session: p.session(), Tails: [][]byte{m.encoded()}}
			s.lend(&d, pick, p.out.Picks)
		}
	}
}

// copied is the message as inboxes here take it: the caller of Publish keeps its own.
func (p *publication) copied() *message {
	if p.here.copy == nil {
		m := &message{publisher: p.e.base.Self, pub: patterns.Publication{Topic: strings.Clone(p.out.Topic), From: p.e.base.Text}}
		if p.tail != nil {
			m.tail, m.packed = slices.Clone(p.tail), true
		} else {
			m.pub.Headers, m.pub.Body = slices.Clone(p.m.Headers), slices.Clone(p.m.Body)
		}
		p.here.copy = m
	}
	return p.here.copy
}

// waitRoom waits until one of these may have room for a message, of which others
// have their copies if it was sent. The caller calls done when it has tried.
func (p *publisher) waitRoom(ctx context.Context, o *fanout.Outgoing, size int, sent bool, rs []*fanout.Receiver) (done func(), err error) {
	var first fanout.Race
	p.lock()
	for _, r := range rs {
		n := size
		if r.Branch != nil && r.Pending != wire.SkipLeft && (!sent || o.Tree && r.Branch.Epoch <= o.Epoch) {
			n += r.Branch.PathSize() // a path may have to go before it
			r = r.Branch.Head
		}
		first.Waiters = append(first.Waiters, p.Stand(ctx, r, n))
	}
	p.Unlock()
	done, err = first.Run(ctx, p.Base)
	p.Mu.Lock()
	defer p.Mu.Unlock()
	for _, w := range first.Waiters {
		p.Waiters.Away(w)
	}
	return done, err
}

// hasRoom says whether a message of that size would be taken for r, on the way
// that it would have.
func (p *publisher) hasRoom(r *fanout.Receiver, size int) bool {
	if r.Branch != nil && r.Index >= 0 && r.Pending != wire.SkipLeft && !p.Hop(r.Branch.Head).HasRoom(size) {
		return false
	}
	return r.Branch != nil && r.Index >= 0 || p.Hop(r).HasRoom(size)
}
