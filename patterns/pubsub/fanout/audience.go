// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// Receiver is one node that listens, as its publisher or a forwarder sees it.
// Its owner's lock guards it.
type Receiver struct {
	Peer        peer.ID
	Hash        uint64
	Addrs       []string
	Incarnation uint64 // of its lease
	Life        uint16 // likewise; only publishers know it
	Interests   []wire.Interest
	handles     []*Interest // of them

	Run    uint32
	Number uint64 // of the last message addressed to it
	Base   uint64 // likewise, when the publisher signed its place in the tree
	At     int    // of a forwarder: its place among all behind it
	Shown  uint64 // of a forwarder: the hop's losses when it was shown that, and 1
	Owed   bool   // it has to be told its number: it may be missing the last messages
	Hop    *Hop   // nil = it was not used yet

	// Its place in the tree.
	Branch  *Branch // nil = it is reached directly
	Index   int     // among the stops of the branch; -1 = it is the head
	Pending uint32  // messages addressed to it that the branch has not been told of

	// Of the publisher alone.
	State *SubscriberState

	round uint64 // of the audience, in which it was found last
}

// Interest is what the index of an audience holds.
type Interest struct {
	R      *Receiver
	Queue  uint64 // 0 = every message
	weight int
	strict bool // it is for those who ask for signatures
	lent   bool // the queue is of gateways
}

// Audience finds the receivers of a topic: a pure core. Its owner's lock guards
// it.
type Audience struct {
	index    match.Index[*Interest]
	prepared map[string]*Way
	round    uint64
	Strict   int    // interests that ask for signatures
	Version  uint64 // counts the times when what is prepared was forgotten
}

// Way is whom the messages of one topic are for. It is valid until somebody's
// interests change.
type Way struct {
	Topic     string
	Interests []*Interest
	Receivers []*Receiver // each once; nil if there are queues
	Queues    []uint64    // each once; but for
	Lent      []uint64    // those of gateways
	Strict    bool        // somebody who is there asks for signatures
}

// WayTo remembers the way of one topic that is published on.
type WayTo struct {
	Strict  atomic.Bool // somebody has asked for signatures, when the last message was sent
	Way     *Way
	Version uint64 // of the audience that way is of
}

// Signs says whether a message has to be signed that is not, and notes it for the next
// one; r may be nil: what is passed on stays as it is. The lock of whoever has the audience
// is held.
func (r *WayTo) Signs(w *Way, what *Content) bool {
	if r == nil {
		return false
	}
	if r.Strict.Load() != w.Strict {
		r.Strict.Store(w.Strict)
	}
	return w.Strict && what.Flags&wire.FlagSigned == 0
}

// Of returns the way of a topic; r may be nil. The lock of whoever has the audience
// is held.
func (r *WayTo) Of(a *Audience, topic string) *Way {
	if r == nil {
		return a.Match(topic)
	}
	if r.Way == nil || r.Version != a.Version {
		r.Way = a.Match(topic)
		r.Version = a.Version // as match may have changed it
	}
	return r.Way
}

// MaxPrepared bounds the topics whose receivers are remembered.
const MaxPrepared = 1024

// Add takes in r's interests.
func (a *Audience) Add(r *Receiver) {
	a.Forget()
	for _, i := range r.Interests {
		in := &Interest{R: r, Queue: env.HashQueue(i.Pattern, i.Queue), weight: int(i.Weight), strict: i.Signed, lent: env.IsLent(i.Queue)}
		if in.strict {
			a.Strict++
		}
		a.index.Add(i.Pattern, in)
		r.handles = append(r.handles, in)
	}
}

// Remove takes out r's interests, which are forgotten.
func (a *Audience) Remove(r *Receiver) {
	a.Forget()
	for n, i := range r.Interests {
		a.index.Remove(i.Pattern, r.handles[n])
		if i.Signed {
			a.Strict--
		}
	}
	r.Interests, r.handles = nil, nil
}

// Forget forgets what is prepared, which is not true any more.
func (a *Audience) Forget() {
	a.Version++
	clear(a.prepared)
}

// MatchBytes is match for a topic that is no string yet.
func (a *Audience) MatchBytes(topic []byte) *Way {
	if w := a.prepared[string(topic)]; w != nil {
		return w
	}
	return a.Match(string(topic))
}

// HasQueues says whether messages of a topic are for queues.
func (a *Audience) HasQueues(topic string) bool { return len(a.Match(topic).Queues) > 0 }

// Match returns the way of a topic.
func (a *Audience) Match(topic string) *Way {
	if w := a.prepared[topic]; w != nil {
		return w
	}
	w := &Way{Topic: strings.Clone(topic), Interests: a.index.Match(topic, nil)}
	for _, i := range w.Interests {
		w.Strict = w.Strict || i.strict && (i.R.State == nil || i.R.State.Gone == 0)
		queues := &w.Queues
		if i.lent {
			queues = &w.Lent
		}
		if i.Queue != 0 && !slices.Contains(*queues, i.Queue) {
			*queues = append(*queues, i.Queue)
		}
	}
	if len(w.Queues)+len(w.Lent) == 0 {
		w.Receivers = a.Receivers(w, nil, "", make([]*Receiver, 0, len(w.Interests)))
	}
	switch {
	case a.prepared == nil:
		a.prepared = make(map[string]*Way)
	case len(a.prepared) >= MaxPrepared:
		a.Forget()
	}
	a.prepared[w.Topic] = w
	return w
}

// Receivers returns those that a message with these picks is for, each once; in
// dst, unless they are prepared. One of them has got it already, and wants it for
// its queues only.
func (a *Audience) Receivers(w *Way, picks []wire.Pick, except peer.ID, dst []*Receiver) []*Receiver {
	if w.Receivers != nil && except == "" {
		return w.Receivers
	}
	a.round++
	for _, i := range w.Interests {
		if i.R.round == a.round || i.Queue == 0 && i.R.Peer == except {
			continue
		}
		if i.Queue != 0 && !picked(picks, i.Queue, i.R.Hash) {
			continue
		}
		i.R.round = a.round
		dst = append(dst, i.R)
	}
	return dst
}

// picked says whether the node has a message for the queue.
func picked(picks []wire.Pick, queue, node uint64) bool {
	return slices.ContainsFunc(picks, func(p wire.Pick) bool { return p.Queue == queue && p.Node == node })
}
