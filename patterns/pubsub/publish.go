// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/match"
)

// publication is one call of Publish.
type publication struct {
	e      *Engine
	topic  string
	m      patterns.Message
	origin origin
	what   content
	group  *course
	upward *upward // nil = nothing of it goes to the root group
	out    outgoing
	local  *patterns.Publication // as subscriptions on this node see it

	sent    bool
	left    []*receiver     // who had no room
	blocked []*subscription // on this node, likewise
	above   bool            // the forwarder of the root group had no room
}

// Publish is patterns.Messenger's.
func (e *Engine) Publish(ctx context.Context, topic string, m patterns.Message, o patterns.PublishOptions) error {
	if err := ctx.Err(); err != nil {
		return &patterns.DeadlineError{Cause: err}
	}
	p, err := e.newPublication(topic, m, o)
	if err != nil {
		return err
	}
	defer p.end()
	p.out.patient = true
	if p.ready() {
		p.send()
		if p.done() {
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

// TryPublish is patterns.Messenger's.
func (e *Engine) TryPublish(topic string, m patterns.Message, o patterns.PublishOptions) error {
	p, err := e.newPublication(topic, m, o)
	if err != nil {
		return err
	}
	defer p.end()
	size := headRoom + len(topic) + wire.HeadersSize(p.what.headers) + len(p.what.body)
	if !p.group.isReady() || p.group.wouldBlock(topic, size, "") || p.blocksHere() {
		return patterns.ErrWouldBlock
	}
	if p.upward != nil && p.upward.wouldBlock(size) {
		return patterns.ErrWouldBlock
	}
	p.send()
	p.giveUp() // where somebody else took the room: there will be a gap
	return nil
}

func (p *publication) ready() bool {
	return p.group.isReady() && (p.upward == nil || p.upward.isReady())
}

// send sends to whoever has room.
func (p *publication) send() {
	p.sent = true
	p.e.counts.published.Add(1)
	p.left = p.group.send(&p.out, p.what, p.ownQueues(), "")
	p.blocked = p.deliverHere()
	p.above = p.upward != nil && p.upward.put(p) != nil
}

// done says that everybody had room.
func (p *publication) done() bool { return len(p.left) == 0 && len(p.blocked) == 0 && !p.above }

// giveUp leaves those who had no room without the message.
func (p *publication) giveUp() {
	if len(p.left) > 0 {
		p.group.giveUp(p.left)
	}
	for _, s := range p.blocked {
		s.inbox.Put(p.published())
	}
	if p.above {
		p.upward.giveUp()
	}
}

func (e *Engine) newPublication(topic string, m patterns.Message, o patterns.PublishOptions) (*publication, error) {
	if err := match.CheckTopic(topic); err != nil {
		return nil, err
	}
	e.order.Call("pubsub.publish", topic, m.Body, 0)
	hs := wire.ConvertHeaders[wire.Header](m.Headers)
	if err := wire.CheckHeaders(hs); err != nil || wire.HeadersSize(nil)+MaxMessage < wire.HeadersSize(hs)+len(m.Body) {
		e.drops.Inc(dropTooLarge)
		return nil, patterns.ErrTooLarge
	}
	word, _ := match.Group(topic)
	c, ok := e.course(word, false)
	if !ok {
		return nil, patterns.ErrClosed
	}
	what := e.contentOf(c.keys, topic, hs, m.Body)
	p := &publication{e: e, topic: topic, m: m, origin: origin{local: true, client: o.Origin}, what: what, group: c}
	p.out = outgoing{topic: topic}
	if c.keys.Derived() { // else the root group lacks the key
		p.upward = e.upwards()
	}
	return p, nil
}

func (p *publication) end() { p.e.putCourse(p.group) }

// await waits until the subscribers are known.
func (p *publication) await(ctx context.Context) error {
	if err := p.group.await(ctx); err != nil {
		return err
	}
	if p.upward != nil {
		return p.upward.await(ctx)
	}
	return nil
}

// finish waits for room where there was none.
func (p *publication) finish(ctx context.Context) error {
	for len(p.left) > 0 {
		done, err := p.group.waitRoom(ctx, &p.out, p.left)
		if err != nil {
			p.giveUp()
			return p.waitError(ctx, err)
		}
		p.left = p.group.again(&p.out, p.left)
		done()
	}
	if p.above {
		if err := p.upward.send(ctx, p); err != nil {
			p.above = false // it has given up itself
			p.giveUp()
			return p.waitError(ctx, err)
		}
	}
	var err error
	for _, s := range p.blocked {
		if e := s.inbox.PutWait(ctx, p.published()); e != nil && !errors.Is(e, patterns.ErrClosed) {
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

// deliverHere hands the message to the subscriptions on this node, and returns
// those for whose room the publisher has to wait.
func (p *publication) deliverHere() (blocked []*subscription) {
	subs := p.subsHere()
	if len(subs) == 0 {
		return nil
	}
	pub := p.published()
	for _, s := range subs {
		if !s.inbox.Offer(pub) {
			blocked = append(blocked, s)
		}
	}
	return blocked
}

func (p *publication) blocksHere() bool {
	subs := p.plainHere()
	return len(subs) > 0 && slices.ContainsFunc(subs, func(s *subscription) bool { return s.inbox.Blocks(p.published()) })
}

// plainHere returns the subscriptions on this node that get every message.
func (p *publication) plainHere() []*subscription {
	var out []*subscription
	for _, root := range []bool{false, true} {
		for _, s := range p.e.index(root).Match(p.topic, nil) {
			if s.queue == 0 && !s.echoes(p.origin) {
				out = append(out, s)
			}
		}
	}
	return out
}

// subsHere adds those that were picked of their queues.
func (p *publication) subsHere() []*subscription {
	if p.e.plain.Len() == 0 && p.e.root.Len() == 0 {
		return nil
	}
	out := p.plainHere()
	if len(p.out.picks) > 0 {
		subs := p.e.plain.Match(p.topic, nil)
		for _, pick := range p.out.picks {
			if pick.Node != p.e.hash {
				continue
			}
			if s := p.e.one(subs, pick.Queue, p.origin); s != nil {
				out = append(out, s)
			}
		}
	}
	return out
}

// ownQueues lists the queues on this node that the message is for.
func (p *publication) ownQueues() []wire.Interest { return p.e.ownQueues(p.topic, false, p.origin) }

func (e *Engine) ownQueues(topic string, root bool, from origin) (out []wire.Interest) {
	if e.index(root).Len() == 0 {
		return nil
	}
	for _, s := range e.index(root).Match(topic, nil) {
		if s.queue == 0 || s.echoes(from) {
			continue
		}
		i := slices.IndexFunc(out, func(o wire.Interest) bool { return o.Pattern == s.pattern && o.Queue == s.options.Queue })
		if i < 0 {
			out = append(out, wire.Interest{Pattern: s.pattern, Queue: s.options.Queue, Weight: 1})
		} else {
			out[i].Weight++
		}
	}
	return out
}

// published is the message as subscriptions on this node see it; a copy, for
// the caller keeps its own.
func (p *publication) published() *patterns.Publication {
	if p.local == nil {
		p.local = &patterns.Publication{
			Topic: strings.Clone(p.topic), From: p.e.text, Headers: slices.Clone(p.m.Headers), Body: slices.Clone(p.m.Body),
		}
	}
	return p.local
}

func (c *course) isReady() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready
}

// await waits for the first view.
func (c *course) await(ctx context.Context) error {
	if c.isReady() {
		return nil
	}
	if err := c.e.awaitView(ctx, c.watch); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready = true
	return nil
}

// awaitView waits until the view can be believed, and a moment for it to be
// complete.
func (e *Engine) awaitView(ctx context.Context, w Watch) error {
	_, err := w.Wait(ctx, false)
	switch {
	case err == nil || errors.Is(err, cluster.ErrNoMembers):
	case errors.Is(err, cluster.ErrUnreachable):
		return patterns.ErrUnreachable
	case errors.Is(err, cluster.ErrClosed):
		return patterns.ErrClosed
	default:
		return &patterns.DeadlineError{Cause: err}
	}
	const pause = completeTime / 20
	for waited := pause; !w.View().Complete && waited <= completeTime; waited += pause {
		if !overlay.Sleep(ctx, e.cfg.Clock, "pubsub.sleep", pause) {
			break
		}
	}
	return nil
}
