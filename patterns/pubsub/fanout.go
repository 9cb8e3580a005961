// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// fanout numbers the messages of one session for each receiver, and gives them
// to hops: directly, or through branches. Publishers and forwarders are one.
// Beside lock and unlock it has no clock, lock or goroutine.
type fanout struct {
	*base
	source  peer.ID
	group   string // its label
	root    bool
	patient time.Duration // how long after the last message debts are still paid

	mu      sync.Mutex // guards the owner, too, and all below
	now     int64      // as of lock, or a moment before enter
	ticked  bool       // it is as of now
	used    int64      // when something was addressed to somebody; 0 = never
	session uint64

	audience audience
	tree     tree
	hops     map[peer.ID]*receiver // those that have one

	debts   []*receiver // who are owed their number
	paying  bool        // a timer is set
	waiters waiters

	fresh   int       // frames that were begun
	touched []*branch // scratch, as all below
	skips   []wire.Skip
	encoder encoder
}

func (f *fanout) init(b *base, source peer.ID, session uint64, group string, root bool) {
	f.base, f.source, f.session, f.group, f.root = b, source, session, group, root
	f.now, f.patient, f.hops = b.now(), ghostTime, make(map[peer.ID]*receiver)
}

// lock takes mu, and notes the time.
func (f *fanout) lock() {
	f.mu.Lock()
	f.tick()
}

// tick looks at the clock.
func (f *fanout) tick() { f.now, f.ticked = f.base.now(), true }

// unlock releases mu; what is owed is paid later.
func (f *fanout) unlock() {
	if len(f.debts) > 0 && !f.paying {
		f.paying = true
		f.after("pubsub.owed", holeTime, func() {
			f.lock()
			f.paying = false
			if f.now-f.used > int64(f.patient) {
				f.debts = nil
			}
			f.pay()
			f.unlock()
		})
	}
	f.mu.Unlock()
}

// outgoing is one message on its way out, or several that are passed on and have
// the same topic and picks.
type outgoing struct {
	topic string
	route *route // of the topic, if it is published here
	picks []wire.Pick
	// served are queues that it is not for: they have it in the network that it is from.
	served []uint64
	// unsigned says that it was not sent, because somebody asks for a signature, and
	// apart that several were not, because each has its own signature or picks.
	unsigned, apart bool
	own             [2]wire.Pick // room for picks
	tree            bool         // it goes through the tree
	epoch           uint32       // of the newest branch when it was sent first
	// origin is the publisher, where it is told; of the first message.
	origin    wire.Origin
	forwarder wire.RootForwarder // what the publisher says of this node, in the root group
	took      int                // receivers that have it in their lanes, or those before them

	count     int
	near, far label         // what a frame says of them: from the source itself, or with the source named
	messages  wire.Messages // encoded already; the first one names the topic. Else there is one, the encoder's, with …
	body      []byte        // … this body
	first     int           // bytes of its headers and body; of several, of the first one
	length    int           // of all, about
}

// label is what a frame says of its messages to all receivers.
type label struct {
	flags     uint8
	source    string
	origin    wire.Origin
	forwarder wire.RootForwarder
}

// labelOf is the label of messages that came.
func labelOf(m *wire.Publish) label { return label{m.Flags, m.Source, m.Origin, m.Forwarder} }

// size is about how many bytes the message has in a frame.
func (o *outgoing) size() int { return 96 + len(o.topic) + o.length }

// prepare encodes the message for all its receivers. It is valid until the next
// one is prepared.
func (f *fanout) prepare(o *outgoing, c *content, origin wire.Origin) {
	o.near = label{flags: c.flags, origin: origin, forwarder: o.forwarder}
	if f.root {
		o.near.flags |= wire.FlagRoot | wire.FlagOrigin
		if origin.Peer != string(f.source) || f.group == rootGroup {
			o.near.source = string(f.source)
		}
	}
	if o.tree {
		if o.far = o.near; !f.root {
			o.far.flags |= wire.FlagOrigin
			o.far.origin = wire.Origin{Peer: string(f.source), Incarnation: f.cfg.Incarnation}
		}
	}
	if c.messages != nil {
		o.count, o.messages, o.length = c.count, c.messages, len(c.messages)
		return
	}
	f.encoder.message(o, c)
}

