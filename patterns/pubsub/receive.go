// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/match"
)

func peerID(b string) peer.ID { return peer.ID(b) }

// handlePublish takes in a message: it is passed on, if this node is a
// forwarder, and handed to the subscriptions here, if it is for them.
func (e *Engine) handlePublish(l Link, body []byte) {
	m, err := wire.DecodePublish(body)
	if err != nil || match.CheckTopic(m.Topic) != nil {
		e.drops.Inc(dropMalformed)
		return
	}
	from := l.Peer()
	source := from
	if m.Source != "" {
		source = peer.ID(m.Source)
	}
	if m.Epoch > 0 {
		e.forward(l, source, &m)
	}
	if m.Number == 0 {
		return
	}
	e.counts.received.Add(1)
	group, _ := match.Group(m.Topic)
	in := &incoming{root: m.Flags&wire.FlagRoot != 0, picks: m.Picks}
	publisher := source
	if in.root {
		group = rootGroup
		if m.Publisher == "" {
			upward := m
			in.relay = &upward
			group = rootForwards
		} else {
			publisher = peer.ID(m.Publisher)
			in.publisher, in.rank = publisher, rank{m.Life, m.Serial}
		}
	}
	s := e.stream(streamKey{source, m.Session, m.Run}, group)
	if s == nil {
		return
	}
	if in.relay == nil && !e.read(s, in, publisher, &m) {
		e.drops.Inc(dropUnauthorized)
		return
	}
	s.offer(m.Number, len(body), in)
}

// read fills in what subscriptions see.
func (e *Engine) read(s *stream, in *incoming, publisher peer.ID, m *wire.Publish) bool {
	keys := s.keys
	if keys == nil {
		word, _ := match.Group(m.Topic)
		keys = e.cfg.Keys(clusterOf(word))
	}
	hs, body, ok := e.open(keys, string(publisher), m)
	if !ok {
		return false
	}
	in.echo = publisher == e.self
	in.pub = patterns.Publication{Topic: m.Topic, From: s.text, Headers: wire.ConvertHeaders[patterns.Header](hs), Body: body}
	if publisher != s.key.source {
		in.pub.From = publisher.String()
	}
	return true
}

// handleMark takes in how much has been addressed to this node.
func (e *Engine) handleMark(l Link, body []byte) {
	m, err := wire.DecodePublishMark(body)
	if err != nil {
		e.drops.Inc(dropMalformed)
		return
	}
	e.told(l.Peer(), m.Source, m.Session, m.Run, m.Number, m.Group)
}

func (e *Engine) told(from peer.ID, source string, session uint64, run uint16, number uint64, group string) {
	if source != "" {
		from = peer.ID(source)
	}
	if number == 0 {
		return
	}
	if s := e.stream(streamKey{from, session, run}, group); s != nil {
		s.tell(number)
	}
}

// arrived hands a message on whose turn it is.
func (e *Engine) arrived(s *stream, in *incoming) {
	if in.relay != nil {
		e.republish(s.key.source, in.relay)
		return
	}
	if in.root {
		s.subs = e.deliverRoot(in, s.subs[:0])
	} else {
		s.subs = e.deliver(&in.pub, false, in.echo, in.picks, s.subs[:0])
	}
	clear(s.subs)
}

// deliver hands a message that came to the subscriptions here, which it appends
// to subs.
func (e *Engine) deliver(p *patterns.Publication, root, echo bool, picks []wire.Pick, subs []*subscription) []*subscription {
	subs = e.index(root).Match(p.Topic, subs)
	for _, s := range subs {
		if s.queue == 0 && !echo {
			s.inbox.Put(p)
		}
	}
	for _, pick := range picks {
		if pick.Node == e.hash {
			if s := e.one(subs, pick.Queue, origin{}); s != nil {
				s.inbox.Put(p)
			} else if echo || !root {
				e.drops.Inc(dropUnpicked)
			}
		}
	}
	return subs
}

// one chooses a subscription of a queue, in turns, among those that want what
// comes from there.
func (e *Engine) one(subs []*subscription, queue uint64, from origin) *subscription {
	n := 0
	for _, s := range subs {
		if s.queue == queue && !s.echoes(from) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	n = int(e.turns.Add(1) % uint64(n))
	for _, s := range subs {
		if s.queue == queue && !s.echoes(from) {
			if n == 0 {
				return s
			}
			n--
		}
	}
	return nil
}

// missed tells whom it concerns that messages of a source are missing.
func (e *Engine) missed(s *stream, n uint64) {
	e.drops.Add(dropGap, n)
	if s.group == rootForwards {
		e.missRelayed(n)
		return
	}
	e.gapFrom(s.text, s.group, n)
}

// gapHere tells the subscriptions of the root group.
func (e *Engine) gapHere(group string, n uint64) { e.gapFrom("", group, n) }

func (e *Engine) gapFrom(from, group string, n uint64) {
	e.mu.Lock()
	g := e.groups[group]
	e.mu.Unlock()
	if g == nil {
		return
	}
	gap := patterns.Gap{From: from, Missed: n, Exact: g.exact(), Reason: patterns.GapLost}
	if g.root {
		gap.From = ""
	}
	for _, sub := range g.members() {
		sub.inbox.Gap(gap)
	}
}

// members returns the group's subscriptions in the order they came.
func (g *group) members() []*subscription {
	g.mu.Lock()
	defer g.mu.Unlock()
	return sorted(g.subs, func(s *subscription) uint64 { return s.id })
}
