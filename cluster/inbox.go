// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"
)

// Bounds of what waits for the control loop. Only frames are bounded: links,
// lookups and local calls are few by nature, and losing one would matter.
const (
	maxInboxFrames  = 1 << 14
	maxInboxBytes   = 16 << 20
	maxInboxPerPeer = 1 << 12
)

// inbox is the queue of the control loop. Frames beyond its bounds are dropped
// and counted; whoever waits for an answer asks again, and a gap in the deltas
// is noticed.
type inbox struct {
	wake func() // called after a put into an empty inbox, without locks

	mu      sync.Mutex // guards what follows
	events  []event
	frames  int
	bytes   int
	perPeer map[peer.ID]int
	table   bool // a tableEvent waits: another one would say nothing new
	closed  bool
	drops   counters
}

func newInbox(wake func()) *inbox {
	return &inbox{wake: wake, perPeer: make(map[peer.ID]int), drops: make(counters)}
}

// put adds an event. It reports false once the inbox is closed.
func (b *inbox) put(e event) bool {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false
	}
	if !b.admit(e) {
		b.mu.Unlock()
		return true
	}
	b.events = append(b.events, e)
	first := len(b.events) == 1
	b.mu.Unlock()
	if first {
		b.wake()
	}
	return true
}

// admit says whether e is added, and counts it. Under mu.
func (b *inbox) admit(e event) bool {
	switch e := e.(type) {
	case tableEvent:
		if b.table {
			return false
		}
		b.table = true
	case frameEvent:
		if b.frames >= maxInboxFrames || b.bytes+e.size > maxInboxBytes || b.perPeer[e.from] >= maxInboxPerPeer {
			b.drops.add("inbox_full")
			return false
		}
		b.frames++
		b.bytes += e.size
		b.perPeer[e.from]++
	}
	return true
}

// take returns everything that waits, in order.
func (b *inbox) take() []event {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events, b.frames, b.bytes, b.table = nil, 0, 0, false
	clear(b.perPeer)
	return events
}

func (b *inbox) drop(reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drops.add(reason)
}

func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.events = true, nil
}
