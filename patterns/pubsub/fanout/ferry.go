// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"cmp"
	"maps"
	"slices"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// maxFerries bounds the queues of gateways that a publisher remembers: where there are
// more, it forgets the half that it has used least of late.
const maxFerries = 1024

// Ferry is which gateway a publisher gives what it publishes, for each queue of
// gateways: one of them, and the same as long as it is live, so that the order is kept;
// and how much it has given to all of them together. Publishers that choose for
// themselves need nobody to agree with: each message has one gateway.
type Ferry struct {
	all   map[uint64]*passenger // by queue
	found []Boarding            // scratch: whom the next message has
	sent  uint64                // messages that were numbered
	floor uint64                // no number of a queue that was forgotten is above it
}

// passenger is what is known of one queue.
type passenger struct {
	node   uint64 // that has the messages
	serial uint64 // of the last one
	used   uint64 // ferry.sent then
}

// Boarding is which node has the message that is being sent, for one queue.
type Boarding struct {
	queue uint64
	to    Candidate
	node  uint64
}

// Ferries appends to picks the gateway for each queue of gateways, which has no number
// before board, and says for how many of them a message had no room. What has crossed one
// border crosses no other.
func (p *Picker) Ferries(w *Way, own []wire.Interest, what *Content, picks []wire.Pick) (all []wire.Pick, beyond int) {
	p.Ferry.found = p.Ferry.found[:0]
	if what.Flags&wire.FlagLent != 0 {
		return picks, 0
	}
	p.queues = append(p.queues[:0], w.Lent...)
	for _, i := range own {
		if !env.IsLent(i.Queue) {
			continue
		}
		if q := env.HashQueue(i.Pattern, i.Queue); !slices.Contains(p.queues, q) {
			p.queues = append(p.queues, q)
		}
	}
	room := min(max(env.MaxPicks-len(picks), 0), len(p.queues))
	for _, q := range p.queues[:room] {
		picks = p.ferryFor(q, w, own, picks)
	}
	return picks, len(p.queues) - room
}

func (p *Picker) ferryFor(q uint64, w *Way, own []wire.Interest, picks []wire.Pick) []wire.Pick {
	if !p.candidates(q, w, own) {
		return picks
	}
	b := p.Ferry.choose(q, p.nodes, p.Self)
	p.Ferry.found = append(p.Ferry.found, b)
	return append(picks, wire.Pick{Queue: q, Node: b.node})
}

// choose keeps the gateway that there is; another one is the nearest by an order that
// differs from publisher to publisher, so that gateways share them (rendezvous hashing,
// Thaler and Ravishankar 1998); this node itself comes first.
func (f *Ferry) choose(q uint64, nodes []Candidate, self uint64) (best Boarding) {
	least := uint64(0)
	for i, c := range nodes {
		node, rank := self, uint64(0)
		if c.r != nil {
			node, rank = c.r.Hash, mix(c.r.Hash^self)
		}
		if was := f.all[q]; was != nil && was.node == node {
			return Boarding{q, c, node}
		}
		if i == 0 || rank < least {
			best, least = Boarding{q, c, node}, rank
		}
	}
	return best
}

// mix spreads the bits (the finalizer of SplitMix64, Steele et al. 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Lacking is the first gateway that was chosen and has no room.
func (f *Ferry) Lacking(room func(*Receiver) bool) []*Receiver {
	for _, b := range f.found {
		if b.to.r != nil && !room(b.to.r) {
			return []*Receiver{b.to.r}
		}
	}
	return nil
}

// Board takes in that the message is sent, and numbers it for each queue of gateways.
func (f *Ferry) Board(picks []wire.Pick) []wire.Pick {
	if len(f.found) > 0 {
		f.sent++
	}
	for _, b := range f.found {
		known := f.all[b.queue]
		if known == nil {
			known = f.add(b.queue)
		}
		known.node, known.used = b.node, f.sent
		known.serial++
		for i := range picks {
			if picks[i].Queue == b.queue {
				picks[i].Serial = known.serial
			}
		}
	}
	clear(f.found)
	f.found = f.found[:0]
	return picks
}

// add begins to number for a queue, beyond what it may have had before it was forgotten:
// to gateways a number that does not grow is a message that came late.
func (f *Ferry) add(queue uint64) *passenger {
	if f.all == nil {
		f.all = make(map[uint64]*passenger)
	}
	if len(f.all) >= maxFerries {
		oldest := slices.SortedFunc(maps.Keys(f.all), func(a, b uint64) int {
			return cmp.Or(cmp.Compare(f.all[a].used, f.all[b].used), cmp.Compare(a, b))
		})
		for _, q := range oldest[:maxFerries/2] {
			f.floor = max(f.floor, f.all[q].serial)
			delete(f.all, q)
		}
	}
	known := &passenger{serial: f.floor}
	f.all[queue] = known
	return known
}
