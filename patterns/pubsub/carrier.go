// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"bytes"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/crowd"
	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/patterns/pubsub/fanout"
	"github.com/arke-mesh/arke/security"
)

// Carrier publishes here, for a gateway, what is published in one group of another
// network. It never waits: who has no room goes without, and learns that by the numbers.
// All methods may be called concurrently, but those of one publisher's messages in
// their order.
type Carrier struct {
	// Immutable.
	e       *Engine
	network []byte // that it is from
	group   string // here
	to      *publisher
	id      uint64

	mu     sync.Mutex
	ledger ledger        // guarded by mu
	timer  overlay.Timer // guarded by mu; nil = nothing is to be told
	closed bool          // guarded by mu
}

// NewCarrier returns a carrier to the topics here whose first word is group, of what is
// from that network, which has at most wire.MaxNetworkID bytes. Close it.
func NewCarrier(e *Engine, network, group string) (*Carrier, error) {
	r, _, err := e.publishers.begin(group, "")
	if err != nil {
		return nil, err
	}
	e.armSweep()
	c := &Carrier{e: e, network: []byte(network), group: group, to: r.to, id: max(e.base.Random.Uint64(), 1)}
	c.ledger = newLedger(e.base.Random.IntN)
	return c, nil
}

// Close ends the carrier. What it was given to pass on is passed on.
func (c *Carrier) Close() {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	if first {
		c.notify() // what was to be told
		c.e.publishers.done(c.to)
	}
}

// Cluster is the one whose members are the nodes that listen to a group.
func Cluster(group string) string { return env.ClusterOf(group) }

// Listened says whether anybody here listens to a topic that the pattern stands for, as
// far as is known: gateways, which would take it elsewhere, are nobody.
func (c *Carrier) Listened(pattern string) bool {
	wants := func(i wire.Interest) bool { return !env.IsLent(i.Queue) && match.Meet(i.Pattern, pattern) }
	if c.e.local.wants(c.group, wants) || c.e.local.wants(env.RootGroup, wants) {
		return true
	}
	if _, up, err := c.e.publishers.begin(c.group, ""); err == nil {
		c.e.publishers.done(c.to)
		if up != nil && len(up.watch.View().Members) > 0 {
			return true // what patterns those have that begin with a wildcard nobody knows
		}
	}
	c.to.lock()
	defer c.to.Unlock()
	for _, r := range c.to.subscribers.Receivers {
		if r.State.Gone != 0 {
			continue
		}
		for _, i := range r.Interests {
			if wants(i) {
				return true
			}
		}
	}
	return false
}

// Put publishes a message that came for a gateway, under that topic.
func (c *Carrier) Put(topic string, d *Delivery) {
	c.mu.Lock()
	said, ok := c.ledger.pass(c.e.base.Now(), streamOf(d), d.Serial)
	if !ok {
		c.armLocked()
	}
	c.mu.Unlock()
	if !ok {
		c.e.base.Drops.Inc(env.DropLate)
		return
	}
	served := make([]uint64, 0, len(d.Picks))
	for _, p := range d.Picks {
		if p.Serial == 0 {
			served = append(served, p.Queue)
		}
	}
	c.publish(topic, d.Tails[0], &said, served)
}

// Leave takes in that a message that came for a gateway does not cross. Those who listen
// are told within half a second.
func (c *Carrier) Leave(d *Delivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.leave(c.e.base.Now(), streamOf(d), d.Serial)
	c.armLocked()
}

