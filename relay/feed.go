// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"sync"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
)

// feed is one subscription of a client: what the node gives it waits here until
// the client has room, and the client's connection fetches it. It outlives a
// session that breaks by a short while, in which it counts what is missed.
type feed struct {
	session.Place // in the rota of the session it is attached to

	// Immutable after newFeed.
	relay   *Relay
	id      uint64
	pattern string
	options patterns.SubscribeOptions

	// Owned by the writer of the session; used up before the next one is made.
	publication session.Publication
	missing     session.Gap

	// Guarded by mu.
	mu      sync.Mutex
	state   feedState
	client  *client // nil while away
	backlog backlog
	base    uint64                // where its count began
	inexact uint64                // total at the latest gap of unknown size, plus 1
	source  patterns.Subscription // nil before the node has acknowledged it
	room    chan struct{}         // closed when there may be room; nil = nobody waits
	drained chan struct{}         // closed when all was fetched; nil = nobody waits
}

type feedState uint8

const (
	feedMute  feedState = iota // nothing goes out before Subscribed has
	feedLive                   // the client gets what comes
	feedAway                   // the session broke; what comes is counted
	feedEnded                  // nothing is taken any more
)

const (
	defaultWindow      = 1024    // messages
	defaultWindowBytes = 4 << 20 // bytes
)

func newFeed(c *client, f *session.Subscribe) *feed {
	d := &feed{
		relay: c.relay, id: f.ID, pattern: f.Pattern, client: c,
		options: patterns.SubscribeOptions{
			Queue: f.Queue, NoEcho: f.NoEcho, Overflow: patterns.Overflow(f.Overflow), Origin: c.origin,
			QueueLength: int(f.QueueLength), QueueBytes: int(f.QueueBytes),
		}.WithDefaults(),
	}
	d.bound(f)
	return d
}

// bound sets how much may wait, and how much the client takes untaken.
func (d *feed) bound(f *session.Subscribe) {
	d.backlog.overflow = d.options.Overflow
	d.backlog.limits = bounds{d.options.QueueLength, d.options.QueueBytes}
	d.backlog.window = bounds{int(f.WindowLength), int(f.WindowBytes)}
	if f.WindowLength == 0 {
		d.backlog.window.length = defaultWindow
	}
	if f.WindowBytes == 0 {
		d.backlog.window.bytes = defaultWindowBytes
	}
	if d.options.Overflow == patterns.OverflowBlock {
		// The queue is the node's: it knows who is to wait.
		d.backlog.limits = bounds{length: 1}
	}
}

// atNode is how the node subscribes. Its queue is hardly used, because the feed
// takes at once, except for a subscription that blocks.
func (d *feed) atNode() patterns.SubscribeOptions {
	o := d.options
	if o.Overflow != patterns.OverflowBlock {
		o.QueueLength, o.QueueBytes, o.Overflow = 0, 0, patterns.OverflowOldest
	}
	return o
}

var _ patterns.Subscriber = (*feed)(nil)

