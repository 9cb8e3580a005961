// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/match"
)

// receiver is one node that listens, as its publisher or a forwarder sees it.
// Its owner's lock guards it.
type receiver struct {
	peer      peer.ID
	hash      uint64
	addrs     []string
	interests []wire.Interest
	// incarnation is that of its lease: what is for it is not for one that is
	// started later.
	incarnation uint64

	run    uint16
	number uint64 // of the last message addressed to it
	way    *pipe  // to it; nil = not looked for yet

	// Its place in the tree.
	branch  *branch // nil = it is reached directly
	index   int     // among the stops of the branch; -1 = it is the head
	pending uint32  // messages addressed to it that the branch has not been told of

	// Of the publisher alone.
	state *attendance

	owed  bool   // it has to be told its number: it may be missing the last messages
	round uint64 // of the audience, in which it was found last
}

// interest is what the index of an audience holds.
type interest struct {
	r      *receiver
	queue  uint64 // 0 = every message
	weight int
}

// audience finds the receivers of a topic: a pure core. Its owner's lock guards
// it.
type audience struct {
	index match.Index[*interest]
	round uint64
	found []*interest // scratch
}

// add takes in r's interests.
func (a *audience) add(r *receiver) []*interest {
	out := make([]*interest, 0, len(r.interests))
	for _, i := range r.interests {
		in := &interest{r: r, queue: hashQueue(i.Pattern, i.Queue), weight: int(i.Weight)}
		a.index.Add(i.Pattern, in)
		out = append(out, in)
	}
	return out
}

// remove takes out what add returned for r.
func (a *audience) remove(r *receiver, ins []*interest) {
	for n, i := range r.interests {
		a.index.Remove(i.Pattern, ins[n])
	}
}

// match finds the interests in the topic. The result is valid until the next
// call.
func (a *audience) match(topic string) []*interest {
	a.found = a.index.Match(topic, a.found[:0])
	return a.found
}

// receivers appends to dst those of the interests' nodes that a message with
// these picks is for, each once. One of them has got it already, and wants it
// for its queues only.
func (a *audience) receivers(ins []*interest, picks []wire.Pick, except peer.ID, dst []*receiver) []*receiver {
	a.round++
	for _, i := range ins {
		if i.r.round == a.round || i.queue == 0 && i.r.peer == except {
			continue
		}
		if i.queue != 0 && !slices.Contains(picks, wire.Pick{Queue: i.queue, Node: i.r.hash}) {
			continue
		}
		i.r.round = a.round
		dst = append(dst, i.r)
	}
	return dst
}

// pipe returns the way to r. It is kept, for looking for it takes the lock that
// all of the node's messages take.
func (r *receiver) pipe(e *Engine) *pipe {
	if r.way == nil || r.way.over.Load() {
		r.way = e.pipe(r.peer)
	}
	return r.way
}

// at is where r is.
func (r *receiver) at() destination { return destination{r.addrs, r.incarnation} }
