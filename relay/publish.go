// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/policy"
)

const (
	// queues is how many topics may wait for room at the node without waiting
	// for each other.
	queues = 64
	// shared is the key of the queue of all topics beyond that. It is no topic.
	shared = ""
)

// publisher is what one client publishes. The reader of its connection does it
// at once where nothing has to wait; a topic that must wait gets a queue, which
// has a goroutine until it is empty. What is published on one topic stays in
// order: it goes through the queue as long as there is one. The client's lane is
// acknowledged as publications are done, so that its full window is what makes
// it wait.
type publisher struct {
	// Immutable after newPublisher.
	c      *client
	origin uint64

	known wire.Texts // owned by the reader

	busy atomic.Int32 // queues

	// Guarded by mu.
	mu    sync.Mutex
	lines map[string]*queue // by topic; none is empty
	bytes int               // in all of them
	room  portion           // for bytes
}

func newPublisher(c *client, origin, number uint64) *publisher {
	return &publisher{
		c: c, origin: origin, lines: map[string]*queue{},
		room: c.relay.shares.bytes.Portion(number, ownBytes, stepBytes),
	}
}

// handle publishes, or has it wait: then it will acknowledge the frame. It does
// not keep body.
func (p *publisher) handle(lane wire.Lane, body []byte) error {
	m, err := wire.DecodeLeafPublish(body, &p.known)
	switch {
	case err != nil:
		return malformed(err)
	case lane != wire.LanePub:
		return undue("a publication on another lane")
	}
	if err := p.c.rights.refuse(policy.Publish, m.Topic); err != nil {
		p.answer(&m, m.Count, err, 0)
		return nil
	}
	if p.c.calls.stopped.Load() {
		p.refuse(&m)
		return nil
	}
	if p.busy.Load() > 0 && p.follow(&m) {
		return nil
	}
	if p.try(&m); m.Count > 0 {
		p.wait(&m)
	}
	return nil
}

// try publishes what need not wait, and leaves the rest of m.
func (p *publisher) try(m *wire.LeafPublish) {
	o := p.options(m.Topic)
	switch m.ID {
	case wire.SeveralPublications:
	case 0:
		err := p.c.relay.cfg.Node.TryPublishTail(m.Topic, m.Tail, o)
		if !errors.Is(err, patterns.ErrWouldBlock) {
			p.tell(m, 1, 0, err)
			m.Count = 0
		}
		return
	default: // it waits for other nodes
		return
	}
	for m.Count > 0 {
		done, failed, err := p.c.relay.cfg.Node.TryPublishRun(m.Topic, wire.Messages(m.Tail), m.Count, o)
		if m.Skip(done); errors.Is(err, patterns.ErrWouldBlock) {
			return
		}
		p.tell(m, failed, 0, err)
		m.Skip(failed)
	}
}

// refuse tells the client that the relay shuts down.
func (p *publisher) refuse(m *wire.LeafPublish) {
	p.c.relay.count.add(dropRequestInDrain, m.Count)
	p.answer(m, m.Count, errDraining, 0)
}

// answer says what became of m, or of so many of it.
func (p *publisher) answer(m *wire.LeafPublish, count int, err error, nodes int) {
	id := m.ID
	if id == wire.SeveralPublications {
		id = 0
	}
	for range count {
		p.c.answers.done(wire.LaneCtl, id, err, uint64(nodes))
	}
}

// options are those with which something is published on a topic.
func (p *publisher) options(topic string) patterns.PublishOptions {
	return patterns.PublishOptions{Origin: p.origin, Keys: p.c.conn.keys.topic(topic)}
}

// tell answers the client for so many messages, if it wants to know.
func (p *publisher) tell(m *wire.LeafPublish, count, nodes int, err error) {
	if err != nil && p.c.relay.isDraining() && nobodyAsked(err) {
		err = errDraining
	}
	if err != nil || m.ID != 0 && m.ID != wire.SeveralPublications {
		p.answer(m, count, err, nodes)
	}
}

// follow puts m behind what waits in its topic's queue, if anything does. While
// there is a shared queue, topics without one of their own may be in it.
func (p *publisher) follow(m *wire.LeafPublish) (handled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range [...]string{m.Topic, shared} {
		if p.lines[key] != nil {
			p.push(key, m)
			return true
		}
	}
	return false
}

