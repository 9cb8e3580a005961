// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"slices"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// picker chooses, for each queue that a message is for, the node that has it:
// at random, in proportion to the subscriptions it has, among those that are
// there, and that have room if one has.
type picker struct {
	random overlay.RandStream
	self   uint64
	live   func(*receiver) bool
	nodes  []candidate // scratch
	queues []uint64    // scratch
}

type candidate struct {
	r      *receiver // nil = this node
	weight int
}

// pick appends to dst a pick for each queue among those who listen and this
// node's own, and says for how many of them a message had no room.
func (p *picker) pick(w *way, own []wire.Interest, room func(*receiver) bool, dst []wire.Pick) (picks []wire.Pick, beyond int) {
	p.queues = append(p.queues[:0], w.queues...)
	for _, i := range own {
		if q := hashQueue(i.Pattern, i.Queue); !slices.Contains(p.queues, q) {
			p.queues = append(p.queues, q)
		}
	}
	for _, q := range p.queues {
		node, ok := p.choose(q, w, own, room)
		switch {
		case !ok:
		case len(dst) < maxPicks:
			dst = append(dst, wire.Pick{Queue: q, Node: node})
		default:
			beyond++
		}
	}
	return dst, beyond
}

// choose draws one that is live, or, if that has no room, one of those that have;
// if there is none, the one that was drawn.
func (p *picker) choose(q uint64, w *way, own []wire.Interest, room func(*receiver) bool) (node uint64, ok bool) {
	p.candidates(q, w, own, p.live)
	if len(p.nodes) == 0 {
		p.candidates(q, w, own, func(*receiver) bool { return true })
	}
	if len(p.nodes) == 0 {
		return 0, false
	}
	first := p.draw()
	if first != nil && !room(first) {
		if p.nodes = slices.DeleteFunc(p.nodes, func(c candidate) bool { return c.r != nil && !room(c.r) }); len(p.nodes) > 0 {
			first = p.draw()
		}
	}
	if first == nil {
		return p.self, true
	}
	return first.hash, true
}

// candidates lists who has the queue.
func (p *picker) candidates(q uint64, w *way, own []wire.Interest, usable func(*receiver) bool) {
	p.nodes = p.nodes[:0]
	for _, in := range w.interests {
		if in.queue == q && in.r.state.gone == 0 && in.weight > 0 && usable(in.r) {
			p.nodes = append(p.nodes, candidate{in.r, in.weight})
		}
	}
	for _, i := range own {
		if hashQueue(i.Pattern, i.Queue) == q {
			p.nodes = append(p.nodes, candidate{nil, int(i.Weight)})
		}
	}
}

func (p *picker) draw() *receiver {
	total := 0
	for _, c := range p.nodes {
		total += c.weight
	}
	n := p.random.IntN(total)
	for _, c := range p.nodes {
		if n -= c.weight; n < 0 {
			return c.r
		}
	}
	panic("BUG: pubsub: no candidate")
}
