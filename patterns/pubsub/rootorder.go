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
	local *local

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

	do   func(*incoming)
	into delivery // owned by who delivers
}

func newRootOrders(b *base, l *local) *rootOrders {
	return &rootOrders{base: b, local: l, all: make(map[peer.ID]*rootOrder)}
}

// find returns the publisher's, or nil if there are too many.
func (t *rootOrders) find(publisher peer.ID) *rootOrder {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.all[publisher]
	if o == nil && len(t.all) < maxStreams {
		o = &rootOrder{last: t.now(), into: delivery{of: t.local}}
		o.do = func(in *incoming) { t.deliverTo(o, in) }
		t.all[publisher] = o
	}
	return o
}

// deliver calls to with the messages, but for those than which a newer one has
// been delivered.
func (t *rootOrders) deliver(in *incoming) {
	o := t.find(in.publisher)
	if o == nil {
		t.drops.Add(dropStreams, uint64(in.m.Count-in.skip))
		return
	}
	first := in.rank()
	last := rank{first.life, first.serial + uint64(in.m.Count) - 1}
	o.mu.Lock()
	o.last = t.now()
	late := 0
	switch {
	case !last.after(o.newest):
		late = in.m.Count
	case !first.after(o.newest):
		late = int(o.newest.serial - first.serial + 1)
	}
	if late > in.skip {
		t.drops.Add(dropLate, uint64(late-in.skip))
		in.skip = late
	}
	switch {
	case late == in.m.Count:
	case o.todo.claim():
		o.newest = last
		o.mu.Unlock()
		t.deliverTo(o, in)
		o.mu.Lock()
		o.todo.finish(&o.mu, o.do)
		return
	default:
		o.newest = last
		o.todo.add(in.keep())
	}
	o.todo.run(&o.mu, o.do)
}

func (t *rootOrders) deliverTo(o *rootOrder, in *incoming) {
	o.into.deliver(in, in.publisher == t.self)
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
