// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// Picker chooses, for each queue that a message is for, the node that has it:
// at random, in proportion to the subscriptions it has, among those that are
// there, and that have room if one has.
type Picker struct {
	Random overlay.RandStream
	Self   uint64
	Live   func(*Receiver) bool
	nodes  []Candidate // scratch
	fit    []Candidate // scratch: those of nodes that have room
	queues []uint64    // scratch
	Ferry  Ferry
	Gone   []*Receiver // left the view, and miss what Pick was called for: their queues have no other node
}

// Candidate is a node that a queue may pick, with the subscriptions it has there.
type Candidate struct {
	r      *Receiver // nil = this node
	weight int
}

// Pick appends to dst a pick for each queue among those who listen and this
// node's own, but for those that are served and those of gateways, and says for how many of them a message had no room. lacking is the
// members of the first queue none of which has room in its lane.
func (p *Picker) Pick(w *Way, own []wire.Interest, served []uint64, room func(*Receiver) bool, dst []wire.Pick) (picks []wire.Pick, lacking []*Receiver, beyond int) {
	p.queues, p.Gone = append(p.queues[:0], w.Queues...), p.Gone[:0]
	for _, i := range own {
		if q := env.HashQueue(i.Pattern, i.Queue); !env.IsLent(i.Queue) && !slices.Contains(p.queues, q) {
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
		case len(dst) < env.MaxPicks:
			dst = append(dst, wire.Pick{Queue: q, Node: node})
		default:
			beyond++
		}
	}
	return dst, lacking, beyond
}

// choose draws one that is live, or, if that has no room, one of those that have;
// if there is none, the one that was drawn, and says who all lack room.
func (p *Picker) choose(q uint64, w *Way, own []wire.Interest, room func(*Receiver) bool) (node uint64, lacking []*Receiver, ok bool) {
	if !p.candidates(q, w, own) {
		return 0, nil, false
	}
	drawn := p.draw(p.nodes)
	if drawn != nil && drawn.State.Gone != 0 {
		p.Gone = append(p.Gone, drawn)
		return 0, nil, false
	}
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
			return drawn.Hash, lacking, true
		}
		drawn = p.draw(p.fit)
	}
	if drawn == nil {
		return p.Self, nil, true
	}
	return drawn.Hash, nil, true
}

// candidates lists the nodes that have the queue and are live; without any those in the
// view; and without any those that left it: one that returns is told what it missed.
func (p *Picker) candidates(q uint64, w *Way, own []wire.Interest) (found bool) {
	for _, usable := range [...]func(*Receiver) bool{
		func(r *Receiver) bool { return r.State.Gone == 0 && p.Live(r) },
		func(r *Receiver) bool { return r.State.Gone == 0 },
		func(*Receiver) bool { return true },
	} {
		if p.list(q, w, own, usable); len(p.nodes) > 0 {
			return true
		}
	}
	return false
}

func (p *Picker) list(q uint64, w *Way, own []wire.Interest, usable func(*Receiver) bool) {
	p.nodes = p.nodes[:0]
	for _, in := range w.Interests {
		if in.Queue == q && in.weight > 0 && usable(in.R) {
			p.nodes = append(p.nodes, Candidate{in.R, in.weight})
		}
	}
	for _, i := range own {
		if env.HashQueue(i.Pattern, i.Queue) == q {
			p.nodes = append(p.nodes, Candidate{nil, int(i.Weight)})
		}
	}
}

func (p *Picker) draw(from []Candidate) *Receiver {
	total := 0
	for _, c := range from {
		total += c.weight
	}
	n := p.Random.IntN(total)
	for _, c := range from {
		if n -= c.weight; n < 0 {
			return c.r
		}
	}
	panic("BUG: pubsub: no candidate")
}
