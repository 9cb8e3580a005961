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
	subs   []*subscription // on this node
}

// Publish is patterns.Messenger's.
func (e *Engine) Publish(ctx context.Context, topic string, m patterns.Message, o patterns.PublishOptions) error {
	if err := ctx.Err(); err != nil {
		return &patterns.DeadlineError{Cause: err}
	}
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = overlay.WithTimeout(ctx, e.cfg.Clock, "pubsub.publish", defaultTimeout)
		defer cancel()
	}
	p, err := e.newPublication(topic, m, o)
	if err != nil {
		return err
	}
	defer p.end()
	if err := p.await(ctx); err != nil {
		return err
	}
	left := p.group.send(&p.out, p.what, p.ownQueues(), "")
	blocked := p.deliverHere()
	if p.upward != nil {
		err = p.upward.send(ctx, p)
	}
	return errors.Join(err, p.finish(ctx, left, blocked))
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
	left := p.group.send(&p.out, p.what, p.ownQueues(), "")
	if len(left) > 0 { // somebody else took the room: it is told of the gap
		p.group.giveUp(left)
	}
	for _, s := range p.deliverHere() {
		s.inbox.Put(p.published())
	}
	if p.upward != nil {
		p.upward.trySend(p)
	}
	return nil
}

func (e *Engine) newPublication(topic string, m patterns.Message, o patterns.PublishOptions) (*publication, error) {
	if err := match.CheckTopic(topic); err != nil {
		return nil, err
	}
	new(turn).take(e.cfg.Exec, "pubsub.publish", fingerprint(topic, m.Body))
	what, err := e.contentOf(topic, m)
	if err != nil {
		return nil, err
	}
	word, _ := match.Group(topic)
	c, ok := e.course(word, false)
	if !ok {
		return nil, patterns.ErrClosed
	}
	p := &publication{e: e, topic: topic, m: m, origin: origin{local: true, client: o.Origin}, what: what, group: c}
	p.out = outgoing{topic: topic}
	if e.cfg.Keys(clusterOf(word)).Derived() { // else the root group lacks the key
		p.upward = e.upwards()
	}
	e.counts.published.Add(1)
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

// finish sends to those who had no room, and waits for it.
func (p *publication) finish(ctx context.Context, left []*receiver, blocked []*subscription) error {
	for len(left) > 0 {
		if err := p.group.waitRoom(ctx, &p.out, left); err != nil {
			p.group.giveUp(left)
			for _, s := range blocked {
				s.inbox.Put(p.published())
			}
			return p.waitError(ctx, err)
		}
		left = p.group.again(&p.out, left)
	}
	var err error
	for _, s := range blocked {
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
		if s.inbox.Blocks(pub) {
			blocked = append(blocked, s)
		} else {
			s.inbox.Put(pub)
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
			if s := p.e.one(subs, pick.Queue); s != nil && !s.echoes(p.origin) {
				out = append(out, s)
			}
		}
	}
	return out
}

// ownQueues lists the queues on this node that the message is for.
func (p *publication) ownQueues() []wire.Interest { return p.e.ownQueues(p.topic, false) }

func (e *Engine) ownQueues(topic string, root bool) (out []wire.Interest) {
	if e.index(root).Len() == 0 {
		return nil
	}
	for _, s := range e.index(root).Match(topic, nil) {
		if s.queue == 0 {
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
	return &patterns.Publication{
		Topic: strings.Clone(p.topic), From: p.e.text, Headers: slices.Clone(p.m.Headers), Body: slices.Clone(p.m.Body),
	}
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
		if !e.sleep(ctx, pause) {
			break
		}
	}
	return nil
}