// wait begins a queue.
func (p *publisher) wait(m *wire.LeafPublish) {
	p.mu.Lock()
	key := m.Topic
	if len(p.lines) >= queues {
		key = shared
	}
	ok := p.push(key, m)
	p.mu.Unlock()
	if !ok {
		return
	}
	p.busy.Add(1)
	if !p.c.spawn("relay/publish", func() { p.work(key) }) {
		p.abandon(key)
	}
}

// push takes a place in a queue. A client that keeps to its window, and to its share
// of what all may hold, always has one. The caller holds mu.
func (p *publisher) push(key string, m *wire.LeafPublish) bool {
	size := len(m.Topic) + len(m.Tail)
	var err error
	switch {
	case p.bytes == 0:
		p.room.Cover(size)
	case p.bytes+size > p.c.relay.cfg.Limits.PublicationBytes:
		err = p.c.relay.refusals.publications
	case !p.room.Cover(p.bytes + size):
		err = p.c.relay.refusals.shareOfBytes
	}
	if err != nil {
		p.c.relay.count.limit(err)
		p.answer(m, m.Count, err, 0)
		return false
	}
	if !p.c.calls.enter() {
		p.room.Cover(p.bytes)
		p.refuse(m)
		return false
	}
	p.c.sess.Hold()
	line := p.lines[key]
	if line == nil {
		line = &queue{pool: &p.c.relay.waiting}
		p.lines[key] = line
	}
	line.push(m)
	p.bytes += size
	return true
}

// work publishes what waits in a queue until nothing does. The first one stays
// in it while it is at it, so that others follow. When the session has ended it waits for
// nothing: the client counts on what the relay has received (Relay.former).
func (p *publisher) work(key string) {
	for more := true; more; {
		next := p.first(key)
		ctx, cancel := p.c.ctx, context.CancelFunc(func() {}) // the node's default is as long
		if next.Deadline != 0 {
			ctx, cancel = p.c.relay.within(ctx, p.c.localTime(next.Deadline).Sub(p.c.now()))
		}
		if next.ID == wire.SeveralPublications {
			p.run(ctx, &next)
			more = p.pop(key)
		} else {
			nodes, o := 0, p.options(next.Topic)
			if o.Accepted = next.ID == 0; !o.Accepted {
				o.Confirm = &nodes
			}
			err := p.c.relay.cfg.Node.PublishTail(ctx, next.Topic, next.Tail, o)
			more = p.pop(key)
			p.ended(&next, 1, nodes, err)
		}
		cancel()
		p.done()
	}
}

// run publishes several that have waited together.
func (p *publisher) run(ctx context.Context, m *wire.LeafPublish) {
	o := p.options(m.Topic)
	o.Accepted = true
	for m.Count > 0 {
		done, failed, err := p.c.relay.cfg.Node.PublishRun(ctx, m.Topic, wire.Messages(m.Tail), m.Count, o)
		m.Skip(done)
		p.ended(m, failed, 0, err)
		m.Skip(failed)
	}
}

// first returns what a queue begins with. Its tail is good until pop.
func (p *publisher) first(key string) wire.LeafPublish {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *p.lines[key].first()
}

// ended is tell of what has waited, unless nobody is there any more.
func (p *publisher) ended(m *wire.LeafPublish, count, nodes int, err error) {
	if p.c.ctx.Err() == nil {
		p.tell(m, count, nodes, err)
	}
}

// done acknowledges a frame that has waited.
func (p *publisher) done() {
	if p.c.ctx.Err() == nil {
		p.c.sess.Release(wire.LanePub, 1)
	}
	p.c.calls.leave()
}

// abandon is work for a queue that nobody works on.
func (p *publisher) abandon(key string) {
	for more := true; more; {
		next := p.first(key)
		more = p.pop(key)
		p.ended(&next, next.Count, 0, patterns.ErrOverloaded)
		p.done()
	}
}

// pop takes the first one out of a queue, and says whether there are others.
func (p *publisher) pop(key string) (more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := p.lines[key]
	p.bytes -= line.pop()
	p.room.Cover(p.bytes)
	if line.len() > 0 {
		return true
	}
	delete(p.lines, key)
	p.busy.Add(-1)
	return false
}
