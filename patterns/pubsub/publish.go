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
	"github.com/arke-mesh/arke/patterns/pubsub/match"
)

// publication is one call of Publish.
type publication struct {
	e      *Engine
	m      patterns.Message
	tail   []byte // in place of m
	origin origin
	what   content
	out    outgoing
	to     *publisher
	uplink *uplink  // nil = nothing of it goes to the root group
	local  *message // as subscriptions on this node see it

	sent    bool
	left    []*receiver     // who had no room
	blocked []*subscription // on this node, likewise
	above   bool            // the forwarder of the root group had no room
}

// Publish is patterns.Messenger's.
func (e *Engine) Publish(ctx context.Context, topic string, m patterns.Message, o patterns.PublishOptions) error {
	p := publication{m: m}
	return p.publish(ctx, e, topic, o)
}

// TryPublish is patterns.Messenger's.
func (e *Engine) TryPublish(topic string, m patterns.Message, o patterns.PublishOptions) error {
	p := publication{m: m}
	return p.try(e, topic, o)
}

// PublishTail is Publish of headers and body as they travel (see Delivery.Tail),
// and says how many nodes have the message in their lanes, this one included if
// it is for subscriptions here. tail is copied before PublishTail returns.
func (e *Engine) PublishTail(ctx context.Context, topic string, tail []byte, o patterns.PublishOptions) (nodes int, err error) {
	p := publication{tail: tail}
	err = p.publish(ctx, e, topic, o)
	return p.out.took, err
}

// TryPublishTail is PublishTail, but returns patterns.ErrWouldBlock where that
// would wait, and has sent nothing then.
func (e *Engine) TryPublishTail(topic string, tail []byte, o patterns.PublishOptions) (nodes int, err error) {
	p := publication{tail: tail}
	err = p.try(e, topic, o)
	return p.out.took, err
}

func (p *publication) publish(ctx context.Context, e *Engine, topic string, o patterns.PublishOptions) error {
	if err := ctx.Err(); err != nil {
		return &patterns.DeadlineError{Cause: err}
	}
	if err := p.begin(e, topic, o); err != nil {
		return err
	}
	defer e.publishers.done(p.to)
	if p.to.ready.Load() && (p.uplink == nil || p.uplink.ready.Load()) {
		p.send()
		if len(p.left) == 0 && len(p.blocked) == 0 && !p.above {
			return nil
		}
	}
	if _, limited := ctx.Deadline(); !limited { // it costs something, and is seldom needed
		var cancel context.CancelFunc
		ctx, cancel = overlay.WithTimeout(ctx, e.cfg.Clock, "pubsub.publish", defaultTimeout)
		defer cancel()
	}
	if !p.sent {
		if err := p.await(ctx); err != nil {
			return err
		}
		p.send()
	}
	return p.finish(ctx)
}

func (p *publication) try(e *Engine, topic string, o patterns.PublishOptions) error {
	if err := p.begin(e, topic, o); err != nil {
		return err
	}
	defer e.publishers.done(p.to)
	size := p.what.size(topic)
	if !p.to.ready.Load() || p.to.wouldBlock(topic, size) || p.blocksHere() || p.uplink != nil && p.uplink.wouldBlock(size) {
		return patterns.ErrWouldBlock
	}
	p.send()
	p.giveUp() // where somebody else took the room: there will be a gap
	return nil
}

// begin checks the message and takes it in.
func (p *publication) begin(e *Engine, topic string, o patterns.PublishOptions) error {
	p.e, p.origin, p.out.topic = e, origin{local: true, client: o.Origin}, topic
	if err := match.CheckTopic(topic); err != nil {
		return err
	}
	size := 0
	if p.tail != nil {
		if _, _, err := wire.DecodeHeaders(p.tail); err != nil {
			e.drops.Inc(dropTooLarge)
			return patterns.ErrTooLarge
		}
		p.what = content{packed: true, body: p.tail}
		size = len(p.tail)
		e.order.Call("pubsub.publish", topic, p.tail, 0)
	} else {
		e.order.Call("pubsub.publish", topic, p.m.Body, 0)
		p.what = content{head: wire.ConvertHeaders[wire.Header](p.m.Headers), body: p.m.Body}
		if wire.CheckHeaders(p.what.head) != nil {
			size = MaxMessage
		}
		size += wire.HeadersSize(p.what.head) + len(p.m.Body)
	}
	if size > MaxMessage+wire.HeadersSize(nil) {
		e.drops.Inc(dropTooLarge)
		return patterns.ErrTooLarge
	}
	if p.to = e.publishers.use(firstWord(topic), false); p.to == nil {
		return patterns.ErrClosed
	}
	e.armSweep()
	p.what = e.seal(p.to.keys, topic, p.what)
	if p.to.keys.Derived() { // else the root group lacks the key
		p.uplink = e.publishers.toRoot()
	}
	return nil
}

