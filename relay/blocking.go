// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"sync"
	"time"

	"github.com/arke-mesh/arke/internal/fifo"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

const (
	// maxWaiters is how many full subscriptions of one client may have
	// publishers wait: each has a worker of the node.
	maxWaiters = 64
	// flushPatience is how long a drain waits for clients to take what their
	// subscriptions got.
	flushPatience = 2 * time.Second
)

// blocking is a subscription that has publishers on its node wait while it is
// full. The node's queue for it has room for one message, and what was sent and
// not taken is bounded by the client's: so that the limits that count are the
// client's.
type blocking struct {
	wanted
	length, bytes int
	source        patterns.Subscription // not nil once it is open

	// Guarded by mu.
	mu    sync.Mutex
	taken uint64          // publications
	sizes fifo.Queue[int] // of those that were sent and not taken
	held  int             // their sum
	room  chan struct{}   // closed when there may be room; nil = nobody waits
}

var (
	_ place               = (*blocking)(nil)
	_ patterns.Subscriber = (*blocking)(nil)
)

func newBlocking(w wanted, f *wire.Subscribe) *blocking {
	limits := patterns.SubscribeOptions{QueueLength: int(f.Length), QueueBytes: int(f.Bytes)}.WithDefaults()
	w.options.Overflow, w.options.QueueLength, w.options.Origin = patterns.OverflowBlock, 1, w.t.c.origin
	return &blocking{wanted: w, length: limits.QueueLength, bytes: min(limits.QueueBytes, w.t.c.relay.cfg.Limits.PublicationBytes)}
}

// open implements place.
func (b *blocking) open(ctx context.Context) (_ uint64, err error) {
	b.source, err = b.t.c.relay.cfg.Node.Subscribe(ctx, b.pattern, b, b.options)
	return 0, err
}

// close implements place.
func (b *blocking) close(ctx context.Context) error { return b.source.Close(ctx) }

// ServePublication takes a message from the node, when there is room for it.
func (b *blocking) ServePublication(p patterns.Publication) {
	headers := wire.ConvertHeaders[wire.Header](p.Headers)
	tail := wire.AppendTail(nil, headers, p.Body)
	size := len(p.Topic) + len(tail)
	t := b.t
	ids := []uint64{b.id}
	if t.c.tooLarge(len(tail)) {
		t.c.relay.count.drop(dropBadPublication)
		t.miss(ids, patterns.Gap{From: p.From, Missed: 1, Exact: true, Reason: patterns.GapLost})
		return
	}
	ok, waited := b.wait(size)
	if waited {
		defer t.waits(-1)
	}
	if !ok {
		t.c.relay.count.drop(dropSlowPublication)
		t.miss(ids, patterns.Gap{From: p.From, Missed: 1, Exact: true, Reason: patterns.GapSlow})
		return
	}
	m := wire.LeafPublication{Publisher: p.From, Topic: p.Topic, Subscriptions: ids}
	head := m.AppendHead(nil)
	if packs(t.c) {
		head = wire.AppendMessage(head, "", nil, len(tail))
	}
	t.c.sess.SendWait(t.c.ctx, wire.LanePub, wire.KindPublish, head, tail) // fails with the session
}

// ServeGap takes a gap from the node.
func (b *blocking) ServeGap(g patterns.Gap) { b.t.Gap(g, []uint64{b.id}) }

// wait waits until the client has room for size bytes, and takes it. It is not ok
// if too many wait, or the session has ended. One that is alone has room whatever
// its size. After entered, the end of the wait, for the lane too, is to be told.
func (b *blocking) wait(size int) (ok, entered bool) {
	for {
		if !entered && !b.t.c.sess.HasRoom(wire.LanePub, size) {
			if entered = b.t.waits(1); !entered {
				return false, false
			}
		}
		b.mu.Lock()
		if b.sizes.Len() == 0 || b.sizes.Len() < b.length && b.held+size <= b.bytes {
			b.sizes.Push(size)
			b.held += size
			b.mu.Unlock()
			return true, entered
		}
		if b.room == nil {
			b.room = make(chan struct{})
		}
		room := b.room
		b.mu.Unlock()
		if !entered && !b.t.waits(1) {
			return false, false
		}
		entered = true
		select {
		case <-room:
		case <-b.t.c.ctx.Done():
			return false, true
		}
	}
}

// waits counts those that wait; false if there are too many.
func (t *topics) waits(n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case n < 0:
		t.c.extent.waits.Give(-n)
	case t.waiters+n > maxWaiters:
		return false
	case !t.c.extent.waits.Take(n):
		t.c.relay.count.drop(dropShareOfWaits)
		return false
	}
	t.waiters += n
	return true
}

// handleTaken gives credit to a subscription. ours is false if the frame is one
// of a tunnel.
func (t *topics) handleTaken(body []byte) (ours bool, err error) {
	m, ours, err := wire.DecodeTaken(body)
	switch {
	case err != nil:
		return true, malformed(err)
	case !ours:
		return false, nil
	}
	if b, ok := t.c.claims.find(m.ID).(*blocking); ok && !b.take(m.Total) {
		return true, undue("more is taken than was sent")
	}
	return true, nil // otherwise it crossed the end
}

// take makes room for what the client has taken; false if it can't have.
func (b *blocking) take(total uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if total > b.taken+uint64(b.sizes.Len()) {
		return false
	}
	for ; b.taken < total; b.taken++ {
		b.held -= b.sizes.Pop()
	}
	if b.room != nil {
		close(b.room)
		b.room = nil
	}
	return true
}
