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
	fit    []candidate // scratch: those of nodes that have room
	queues []uint64    // scratch
	ferry  ferry
}

type candidate struct {
	r      *receiver // nil = this node
	weight int
}

// pick appends to dst a pick for each queue among those who listen and this
// node's own, but for those that are served and those of gateways, and says for how many of them a message had no room. lacking is the
// members of the first queue none of which has room in its lane.
func (p *picker) pick(w *way, own []wire.Interest, served []uint64, room func(*receiver) bool, dst []wire.Pick) (picks []wire.Pick, lacking []*receiver, beyond int) {
	p.queues = append(p.queues[:0], w.queues...)
	for _, i := range own {
		if q := hashQueue(i.Pattern, i.Queue); !isLent(i.Queue) && !slices.Contains(p.queues, q) {
			p.queues = append(p.queues, q)
		}
	}
	for _, q := range p.queues {
		if slices.Contains(served, q) {
			continue
		}
		node, without, ok := p.choose(q, w, own, room)
		if lacking == nil {
			lacking = without
		}
		switch {
		case !ok:
		case len(dst) < maxPicks:
			dst = append(dst, wire.Pick{Queue: q, Node: node})
		default:
			beyond++
		}
	}
	return dst, lacking, beyond
}

// choose draws one that is live, or, if that has no room, one of those that have;
// if there is none, the one that was drawn, and says who all lack room.
func (p *picker) choose(q uint64, w *way, own []wire.Interest, room func(*receiver) bool) (node uint64, lacking []*receiver, ok bool) {
	p.candidates(q, w, own, p.live)
	if len(p.nodes) == 0 {
		p.candidates(q, w, own, func(*receiver) bool { return true })
	}
	if len(p.nodes) == 0 {
		return 0, nil, false
	}
	drawn := p.draw(p.nodes)
	if drawn != nil && !room(drawn) {
		p.fit = p.fit[:0]
		for _, c := range p.nodes {
			if c.r == nil || room(c.r) {
				p.fit = append(p.fit, c)
			} else {
				lacking = append(lacking, c.r)
			}
		}
		if len(p.fit) == 0 {
			return drawn.hash, lacking, true
		}
		drawn = p.draw(p.fit)
	}
	if drawn == nil {
		return p.self, nil, true
	}
	return drawn.hash, nil, true
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

func (p *picker) draw(from []candidate) *receiver {
	total := 0
	for _, c := range from {
		total += c.weight
	}
	n := p.random.IntN(total)
	for _, c := range from {
		if n -= c.weight; n < 0 {
			return c.r
		}
	}
	panic("BUG: pubsub: no candidate")
}