// encoder is memory for what is sent.
type encoder struct{ head, named, behind []byte }

// message encodes a message, but for its body, as those get it who get it behind others
// on the same topic, with the same picks: nearly all. Of several the body is all but the
// beginning of the first one.
func (e *encoder) message(o *outgoing, c *content) {
	o.messages, o.count = nil, c.number()
	if c.unnamed != nil {
		rest := c.unnamed
		o.first = len(rest.Next(wire.Message{}).Content)
		e.named = e.named[:0]
		e.behind, o.body = append(e.behind[:0], c.unnamed[:wire.MessageHead]...), c.unnamed[wire.MessageHead:]
	} else {
		o.first, o.body = e.one(c), c.body
	}
	o.length = len(e.behind) + len(o.body)
}

// one is message for what is nothing but one. It returns the bytes of its headers and body.
func (e *encoder) one(c *content) (n int) {
	n = c.length()
	e.named = e.named[:0]
	e.behind = c.appendHeaders(wire.AppendMessage(e.behind[:0], "", nil, n))
	return n
}

// alone is the message as those get it who get it alone, but for its body.
func (e *encoder) alone(o *outgoing) []byte {
	if len(e.named) == 0 {
		headers := e.behind[wire.MessageHead:]
		e.named = append(wire.AppendMessage(e.named, o.topic, o.picks, o.first), headers...)
	}
	return e.named
}

// parts is what a frame gets, whose last message was the one before, or which has none.
func (e *encoder) parts(o *outgoing, before *growing) (a, b []byte) {
	switch {
	case o.messages != nil:
		return o.messages, nil
	case before != nil && before.topic == o.topic && slices.Equal(before.picks, o.picks):
		return e.behind, o.body
	}
	return e.alone(o), o.body
}

// hop returns the way to r.
func (f *fanout) hop(r *receiver) *hop {
	if r.hop == nil {
		r.hop = &hop{link: f.cfg.Links.Link(r.peer)}
		f.hops[r.peer] = r
	}
	return r.hop
}

func (f *fanout) send(r *receiver, k wire.Kind, a, b, c []byte) verdict {
	return f.hop(r).send(f.now, r.addrs, k, a, b, c)
}

// follows is what messages with the label are for r, where they may be added to
// others.
func (t *label) follows(session uint64, r *receiver, epoch uint32, number uint64) following {
	return following{
		session: session, run: r.run, epoch: epoch, number: number,
		flags: t.flags, origin: t.origin.Peer, incarnation: t.origin.Incarnation, serial: t.origin.Serial,
		forwarder: t.forwarder.Serial,
	}
}

// join adds the message to what has been sent to r already, if that still waits.
func (f *fanout) join(r *receiver, o *outgoing, is following) bool {
	h := f.hop(r)
	if !h.extends(is) {
		return false
	}
	a, b := f.encoder.parts(o, &h.grow)
	if !h.extend(f.now, o.count, a, b) {
		return false
	}
	h.grow.topic = o.topic
	if !slices.Equal(h.grow.picks, o.picks) {
		h.grow.picks = append(h.grow.picks[:0], o.picks...)
	}
	return true
}

// put sends the message to r: behind others that wait, or in a frame of its own.
func (f *fanout) put(r *receiver, o *outgoing, t *label, epoch uint32, number uint64, skips []wire.Skip) verdict {
	is := t.follows(f.session, r, epoch, number)
	if len(skips) == 0 && f.join(r, o, is) {
		return sent
	}
	if !f.ticked {
		f.tick()
	}
	f.fresh++
	m := wire.Publish{
		Session: f.session, Run: r.run, Epoch: epoch, Number: number, Skips: skips,
		Flags: t.flags, Source: t.source, Origin: t.origin, Forwarder: t.forwarder,
	}
	f.encoder.head = m.AppendTail(m.AppendHead(f.encoder.head[:0]))
	a, b := f.encoder.parts(o, nil)
	v := f.send(r, wire.KindPublish, f.encoder.head, a, b)
	if v == sent {
		r.hop.begun(is, o.count, o.topic, o.picks)
	}
	return v
}

// direct sends to one receiver alone.
func (f *fanout) direct(r *receiver, o *outgoing) verdict {
	v := f.show(r)
	if v == sent {
		v = f.put(r, o, &o.near, 0, r.number+1, nil)
	}
	if v != full {
		f.addressed(r, o.count)
		f.count(v, o.count)
	}
	if v == lost {
		f.owe(r)
	}
	return v
}

