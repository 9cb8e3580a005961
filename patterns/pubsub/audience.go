// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"slices"
	"strings"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/internal/wire"
)

// receiver is one node that listens, as its publisher or a forwarder sees it.
// Its owner's lock guards it.
type receiver struct {
	peer        peer.ID
	hash        uint64
	addrs       []string
	incarnation uint64 // of its lease
	interests   []wire.Interest
	handles     []*interest // of them

	run    uint32
	number uint64 // of the last message addressed to it
	base   uint64 // likewise, when the publisher signed its place in the tree
	at     int    // of a forwarder: its place among all behind it
	shown  uint64 // of a forwarder: the hop's losses when it was shown that, and 1
	owed   bool   // it has to be told its number: it may be missing the last messages
	hop    *hop   // nil = it was not used yet

	// Its place in the tree.
	branch  *branch // nil = it is reached directly
	index   int     // among the stops of the branch; -1 = it is the head
	pending uint32  // messages addressed to it that the branch has not been told of

	// Of the publisher alone.
	state *subscriberState

	round uint64 // of the audience, in which it was found last
}

// interest is what the index of an audience holds.
type interest struct {
	r      *receiver
	queue  uint64 // 0 = every message
	weight int
	strict bool // it is for those who ask for signatures
	lent   bool // the queue is of gateways
}

// audience finds the receivers of a topic: a pure core. Its owner's lock guards
// it.
type audience struct {
	index    match.Index[*interest]
	prepared map[string]*way
	round    uint64
	strict   int    // interests that ask for signatures
	version  uint64 // counts the times when what is prepared was forgotten
}

// way is whom the messages of one topic are for. It is valid until somebody's
// interests change.
type way struct {
	topic     string
	interests []*interest
	receivers []*receiver // each once; nil if there are queues
	queues    []uint64    // each once; but for
	lent      []uint64    // those of gateways
	strict    bool        // somebody who is there asks for signatures
}

// maxPrepared bounds the topics whose receivers are remembered.
const maxPrepared = 1024

// add takes in r's interests.
func (a *audience) add(r *receiver) {
	a.forget()
	for _, i := range r.interests {
		in := &interest{r: r, queue: hashQueue(i.Pattern, i.Queue), weight: int(i.Weight), strict: i.Signed, lent: isLent(i.Queue)}
		if in.strict {
			a.strict++
		}
		a.index.Add(i.Pattern, in)
		r.handles = append(r.handles, in)
	}
}

// remove takes out r's interests, which are forgotten.
func (a *audience) remove(r *receiver) {
	a.forget()
	for n, i := range r.interests {
		a.index.Remove(i.Pattern, r.handles[n])
		if i.Signed {
			a.strict--
		}
	}
	r.interests, r.handles = nil, nil
}

// forget forgets what is prepared, which is not true any more.
func (a *audience) forget() {
	a.version++
	clear(a.prepared)
}

// matchBytes is match for a topic that is no string yet.
func (a *audience) matchBytes(topic []byte) *way {
	if w := a.prepared[string(topic)]; w != nil {
		return w
	}
	return a.match(string(topic))
}

// hasQueues says whether messages of a topic are for queues.
func (a *audience) hasQueues(topic string) bool { return len(a.match(topic).queues) > 0 }

// match returns the way of a topic.
func (a *audience) match(topic string) *way {
	if w := a.prepared[topic]; w != nil {
		return w
	}
	w := &way{topic: strings.Clone(topic), interests: a.index.Match(topic, nil)}
	for _, i := range w.interests {
		w.strict = w.strict || i.strict && (i.r.state == nil || i.r.state.gone == 0)
		queues := &w.queues
		if i.lent {
			queues = &w.lent
		}
		if i.queue != 0 && !slices.Contains(*queues, i.queue) {
			*queues = append(*queues, i.queue)
		}
	}
	if len(w.queues)+len(w.lent) == 0 {
		w.receivers = a.receivers(w, nil, "", make([]*receiver, 0, len(w.interests)))
	}
	switch {
	case a.prepared == nil:
		a.prepared = make(map[string]*way)
	case len(a.prepared) >= maxPrepared:
		a.forget()
	}
	a.prepared[w.topic] = w
	return w
}

// receivers returns those that a message with these picks is for, each once; in
// dst, unless they are prepared. One of them has got it already, and wants it for
// its queues only.
func (a *audience) receivers(w *way, picks []wire.Pick, except peer.ID, dst []*receiver) []*receiver {
	if w.receivers != nil && except == "" {
		return w.receivers
	}
	a.round++
	for _, i := range w.interests {
		if i.r.round == a.round || i.queue == 0 && i.r.peer == except {
			continue
		}
		if i.queue != 0 && !picked(picks, i.queue, i.r.hash) {
			continue
		}
		i.r.round = a.round
		dst = append(dst, i.r)
	}
	return dst
}

// picked says whether the node has a message for the queue.
func picked(picks []wire.Pick, queue, node uint64) bool {
	return slices.ContainsFunc(picks, func(p wire.Pick) bool { return p.Queue == queue && p.Node == node })
}