// ServePublication takes a message from the node. It does not block, unless the
// subscription does.
func (d *feed) ServePublication(p *patterns.Publication) {
	size, ok := publicationSize(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !ok {
		d.relay.count.drop(dropBadPublication)
		d.takeGap(patterns.Gap{From: p.From, Missed: 1, Exact: true, Reason: patterns.GapLost})
		return
	}
	if d.options.Overflow == patterns.OverflowBlock {
		d.waitForRoom(size)
	}
	switch d.state {
	case feedAway:
		d.backlog.gap(patterns.Gap{Missed: 1, Exact: true, Reason: patterns.GapRelay})
		d.relay.count.drop(dropInSession)
	case feedMute, feedLive:
		d.put(p, size)
		d.announce()
	}
}

// put takes a message into the backlog, and counts what that drops. The caller
// holds mu.
func (d *feed) put(p *patterns.Publication, size int) {
	before := d.backlog.bytes
	tight := d.client.topics.tooMuch(size)
	reason := dropSlowPublication
	if tight && d.backlog.hasRoom(size) {
		reason = dropTooManyPublications
	}
	for range d.backlog.put(p, size, tight) {
		d.relay.count.drop(reason)
	}
	d.hold(d.backlog.bytes - before)
}

// hold counts bytes that wait for the client. The caller holds mu.
func (d *feed) hold(n int) {
	if d.client != nil {
		d.client.topics.held.Add(int64(n))
	}
}

// publicationSize returns the bytes of p that limits count; false if it does
// not fit into a frame.
func publicationSize(p *patterns.Publication) (size int, ok bool) {
	size = len(p.Topic) + len(p.Body)
	headers := 0
	for i := range p.Headers {
		headers += len(p.Headers[i].Key) + len(p.Headers[i].Value)
	}
	ok = len(p.From) <= session.MaxName && len(p.Topic) <= session.MaxTopic && len(p.Body) <= session.MaxMessage
	if headers > 0 {
		ok = ok && session.CheckHeaders(session.ConvertHeaders[session.Header](p.Headers)) == nil
	}
	return size + headers, ok
}

// ServeGap takes a gap from the node.
func (d *feed) ServeGap(g patterns.Gap) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.takeGap(g)
}

func (d *feed) takeGap(g patterns.Gap) {
	if d.state == feedEnded {
		return
	}
	d.backlog.gap(g)
	if !g.Exact {
		d.inexact = d.backlog.total() + 1
	}
	d.announce()
}

// announce has the connection look. The caller holds mu.
func (d *feed) announce() {
	if d.state == feedLive {
		d.client.rota.Ready(d)
	}
}

// Next implements session.Channel.
func (d *feed) Next() session.Frame {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state != feedLive {
		return nil
	}
	before := d.backlog.bytes
	p, g, number, ok := d.backlog.next()
	d.hold(d.backlog.bytes - before)
	if d.room != nil {
		close(d.room)
		d.room = nil
	}
	switch {
	case !ok:
		// What was handed out before is in the connection's queue now.
		if d.drained != nil && d.backlog.empty() {
			close(d.drained)
			d.drained = nil
		}
		return nil
	case p == nil:
		d.missing = session.Gap{
			Subscription: d.id, Number: number, Missed: g.Missed, Exact: g.Exact,
			Reason: gapReason(g.Reason), From: g.From,
		}
		return &d.missing
	}
	d.publication = session.Publication{
		Subscription: d.id, Number: number, From: p.From, Topic: p.Topic,
		Headers: session.ConvertHeaders[session.Header](p.Headers), Body: p.Body,
	}
	return &d.publication
}

// waitForRoom waits as long as a full subscription that blocks is attached. The
// caller holds mu. Who waits holds a worker of the node, so that only some of a
// client's may.
func (d *feed) waitForRoom(size int) {
	if d.client == nil || d.backlog.hasRoom(size) {
		return
	}
	waiters := &d.client.topics.waiters
	defer waiters.Add(-1)
	if waiters.Add(1) > maxWaiters {
		return
	}
	for (d.state == feedLive || d.state == feedMute) && !d.backlog.hasRoom(size) {
		if d.room == nil {
			d.room = make(chan struct{})
		}
		room := d.room
		d.mu.Unlock()
		<-room
		d.mu.Lock()
	}
}

// become changes the state, and lets nobody wait for the one before.
func (d *feed) become(s feedState) {
	d.state = s
	if d.room != nil {
		close(d.room)
		d.room = nil
	}
}

func gapReason(r patterns.GapReason) session.GapReason {
	switch r {
	case patterns.GapSlow:
		return session.GapSlow
	case patterns.GapLane:
		return session.GapLane
	case patterns.GapRelay:
		return session.GapRelay
	}
	return session.GapLost
}
