// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"cmp"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"
)

// rank is the place of a message among all that its publisher sent to the root
// group. Each forwarder numbers what it passes on, but only this tells which of
// two messages was published first that came through different forwarders.
type rank struct {
	life   uint64 // incarnation of the publisher's node
	serial uint64 // counts its messages, from 1
}

func (r rank) after(o rank) bool {
	return cmp.Or(cmp.Compare(r.life, o.life), cmp.Compare(r.serial, o.serial)) > 0
}

// rootOrders is the order in which the root group's messages are delivered here,
// by publisher.
type rootOrders struct {
	*base
	mu  sync.Mutex
	all map[peer.ID]*rootOrder // guarded by mu
}

// rootOrder is one publisher's. What an earlier forwarder has kept for too long
// is late: it is among what the later one was told may be missing.
type rootOrder struct {
	mu     sync.Mutex
	newest rank               // guarded by mu; delivered
	last   int64              // guarded by mu
	todo   inOrder[*incoming] // guarded by mu
}

func newRootOrders(b *base) *rootOrders {
	return &rootOrders{base: b, all: make(map[peer.ID]*rootOrder)}
}

// find returns the publisher's, or nil if there are too many.
func (t *rootOrders) find(publisher peer.ID) *rootOrder {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.all[publisher]
	if o == nil && len(t.all) < maxStreams {
		o = &rootOrder{last: t.now()}
		t.all[publisher] = o
	}
	return o
}

// deliver calls to with the message, unless a newer one has been delivered.
func (t *rootOrders) deliver(in *incoming, to func(*incoming)) {
	o := t.find(in.publisher)
	if o == nil {
		t.drops.Inc(dropStreams)
		return
	}
	o.mu.Lock()
	o.last = t.now()
	if in.rank.after(o.newest) {
		o.newest = in.rank
		o.todo.add(in)
	} else {
		t.drops.Inc(dropLate)
	}
	o.todo.run(&o.mu, to)
}

// sweep forgets the publishers that have been silent for long, and says how many
// are left.
func (t *rootOrders) sweep(now int64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, o := range t.all {
		o.mu.Lock()
		if now-o.last > int64(streamTime) {
			delete(t.all, p)
		}
		o.mu.Unlock()
	}
	return len(t.all)
}
