// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/internal/failure"
)

const (
	// publishTimeout is what a Publish has that says nothing: package
	// patterns' default.
	publishTimeout = 5 * time.Second
	// ackEvery is after how many publishes the client is told at the latest.
	ackEvery = 256
	// queues is how many topics may wait for room at the node without waiting
	// for each other.
	queues = 64
	// shared is the key of the queue of all topics beyond that. It is no topic.
	shared = ""
)

// publisher is what one client publishes. The reader of the session does it at
// once where nothing has to wait; a topic that must wait gets a queue, which
// has a goroutine until it is empty. What is published on one topic stays in
// order: it goes through the queue as long as there is one.
type publisher struct {
	// Immutable after newPublisher.
	client  *client
	options []patterns.PublishOption

	// Owned by the reader.
	last  uint64 // id of the latest
	first uint64 // of those that are done and not told yet
	count uint32
	open  bool // counts as a call that runs

	busy atomic.Int32 // queues

	// Guarded by mu.
	mu    sync.Mutex
	lines map[string][]publish // by topic; none is empty
}

// publish waits in a queue.
type publish struct {
	frame    *session.Publish
	size     int
	deadline time.Time
}

func newPublisher(c *client, origin uint64) *publisher {
	return &publisher{
		client: c, options: []patterns.PublishOption{patterns.Origin(origin)}, lines: map[string][]publish{},
	}
}

// handle publishes f, or has it wait.
func (p *publisher) handle(f *session.Publish, size int) (violation string) {
	if f.ID != p.last+1 {
		return fmt.Sprintf("publish %d follows %d", f.ID, p.last)
	}
	p.last = f.ID
	if !p.open && !p.client.enter() {
		p.client.relay.count.drop(dropRequestInDrain)
		return "" // Goodbye will say that nobody looked at it
	}
	p.open = true
	if p.busy.Load() > 0 && p.follow(f, size) {
		return ""
	}
	switch err := p.client.relay.cfg.Node.TryPublish(f.Topic, messageOf(f), p.options...); {
	case err == nil:
		p.succeed(f.ID)
	case errors.Is(err, patterns.ErrWouldBlock):
		p.wait(f, size)
	default:
		p.flush()
		p.fail(f.ID, err)
	}
	return ""
}

func messageOf(f *session.Publish) patterns.Message {
	return patterns.Message{Headers: session.ConvertHeaders[patterns.Header](f.Headers), Body: f.Body}
}

// succeed notes that a publish is done; the client is told of many at once.
func (p *publisher) succeed(id uint64) {
	if p.count > 0 && p.first+uint64(p.count) != id {
		p.flush()
	}
	if p.count == 0 {
		p.first = id
	}
	p.count++
	if p.count >= ackEvery {
		p.flush()
	}
}

func (p *publisher) flush() {
	if p.count > 0 {
		p.client.tell(&session.Published{First: p.first, Count: p.count})
		p.count = 0
	}
}

// rest is called when the reader has nothing more to read for now.
func (p *publisher) rest() {
	if !p.open {
		return
	}
	p.flush()
	p.open = false
	p.client.done()
}

func (p *publisher) fail(id uint64, err error) {
	if p.client.relay.isDraining() && nobodyAsked(err) {
		err = failure.ErrDraining
	}
	p.client.tell(&session.PublishFailed{ID: id, Failure: failure.Of(err)})
}

// follow puts f behind what waits in its topic's queue, if anything does. While
// there is a shared queue, topics without one of their own may be in it.
func (p *publisher) follow(f *session.Publish, size int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range []string{f.Topic, shared} {
		if len(p.lines[key]) > 0 {
			p.push(key, f, size)
			return true
		}
	}
	return false
}

// wait begins a queue.
func (p *publisher) wait(f *session.Publish, size int) {
	p.flush() // those before it are done, and must not wait with it
	p.mu.Lock()
	defer p.mu.Unlock()
	key := f.Topic
	if len(p.lines) >= queues {
		key = shared
	}
	if !p.push(key, f, size) {
		return
	}
	p.busy.Add(1)
	p.client.wg.Go(func() { p.work(key) })
}

// push takes a place in a queue, within the limits of calls. The caller holds
// mu.
func (p *publisher) push(key string, f *session.Publish, size int) bool {
	c := p.client
	c.mu.Lock()
	err := c.quota.request(size)
	if err == nil {
		c.busy++
	}
	c.mu.Unlock()
	if err != nil {
		c.countLimit(err)
		p.fail(f.ID, err)
		return false
	}
	timeout := publishTimeout
	if f.Timeout > 0 {
		timeout = session.Duration(f.Timeout)
	}
	p.lines[key] = append(p.lines[key], publish{f, size, time.Now().Add(timeout)})
	return true
}

// work publishes what waits in a queue until nothing does. The first one stays
// in it while it is at it, so that others follow.
func (p *publisher) work(key string) {
	c := p.client
	for {
		p.mu.Lock()
		next := p.lines[key][0]
		p.mu.Unlock()
		ctx, cancel := context.WithDeadline(c.ctx, next.deadline)
		err := c.relay.cfg.Node.Publish(ctx, next.frame.Topic, messageOf(next.frame), p.options...)
		cancel()
		more := p.pop(key)
		c.mu.Lock()
		c.quota.requestDone(next.size)
		c.mu.Unlock()
		switch {
		case c.ctx.Err() != nil: // nobody to tell
		case err == nil:
			c.tell(&session.Published{First: next.frame.ID, Count: 1})
		default:
			p.fail(next.frame.ID, err)
		}
		c.done()
		if !more {
			return
		}
	}
}

// pop takes the first one out of a queue, and says whether there are others.
func (p *publisher) pop(key string) (more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := p.lines[key]
	line[0] = publish{}
	if len(line) > 1 {
		p.lines[key] = line[1:]
		return true
	}
	delete(p.lines, key)
	p.busy.Add(-1)
	return false
}