// addressed notes that the message was addressed to r on our own link.
func (f *fanout) addressed(r *receiver, count int) {
	r.number += uint64(count)
	r.passBy(uint64(count))
}

// through sends to those of a branch that are in b.matched.
func (f *fanout) through(o *outgoing, b *branch) verdict {
	h := f.hop(b.head)
	v := sent
	if f.tree.signer.mustTell(b, h.losses) {
		v = f.tell(b)
	} else if !b.forwards() {
		v = f.show(b.head)
	}
	if v == lost {
		f.pass(b, o.count)
	}
	if v != sent {
		return v
	}
	t, epoch, number := &o.near, uint32(0), uint64(0)
	f.skips = f.skips[:0]
	if b.forwards() {
		f.skips = b.skipList(f.skips)
		t, epoch = &o.far, b.epoch
	}
	if b.matchesHead() {
		number = b.head.number + 1
	}
	v = f.put(b.head, o, t, epoch, number, f.skips)
	switch v {
	case sent:
		for _, r := range b.matched {
			r.number += uint64(o.count)
		}
		b.clearSkips()
		o.took += len(b.matched)
		f.count(v, o.count)
	case lost:
		f.pass(b, o.count)
	}
	return v
}

// pass gives up n messages for those of a branch: they will see that it is
// missing. The head has to be told anew how far they are.
func (f *fanout) pass(b *branch, n int) {
	for _, r := range b.matched {
		r.number += uint64(n)
	}
	b.known = false
	f.owe(b.head)
	f.count(lost, n*len(b.matched))
}

// leaveOut leaves one without the n messages that are being sent: it will see a
// gap.
func (f *fanout) leaveOut(r *receiver, n int) {
	r.number += uint64(n)
	r.passBy(uint64(n))
	f.owe(r)
}

func (f *fanout) count(v verdict, n int) {
	if v == sent {
		f.counts.copies.Add(uint64(n))
	} else {
		f.drops.Add(dropUnreachable, uint64(n))
	}
}

// tell tells the head of a branch who is behind it and how far each is.
func (f *fanout) tell(b *branch) verdict {
	b.known = false
	proof := &b.proof
	if f.tree.signer != nil {
		if bs := f.tree.signer.unsigned(b, f.touched); bs != nil {
			f.tree.signer.sign(f.session, bs)
		}
	} else {
		own := f.tree.lineage.proofFor(b.head.at)
		proof = &own
	}
	first := f.hop(b.head).losses
	for from := 0; ; {
		p := pathTo(f, b.head, b.epoch)
		for size := 0; from < len(b.signed); from++ {
			stop := b.stop(from)
			if size += stop.Size(); size > pathBytes && len(p.Stops) > 0 {
				p.Flags |= wire.FlagMore
				break
			}
			p.Stops = append(p.Stops, stop)
		}
		if p.Flags&wire.FlagMore == 0 {
			p.Proof = *proof
		}
		v := f.send(b.head, wire.KindPath, p.AppendTo(nil), nil, nil)
		switch {
		case v != sent:
			return v
		case b.head.hop.losses != first:
			return lost
		case p.Flags&wire.FlagMore == 0:
			b.clearSkips()
			b.known, b.told, b.fresh, b.head.shown = true, first, false, first+1
			return sent
		}
	}
}

// pathTo is a path to r without its stops.
func pathTo(f *fanout, r *receiver, epoch uint32) wire.Path {
	p := wire.Path{Session: f.session, Run: r.run, Number: r.number, Epoch: epoch, Source: string(f.source), Group: f.group}
	if f.root {
		p.Flags |= wire.FlagRoot
	}
	return p
}

// show has r know that it is behind this node, unless it does, or the source is this
// node.
func (f *fanout) show(r *receiver) verdict {
	if f.tree.lineage == nil || r.shown == f.hop(r).losses+1 {
		return sent
	}
	shown := r.hop.losses + 1
	p := pathTo(f, r, f.tree.epoch)
	p.Proof = f.tree.lineage.proofFor(r.at)
	v := f.send(r, wire.KindPath, p.AppendTo(nil), nil, nil)
	if v == sent {
		r.shown = shown
	}
	return v
}

