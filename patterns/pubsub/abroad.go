// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"bytes"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/after"
	"github.com/arke-mesh/arke/internal/crowd"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// abroad is what publishers of other networks publish, as gateways bring it here: it is
// delivered in the order in which each of them published it, whichever gateway brings
// it.
type abroad struct {
	*env.Base
	local *local

	mu  sync.Mutex
	all *crowd.Table[streamKey, peer.ID, *stream] // guarded by mu; by who brought them
}

// streamKey names what a publisher publishes in one session of what is lent. In the
// root group it comes another way, and has an order of its own.
type streamKey struct {
	root               bool
	stream             uint64
	publisher, network string
}

// stream is one of them, as this node hears it.
type stream struct {
	root bool
	text string // the publisher, as subscriptions see it

	// Owned by who delivers.
	into delivery

	mu    sync.Mutex
	order passage               // guarded by mu
	last  int64                 // guarded by mu; when something came
	todo  after.InOrder[landed] // guarded by mu
	do    func(landed)
}

// passage is the order of a stream: a pure core. Within what one gateway brings all that
// was addressed to this node is here, or its source has said that it is missing. When
// another one goes on, the numbers tell how many may have been lost between the two.
type passage struct {
	carrier uint64 // that brought the last one; 0 = nothing has come
	serial  uint64 // of the last one
	lost    uint64 // that the carrier has told to be missing
}

// verdict of a passage.
type landing struct {
	deliver bool
	missing uint64 // messages before it, at most
	unknown bool   // some are missing, and nobody knows how many
}

// take takes in what a gateway says.
func (o *passage) take(c *wire.Crossed) (v landing) {
	first, same := o.carrier == 0, o.carrier == c.Carrier
	switch {
	case c.Kind == wire.CrossedEnd:
		return landing{unknown: true}
	case first:
		v = landing{deliver: c.Kind == wire.CrossedMessage, unknown: c.Kind == wire.CrossedNotice}
	case same && c.Kind == wire.CrossedNotice:
		v.missing = above(c.Lost, o.lost)
	case same && c.Serial <= o.serial: // it was overtaken on its way to the gateway, and nobody has told so
		v.missing = above(c.Lost, o.lost) + 1
	case same:
		v = landing{deliver: true, missing: above(c.Lost, o.lost)}
	case c.Serial <= o.serial: // late: told when the other gateway went on
		return landing{unknown: c.Kind == wire.CrossedNotice}
	case c.Kind == wire.CrossedNotice:
		v.missing = c.Serial - o.serial
	default:
		v = landing{deliver: true, missing: c.Serial - o.serial - 1}
	}
	o.carrier, o.serial, o.lost = c.Carrier, max(o.serial, c.Serial), c.Lost
	return v
}

func above(a, b uint64) uint64 { return max(a, b) - b }

// landed is what has come of a stream, and is to be handed on.
type landed struct {
	landing
	end    bool // the publisher is lost
	a      *answer
	groups []string
	from   peer.ID // the publisher
	tail   []byte  // of this message alone
	picks  []wire.Pick
}

// deliver hands on messages whose turn it is by the numbers of their gateway.
func (t *abroad) deliver(in *incoming) {
	skip, at := in.skip, 0
	for rest := in.m.Messages; len(rest) > 0; {
		first, run, count := in.m.Cut(&rest)
		picks := append(first.Picks.AppendTo(nil), in.picks...)
		for count > 0 {
			part, left, n, key := in.part(at, first, run, count)
			a := t.local.heard(in, key, first.Topic)
			for m := first; len(part) > 0; skip-- {
				if m = part.Next(m); skip > 0 {
					continue
				}
				if tail, c, ok := wire.CutCrossed(m.Content); ok && a != nil { // they were checked
					t.land(in.by, in.root, &c, a, tail, picks)
				}
			}
			run, count, at = left, count-n, at+n
		}
	}
}

