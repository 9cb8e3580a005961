// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"runtime/debug"
	"sync"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
)

// Inbox is one subscription's queue: the shell around its backlog. All methods
// may be called concurrently.
type Inbox struct {
	// Immutable.
	set        *Set
	subscriber patterns.Subscriber
	key        uint64

	mu      sync.Mutex
	backlog backlog  // guarded by mu
	waiting *waiting // guarded by mu; nil until somebody waited
	busy    bool     // guarded by mu; a worker has it, or it stands in line for one
	closing bool     // guarded by mu

	// Lifecycle.
	idle chan struct{} // guarded by mu; made by Close, closed when all is delivered or given up

	next *Inbox // guarded by set.mu: in line
}

// Put takes in a message that came, and never waits: if there is no room, it
// drops what the policy says and leaves a gap. p is shared and must not change
// any more.
func (b *Inbox) Put(p *patterns.Publication) { b.put(p, false) }

// PutRun is Put for each of them, in their order.
func (b *Inbox) PutRun(r Run) {
	size := r.size()
	b.mu.Lock()
	if b.closing || b.waiting.any() || !b.backlog.pushRun(&r, size) {
		b.mu.Unlock()
		for r.Count > 0 {
			b.putSome(&r, min(r.Count, lockedPuts))
		}
		return
	}
	b.unlock()
}

// lockedPuts is how many are put under one lock: the worker may want it.
const lockedPuts = 64

// putSome is PutRun for the first count, where there may not be room for all of them.
func (b *Inbox) putSome(r *Run, count int) {
	var dropped [dropReasons]uint64
	b.mu.Lock()
	for range count {
		p := r.next()
		if b.closing {
			dropped[dropLate]++
			continue
		}
		n, why := b.putLocked(&p, sizeOf(&p))
		dropped[why] += n
	}
	b.unlock()
	for why, n := range dropped {
		if n > 0 {
			b.set.drops.Add(dropReason(why), n)
		}
	}
}

// Offer is Put, but leaves everything as it is and returns false where PutWait
// would have to wait.
func (b *Inbox) Offer(p *patterns.Publication) bool { return b.put(p, true) }

func (b *Inbox) put(p *patterns.Publication, offer bool) bool {
	size := sizeOf(p)
	b.mu.Lock()
	switch {
	case b.closing:
		b.mu.Unlock()
		b.set.drops.Inc(dropLate)
		return true
	case offer && b.blocksLocked(size):
		b.mu.Unlock()
		return false
	}
	b.takeLocked(p, size)
	b.unlock()
	return true
}

// takeLocked is putLocked, and counts.
func (b *Inbox) takeLocked(p *patterns.Publication, size int) {
	if dropped, why := b.putLocked(p, size); dropped > 0 {
		b.set.drops.Add(why, dropped)
	}
}

// putLocked is backlog.put, but leaves the room to those who wait for it.
func (b *Inbox) putLocked(p *patterns.Publication, size int) (dropped uint64, why dropReason) {
	if b.waiting.any() {
		_, why = b.backlog.room(b.waiting.line.First())
		b.backlog.miss(p)
		return 1, why
	}
	return b.backlog.put(p, size)
}

// Gap takes in that messages are missing behind those that were put: 0 of them,
// if nobody knows how many.
func (b *Inbox) Gap(g patterns.Gap) {
	if g.Missed == 0 && g.Reason == "" {
		return
	}
	b.mu.Lock()
	if b.closing {
		b.mu.Unlock()
		return
	}
	b.backlog.gap(g)
	b.unlock()
}

// Status counts since New.
func (b *Inbox) Status() patterns.SubscriptionStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	return patterns.SubscriptionStatus{
		Delivered: b.backlog.delivered, Missed: b.backlog.missed,
		Queued: b.backlog.waiting.Len(), Bytes: b.backlog.waiting.bytes,
	}
}

// unlock releases mu, and then does what was decided under it: those go on who need
// not wait any more, and a worker is found if there is something for one.
func (b *Inbox) unlock() {
	start := !b.busy && !b.backlog.empty()
	b.busy = b.busy || start
	do := b.waiting.over()
	b.mu.Unlock()
	do.Run()
	if start {
		b.set.start(b, false)
	}
}

// take returns what is delivered next: a message, if there is no gap before it. If
// nothing is, the inbox is not busy any more.
func (b *Inbox) take() (p patterns.Publication, g *patterns.Gaps, ok bool) {
	b.mu.Lock()
	p, g, ok = b.backlog.take()
	b.admitLocked()
	if !ok {
		b.busy = false
		b.backlog.waiting.release()
		b.settleLocked()
	}
	b.unlock()
	return p, g, ok
}

// settleLocked tells Close that nothing is left.
func (b *Inbox) settleLocked() {
	if b.closing && !b.busy && b.backlog.empty() && b.idle != nil {
		idle := b.idle
		b.idle = nil
		b.set.exec.Wake(overlay.ExecKey{Name: "inbox.idle", N: b.key}, func() { close(idle) })
	}
}

// deliver calls the subscriber with the gaps, or else with the message.
func (b *Inbox) deliver(p patterns.Publication, g *patterns.Gaps) {
	defer func() {
		if r := recover(); r != nil {
			b.set.panics.Add(1)
			b.set.log.Error("subscriber panicked", zap.Uint64("subscription", b.key), zap.Any("panic", r), zap.ByteString("stack", debug.Stack()))
		}
	}()
	if g == nil {
		b.subscriber.ServePublication(p)
		return
	}
	for _, gap := range *g {
		b.subscriber.ServeGap(gap)
	}
}
