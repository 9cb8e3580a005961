// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"bytes"
	"cmp"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/internal/crowd"
	"github.com/arke-mesh/arke/internal/replay"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/security"
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
	*env.Base
	local *local

	mu  sync.Mutex
	all *crowd.Table[peer.ID, peer.ID, *rootOrder] // guarded by mu; by who brought them
}

// rootOrder is one publisher's. What an earlier forwarder has kept for too long
// is late: it is among what the later one was told may be missing.
type rootOrder struct {
	mu      sync.Mutex
	newest  rank                     // guarded by mu; delivered
	last    int64                    // guarded by mu
	todo    after.InOrder[*incoming] // guarded by mu
	chosen  chosen                   // guarded by mu; the forwarder of the publisher
	floor   uint64                   // guarded by mu; of the first forwarder in this life of it
	sealed  uint64                   // guarded by mu; the life that seals are of
	seals   replay.Window            // guarded by mu
	authors authorship

	do   func(*incoming)
	into delivery // owned by who delivers
}

func newRootOrders(b *env.Base, l *local) *rootOrders {
	return &rootOrders{Base: b, local: l, all: crowd.NewTable[peer.ID, peer.ID, *rootOrder](env.MaxStreams, b.Random.IntN)}
}

// find returns the publisher's, or nil if there are too many that by has brought.
func (t *rootOrders) find(publisher, by peer.ID) *rootOrder {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o, ok := t.all.Get(publisher); ok {
		return o
	}
	o := &rootOrder{last: t.Now(), into: delivery{of: t.local}}
	o.into.authors = &o.authors
	o.do = func(in *incoming) { t.deliverTo(o, in) }
	gone, ok := t.all.Put(publisher, by, o)
	if !ok {
		return nil
	}
	if gone != nil {
		t.Drops.Inc(env.DropYielded)
	}
	return o
}

// chosen is the forwarder that a publisher has signed for, as far as is known here.
type chosen struct {
	forwarder peer.ID // "" = none is known
	life      uint64  // incarnation of the publisher's node
	said      wire.RootForwarder
}

// allows says whether the publisher has this forwarder. One that it had before is not
// believed any more, but for what is older than the new one's.
func (o *rootOrder) allows(t *env.Base, in *incoming, forwarder peer.ID, last rank) bool {
	said, is := &in.m.Forwarder, &o.chosen
	was := rank{is.life, is.said.Serial}
	switch now := (rank{last.life, said.Serial}); {
	case len(said.Signature) == 0:
		return false
	case now == was:
		return is.forwarder == forwarder && bytes.Equal(is.said.Signature, said.Signature)
	case !now.after(was):
		return !last.after(rank{is.life, is.said.Rank}) // it is late, if anything
	}
	statement := security.RootForwarder{
		Network: t.Cfg.Network, Publisher: in.publisher, Incarnation: last.life, Serial: said.Serial, Floor: said.Floor,
		Forwarder: forwarder, Rank: said.Rank,
	}
	if !t.Verifies(in.by, func() error { return security.VerifyRootForwarder(statement, said.Signature) }) {
		return false
	}
	if is.life != last.life {
		o.floor = said.Floor
	}
	*is = chosen{forwarder, last.life, *said}
	is.said.Signature = slices.Clone(said.Signature)
	o.authors.begin(last.life, said.Floor)
	if before := (rank{last.life, said.Rank}); o.newest.life == before.life && o.newest.after(before) {
		o.newest = before // the one before has gone beyond what there was
	}
	return true
}

// admit says whether messages come through the forwarder that their publisher has.
func (t *rootOrders) admit(in *incoming, forwarder peer.ID) (ok bool) {
	o := t.find(in.publisher, in.by)
	if o == nil {
		t.Drops.Add(env.DropStreams, uint64(in.m.Count))
		return false
	}
	last := in.rank()
	last.serial += uint64(in.m.Count) - 1
	o.mu.Lock()
	ok = o.allows(t.Base, in, forwarder, last) || forwarder == in.publisher
	o.mu.Unlock()
	if !ok {
		t.Drops.Add(env.DropNotNamed, uint64(in.m.Count))
	}
	return ok
}

// unseen takes out what was opened before. What the publisher sealed in an earlier life
// is as old as what it published then.
func (o *rootOrder) unseen(in *incoming) (replayed int) {
	if len(in.sealed) == 0 {
		return 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if life := in.sealed[0].life; life > o.sealed {
		o.sealed, o.seals = life, replay.Window{}
	}
	if o.sealed == o.chosen.life {
		o.seals.Raise(o.floor)
	}
	return in.unseen(o.sealed, &o.seals)
}

// deliver calls to with the messages, but for those than which a newer one has been
// delivered.
func (t *rootOrders) deliver(in *incoming) {
	o := t.find(in.publisher, in.by)
	if o == nil {
		t.Drops.Add(env.DropStreams, uint64(in.m.Count-in.skip))
		return
	}
	first := in.rank()
	last := rank{first.life, first.serial + uint64(in.m.Count) - 1}
	o.mu.Lock()
	o.last = t.Now()
	late := 0
	switch {
	case !last.after(o.newest):
		late = in.m.Count
	case !first.after(o.newest):
		late = int(o.newest.serial - first.serial + 1)
	}
	if late > in.skip {
		t.Drops.Add(env.DropLate, uint64(late-in.skip))
		in.skip = late
	}
	switch {
	case late == in.m.Count:
	case o.todo.Claim():
		o.newest = last
		o.mu.Unlock()
		t.deliverTo(o, in)
		o.mu.Lock()
		o.todo.Finish(&o.mu, o.do)
		o.mu.Unlock()
		return
	default:
		o.newest = last
		o.todo.Add(in.keep())
	}
	o.todo.Run(&o.mu, o.do)
}

func (t *rootOrders) deliverTo(o *rootOrder, in *incoming) {
	if in.paths != nil {
		o.authors.begin(in.paths.newest())
	}
	t.Drops.Add(env.DropReplay, uint64(o.unseen(in)))
	o.into.deliver(in, in.publisher == t.Self)
}

// sweep forgets the publishers that have been silent for long, and says how many
// are left.
func (t *rootOrders) sweep(now int64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p, o := range t.all.All() {
		o.mu.Lock()
		if now-o.last > int64(env.StreamTime) {
			t.all.Delete(p)
		}
		o.mu.Unlock()
	}
	return t.all.Len()
}