// send sends to whoever has room.
func (p *publication) send() {
	p.sent = true
	p.e.counts.published.Add(1)
	p.left = p.to.send(&p.out, &p.what, p.e.local.queues(p.out.topic, false, p.origin), "")
	p.deliverHere()
	p.above = p.uplink != nil && p.uplink.put(p.out.topic, &p.what) != nil
}

// giveUp leaves those who had no room without the message.
func (p *publication) giveUp() {
	if len(p.left) > 0 {
		p.to.giveUp(p.left)
	}
	for _, s := range p.blocked {
		s.inbox.Put(p.here().unpacked())
	}
	if p.above {
		p.uplink.giveUp()
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
	for len(p.left) > 0 {
		done, err := p.to.waitRoom(ctx, &p.out, p.left[0])
		if err != nil {
			p.giveUp()
			return p.waitError(ctx, err)
		}
		p.left = p.to.again(&p.out, p.left)
		done()
	}
	if p.above {
		if err := p.uplink.send(ctx, p.out.topic, &p.what); err != nil {
			p.above = false // it has given up itself
			p.giveUp()
			return p.waitError(ctx, err)
		}
	}
	var err error
	for _, s := range p.blocked {
		if e := s.inbox.PutWait(ctx, p.here().unpacked()); e != nil && !errors.Is(e, patterns.ErrClosed) {
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

// deliverHere hands the message to the subscriptions on this node, but for those
// for whose room the publisher has to wait.
func (p *publication) deliverHere() {
	subs := p.e.local.published(p.out.topic, p.origin, p.out.picks, nil)
	if len(subs) == 0 {
		return
	}
	p.out.took++
	m := p.here()
	var f found
	for _, s := range subs {
		switch {
		case s.outlet != nil:
			f.out = append(f.out, s)
		case !s.inbox.Offer(m.unpacked()):
			p.blocked = append(p.blocked, s)
		}
	}
	f.flush(m)
}

func (p *publication) blocksHere() bool {
	subs := p.e.local.published(p.out.topic, p.origin, nil, nil)
	return slices.ContainsFunc(subs, func(s *subscription) bool { return s.inbox != nil && s.inbox.Blocks(p.here().unpacked()) })
}

// here is the message as subscriptions on this node see it; a copy, for the
// caller keeps its own.
func (p *publication) here() *message {
	if p.local == nil {
		p.local = &message{publisher: p.e.self, pub: patterns.Publication{Topic: strings.Clone(p.out.topic), From: p.e.text}}
		if p.tail != nil {
			p.local.tail, p.local.packed = slices.Clone(p.tail), true
		} else {
			p.local.pub.Headers, p.local.pub.Body = slices.Clone(p.m.Headers), slices.Clone(p.m.Body)
		}
	}
	return p.local
}

// waitRoom waits until the first of those who are left over may have room. The
// caller calls done when it has tried.
func (p *publisher) waitRoom(ctx context.Context, o *outgoing, r *receiver) (done func(), err error) {
	p.lock()
	size := o.size()
	if o.tree && r.branch != nil && r.branch.epoch <= o.epoch && r.pending != wire.SkipLeft {
		size += r.branch.pathSize() // a path may have to go before it
		r = r.branch.head
	}
	w := p.stand(ctx, r, size)
	p.unlock()
	done, err = w.wait(ctx, p.base)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away(w)
	return done, err
}

// hasRoom says whether a message of that size would be taken for r, on the way
// that it would have.
func (p *publisher) hasRoom(r *receiver, size int) bool {
	if r.branch != nil && r.index >= 0 && r.pending != wire.SkipLeft && !p.hop(r.branch.head).hasRoom(size) {
		return false
	}
	return r.branch != nil && r.index >= 0 || p.hop(r).hasRoom(size)
}

// wouldBlock says whether send would leave somebody over.
func (p *publisher) wouldBlock(topic string, size int) bool {
	p.lock()
	defer p.unlock()
	w := p.audience.match(topic)
	var lacking, served []uint64 // queues
	for _, in := range w.interests {
		switch room := in.r.state.gone != 0 || p.hasRoom(in.r, size); {
		case in.queue == 0 && !room:
			return true
		case in.queue != 0 && in.r.state.gone == 0 && room:
			served = append(served, in.queue)
		case in.queue != 0 && !room:
			lacking = append(lacking, in.queue)
		}
	}
	return slices.ContainsFunc(lacking, func(q uint64) bool { return !slices.Contains(served, q) })
}