// Gap takes in that messages of a publisher have not come as far as the gateway.
func (c *Carrier) Gap(g patterns.Gap) {
	publisher, err := peer.Decode(g.From)
	if err != nil {
		return // of several: there is no pattern of a gateway for which that is said
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.gap(c.e.base.Now(), publisher, g.Missed)
	c.armLocked()
}

// armLocked has those who listen told.
func (c *Carrier) armLocked() {
	if c.timer == nil && !c.closed {
		c.timer = c.e.base.After("pubsub.notice", env.HoleTime, c.notify)
	}
}

// notify tells everybody who listens to the group what is missing, and has not been
// told.
func (c *Carrier) notify() {
	c.mu.Lock()
	c.timer = nil
	due := c.ledger.due()
	c.mu.Unlock()
	for i := range due {
		c.publish(c.group, noHeaders, &due[i], nil)
	}
}

// noHeaders is the content of a message without any.
var noHeaders = wire.AppendTail(nil, nil, nil)

// streamOf tells queues of gateways apart: each is numbered by itself.
func streamOf(d *Delivery) ledgerKey {
	return ledgerKey{d.Publisher, d.Session ^ d.Queue}
}

// publish publishes a message to those who listen to its topic, or a notice to all who
// listen to the group.
func (c *Carrier) publish(topic string, tail []byte, said *wire.Crossed, served []uint64) {
	e := c.e
	r, up, err := e.publishers.begin(topic, "")
	if err != nil {
		e.base.Drops.Inc(env.DropMalformed) // by its new name it is too long, or the engine is closed
		return
	}
	defer e.publishers.done(r.to)
	said.Carrier, said.Network = c.id, c.network
	const ends = 192
	body := append(make([]byte, 0, len(tail)+ends), tail...)
	what := fanout.Content{Flags: wire.FlagLent, Packed: true, Body: said.AppendTo(body)}
	plain := what.Body
	var key security.KeyID
	if r.to.keys.Seals() {
		serial, keys := e.base.Serials.Take(), r.to.keys.Now()
		defer e.base.Serials.Done(serial)
		key = keys.CommonKey()
		what = sealWith(e.base, keys, key, r.topic, serial, what)
	}
	here := e.local.heardHere(&r.to.keys, key, r.topic)
	o := fanout.Outgoing{Topic: r.topic, Served: served}
	message := said.Kind == wire.CrossedMessage
	var left []*fanout.Receiver
	if message {
		left, _ = r.to.send(&o, &what, here.queues(false, origin{}), "", forced)
	} else {
		left = sendAll(r.to, &o, &what)
	}
	if len(left) > 0 {
		r.to.giveUp(left, 1)
	}
	e.base.Counts.Forwarded.Add(1)
	if up != nil && up.put(e.base.Now(), r.topic, &what) != nil {
		up.giveUp(1)
	}
	if here != nil {
		c.here(here, plain, o.Picks)
	}
}

// here takes in what is published for the subscriptions on this node. Those to the root
// group hear it from its forwarder, as others do.
func (c *Carrier) here(here *answer, plain []byte, picks []wire.Pick) {
	if tail, said, ok := wire.CutCrossed(plain); ok {
		c.e.local.abroad.land(c.e.base.Self, false, &said, here, tail, picks)
	}
}

// sendAll sends to everybody who listens to the group, on no tree. It returns those
// whose lane is full.
func sendAll(p *publisher, o *fanout.Outgoing, what *fanout.Content) (left []*fanout.Receiver) {
	p.lock()
	defer p.Unlock()
	p.use()
	var all []*fanout.Receiver
	for _, r := range p.subscribers.Sorted() {
		if r.State.Gone == 0 {
			all = append(all, r)
		}
	}
	p.Prepare(o, what, o.Origin)
	p.Tree.Signer.Addressed++
	return p.give(o, all)
}

// ledger is what a carrier has passed on, and what is missing: a pure core.
type ledger struct {
	all    *crowd.Table[ledgerKey, peer.ID, *entry] // by publisher
	looked int64                                    // when room was looked for last
}

func newLedger(random func(n int) int) ledger {
	return ledger{all: crowd.NewTable[ledgerKey, peer.ID, *entry](env.MaxStreams, random)}
}

// ledgerKey is one stream of a publisher.
type ledgerKey struct {
	publisher peer.ID
	stream    uint64
}

type entry struct {
	serial uint64 // of the last message
	gone   uint64 // the same, if it did not cross; else 0
	lost   uint64
	told   uint64 // of lost
	early  uint64 // of lost, since the last message: those are before the next one
	ended  bool   // the publisher is lost, and that has not been told
	used   int64
}

// pass takes in a message that crosses, and returns what is said of it. It does not if
// its number has been passed by.
func (l *ledger) pass(now int64, k ledgerKey, serial uint64) (said wire.Crossed, ok bool) {
	e := l.entry(now, k)
	if serial <= e.serial {
		e.lost++
		return said, false
	}
	e.advance(serial)
	e.gone = 0
	return wire.Crossed{Stream: k.stream, Serial: serial, Lost: e.lost, Publisher: []byte(k.publisher)}, true
}

// leave takes in a message that does not cross.
func (l *ledger) leave(now int64, k ledgerKey, serial uint64) {
	e := l.entry(now, k)
	e.lost++
	if serial > e.serial {
		e.advance(serial)
		e.gone = serial
	}
}

// advance records a later message. The messages in between went to another gateway: a node
// that received none of them may miss them.
func (e *entry) advance(serial uint64) {
	if e.serial > 0 {
		between := above(serial-e.serial-1, e.early)
		e.lost, e.told = e.lost+between, e.told+between
	}
	e.serial, e.early = serial, 0
}

// gap takes in that n messages of a publisher have not come; 0 = it is lost. Which ones
// they are is not known, so nothing is said of their numbers.
func (l *ledger) gap(now int64, publisher peer.ID, n uint64) {
	var newest *entry
	var stream uint64
	for k, e := range l.all.All() {
		if k.publisher != publisher {
			continue
		}
		if newest == nil || e.used > newest.used || e.used == newest.used && k.stream < stream {
			newest, stream = e, k.stream
		}
	}
	if newest == nil {
		newest = l.entry(now, ledgerKey{publisher: publisher})
	}
	newest.lost, newest.early = newest.lost+n, newest.early+n
	newest.ended = newest.ended || n == 0
}

// due returns what is to be told: the order does not matter, of one stream there is one.
func (l *ledger) due() (out []wire.Crossed) {
	keys := env.Sorted(l.untold(), func(k ledgerKey) string { return string(k.publisher) + env.Hex(k.stream) })
	for _, k := range keys {
		e, _ := l.all.Get(k)
		said := wire.Crossed{Kind: wire.CrossedNotice, Stream: k.stream, Serial: e.gone, Lost: e.lost, Publisher: []byte(k.publisher)}
		if e.lost > e.told {
			out = append(out, said)
		}
		if e.ended {
			said.Kind = wire.CrossedEnd
			out = append(out, said)
		}
		e.told, e.ended = e.lost, false
	}
	return out
}

func (l *ledger) untold() map[ledgerKey]ledgerKey {
	out := make(map[ledgerKey]ledgerKey)
	for k, e := range l.all.All() {
		if e.lost > e.told || e.ended {
			out[k] = k
		}
	}
	return out
}

// entry returns that of a stream. Where there are too many of its publisher it begins anew
// each time.
func (l *ledger) entry(now int64, k ledgerKey) *entry {
	e, ok := l.all.Get(k)
	if !ok {
		e = &entry{}
		k.publisher = peer.ID(bytes.Clone([]byte(k.publisher)))
		if _, ok := l.all.Put(k, k.publisher, e); !ok && now-l.looked >= int64(env.RoomTime) {
			l.looked = now
			l.forget(now)
		}
	}
	e.used = now
	return e
}

// forget forgets the streams that have been silent for long.
func (l *ledger) forget(now int64) {
	for k, e := range l.all.All() {
		if now-e.used > int64(env.StreamTime) {
			l.all.Delete(k)
		}
	}
}