// pathSize is about how many bytes tell sends.
func (b *branch) pathSize() (n int) {
	for _, r := range b.stops {
		if r != nil {
			stop := r.stop()
			n += stop.Size()
		}
	}
	const proof = 2 << 10
	return n + n/pathBytes*96 + proof
}

// stop is the stop of that index, of those that were signed, as a path names it.
func (b *branch) stop(index int) wire.Stop {
	r := b.signed[index]
	if b.stops[index] == nil || r.pending == wire.SkipLeft {
		return wire.Stop{Peer: string(r.peer), Run: r.run, Number: r.base, Ahead: wire.SkipLeft}
	}
	return r.stop()
}

// stop is r as a path names it.
func (r *receiver) stop() wire.Stop {
	s := wire.Stop{
		Peer: string(r.peer), Incarnation: r.incarnation, Run: r.run, Number: r.base, Ahead: uint32(min(r.number-r.base, wire.SkipLeft-1)),
		Interests: r.interests,
	}
	for _, a := range r.addrs {
		if len(s.Addrs) < wire.MaxStopAddrs && len(a) < 256 {
			s.Addrs = append(s.Addrs, a)
		}
	}
	return s
}

// owe notes that r, or the head before it, has to be told its number, and those
// behind it theirs: what was dropped may have been the last.
func (f *fanout) owe(r *receiver) {
	if !r.direct() {
		r = r.branch.head
	}
	if !r.owed {
		r.owed = true
		f.debts = append(f.debts, r)
	}
}

// pay tells whom something is owed, as far as there is room.
func (f *fanout) pay() {
	debts := f.debts
	f.debts = nil
	for _, r := range debts {
		switch {
		case !r.owed: // paid when its link came up
		case r.state != nil && r.state.gone != 0:
			r.owed = false // its return is seen in the view
		case f.hop(r).sound():
			f.settle(r, 0)
		default:
			f.debts = append(f.debts, r)
			r.hop.open(f.now, r.addrs)
		}
	}
}

// settle tells a receiver how much was addressed to it, and a head how far those
// behind it are.
func (f *fanout) settle(r *receiver, flags uint8) {
	r.owed = false
	v := sent
	switch {
	case r.leads() && flags == 0:
		v = f.tell(r.branch)
	case r.number > 0:
		if v = f.show(r); v != sent {
			break
		}
		m := wire.PublishMark{Session: f.session, Run: r.run, Number: r.number, Flags: flags, Source: string(f.source), Group: f.group}
		v = f.send(r, wire.KindPublishMark, m.AppendTo(nil), nil, nil)
	}
	if v != sent {
		f.owe(r)
	}
}

// event takes in what happened to a link, and returns the receiver that it leads
// to, or nil.
func (f *fanout) event(ev overlay.PeerEvent) *receiver {
	r := f.hops[ev.Peer]
	if r == nil {
		return nil
	}
	losses := r.hop.losses
	f.drops.Add(dropUnsent, uint64(r.hop.event(f.now, ev)))
	if r.hop.losses != losses && (r.number > 0 || r.leads()) || r.hop.waiting.Len() > 0 {
		f.owe(r) // and the link is dialled until that is paid
	}
	if r.owed && r.hop.sound() && (ev.Type == overlay.LinkUp || ev.Type == overlay.LinkRecovered) {
		f.settle(r, 0)
	}
	return r
}

// sort puts the receivers of a message into their branches, and returns those
// that are reached directly, in dst. f.touched has the branches.
func (f *fanout) sort(rs []*receiver, tree bool, dst []*receiver) (direct []*receiver) {
	f.touched = f.touched[:0]
	if !tree {
		return rs
	}
	for _, r := range rs {
		if r.branch == nil || r.pending == wire.SkipLeft {
			dst = append(dst, r)
			continue
		}
		if len(r.branch.matched) == 0 {
			f.touched = append(f.touched, r.branch)
		}
		r.branch.matched = append(r.branch.matched, r)
	}
	return dst
}

// end lets go of all links.
func (f *fanout) end() {
	for _, r := range f.hops {
		r.hop.end()
	}
}

// rest lets go of the links that have not been used for a while.
func (f *fanout) rest() {
	for _, r := range f.hops {
		r.hop.rest(f.now)
	}
}