// land takes in one message, or what is said of those that are missing, which by has
// brought. tail is copied.
func (t *abroad) land(by peer.ID, root bool, c *wire.Crossed, a *answer, tail []byte, picks []wire.Pick) {
	s := t.find(by, root, c)
	if s == nil {
		t.Drops.Inc(env.DropStreams)
		t.local.gap(patterns.Gap{Reason: patterns.GapBorder}, groupsOf(root, a)...)
		return
	}
	l := landed{a: a, groups: groupsOf(root, a), from: peer.ID(c.Publisher), picks: picks, end: c.Kind == wire.CrossedEnd}
	s.mu.Lock()
	s.last = t.Now()
	if l.landing = s.order.take(c); l.deliver {
		l.tail = bytes.Clone(tail)
	} else if c.Kind == wire.CrossedMessage {
		t.Drops.Inc(env.DropLate)
	}
	s.todo.Add(l)
	s.todo.Run(&s.mu, s.do)
}

// groupsOf are those whose subscriptions are told of what is missing.
func groupsOf(root bool, a *answer) []string {
	if root {
		return []string{env.RootGroup}
	}
	return a.groups
}

// find returns the stream, or nil if there are too many that by has brought.
func (t *abroad) find(by peer.ID, root bool, c *wire.Crossed) *stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := streamKey{root, c.Stream, string(c.Publisher), string(c.Network)}
	if s, ok := t.all.Get(k); ok {
		return s
	}
	s := &stream{root: root, text: peer.ID(c.Publisher).String() + "@" + string(c.Network), last: t.Now()}
	s.into = delivery{of: t.local, text: s.text}
	s.do = func(l landed) { t.handOn(s, &l) }
	gone, ok := t.all.Put(k, by, s)
	if !ok {
		return nil
	}
	if gone != nil {
		t.Drops.Inc(env.DropYielded)
	}
	return s
}

// handOn hands on what has come, to the subscriptions here.
func (t *abroad) handOn(s *stream, l *landed) {
	switch {
	case l.end:
		t.local.gap(patterns.Gap{From: s.text, Reason: patterns.GapPublisher}, l.groups...)
	case l.unknown, l.missing > 0:
		t.Drops.Add(env.DropGap, l.missing)
		t.local.gap(patterns.Gap{From: s.text, Missed: l.missing, Reason: patterns.GapBorder}, l.groups...)
	}
	if !l.deliver {
		return
	}
	head, body, err := wire.DecodeHeaders(l.tail)
	if err != nil {
		return // it was checked
	}
	pub := patterns.Publication{Topic: l.a.topic, From: s.text, Headers: wire.ConvertHeaders[patterns.Header](head), Body: body}
	subs := l.a.of(s.root)
	for _, sub := range subs {
		if sub.queue == 0 {
			s.give(sub, &pub)
		}
	}
	for _, p := range l.picks {
		if p.Node != t.Hash {
			continue
		}
		// Nothing of it is signed by its publisher, so who asks for that is the last one.
		if sub := t.local.one(subs, p.Queue, origin{}, true); sub != nil {
			s.give(sub, &pub)
		}
	}
	if len(s.into.out.subs) > 0 {
		s.into.out.deliver(&Delivery{Topic: l.a.topic, Publisher: l.from, From: s.text, Tails: [][]byte{l.tail}})
	}
}

// give gives a message to a subscription.
func (s *stream) give(sub *subscription, pub *patterns.Publication) {
	switch {
	case sub.lends(): // what has crossed one border crosses no other
	case sub.strict():
		s.into.of.Drops.Inc(env.DropUnsigned)
		s.into.refuse(sub)
	case sub.proxy != nil:
		s.into.out.subs = append(s.into.out.subs, sub)
	default:
		sub.inbox.Put(pub)
	}
}

// sweep forgets the streams that have been silent for long, and says how many are left.
func (t *abroad) sweep(now int64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, s := range t.all.All() {
		s.mu.Lock()
		if now-s.last > int64(env.StreamTime) {
			t.all.Delete(k)
		}
		s.mu.Unlock()
	}
	return t.all.Len()
}
