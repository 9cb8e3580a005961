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
// there.
type picker struct {
	random    overlay.RandStream
	directory Directory
	self      uint64
	queues    []uint64    // scratch
	nodes     []candidate // scratch
}

type candidate struct {
	node   uint64
	weight int
}

// pick appends to dst a pick for each queue among the interests and this node's
// own, and says for how many of them a message had no room.
func (p *picker) pick(ins []*interest, own []wire.Interest, dst []wire.Pick) (picks []wire.Pick, beyond int) {
	p.queues = p.queues[:0]
	for _, in := range ins {
		if in.queue != 0 && !slices.Contains(p.queues, in.queue) {
			p.queues = append(p.queues, in.queue)
		}
	}
	for _, i := range own {
		if q := hashQueue(i.Pattern, i.Queue); !slices.Contains(p.queues, q) {
			p.queues = append(p.queues, q)
		}
	}
	for _, q := range p.queues {
		node, ok := p.choose(q, ins, own)
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

func (p *picker) choose(q uint64, ins []*interest, own []wire.Interest) (node uint64, ok bool) {
	for _, liveOnly := range []bool{true, false} {
		total := 0
		p.nodes = p.nodes[:0]
		for _, in := range ins {
			if in.queue == q && in.r.state.gone == 0 && (!liveOnly || p.live(in.r)) {
				p.nodes = append(p.nodes, candidate{in.r.hash, in.weight})
				total += in.weight
			}
		}
		for _, i := range own {
			if hashQueue(i.Pattern, i.Queue) == q {
				p.nodes = append(p.nodes, candidate{p.self, int(i.Weight)})
				total += int(i.Weight)
			}
		}
		if total == 0 {
			continue
		}
		n := p.random.IntN(total)
		for _, c := range p.nodes {
			if n -= c.weight; n < 0 {
				return c.node, true
			}
		}
	}
	return 0, false
}

// live says whether the node is usable, as far as is known.
func (p *picker) live(r *receiver) bool {
	return slices.ContainsFunc(r.state.members, p.directory.Live)
}
