// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// Fanout numbers the messages of one session for each receiver, and gives them
// to hops: directly, or through branches. Publishers and forwarders are one.
// Beside lock and unlock it has no clock, lock or goroutine.
type Fanout struct {
	*env.Base
	Source  peer.ID
	Group   string // its label
	Root    bool
	Patient time.Duration // how long after the last message debts are still paid

	Mu      sync.Mutex // guards the owner, too, and all below
	Now     int64      // as of lock, or a moment before enter
	Ticked  bool       // it is as of now
	Used    int64      // when something was addressed to somebody; 0 = never
	Session uint64

	Audience Audience
	Tree     Tree
	Hops     map[peer.ID]*Receiver // those that have one

	Debts   []*Receiver // who are owed their number
	paying  bool        // a timer is set
	Waiters Waiters

	Fresh   int       // frames that were begun
	Touched []*Branch // scratch, as all below
	skips   []wire.Skip
	Encoder Encoder
}

// Init begins a session of source, which is this node, or one whose messages it forwards;
// root says that it is in the root group.
func (f *Fanout) Init(b *env.Base, source peer.ID, session uint64, group string, root bool) {
	f.Base, f.Source, f.Session, f.Group, f.Root = b, source, session, group, root
	f.Now, f.Patient, f.Hops = b.Now(), env.GhostTime, make(map[peer.ID]*Receiver)
}

// Lock takes mu, and notes the time.
func (f *Fanout) Lock() {
	f.Mu.Lock()
	f.Tick()
}

// Tick looks at the clock.
func (f *Fanout) Tick() { f.Now, f.Ticked = f.Base.Now(), true }

// Unlock releases mu; what is owed is paid later.
func (f *Fanout) Unlock() {
	if len(f.Debts) > 0 && !f.paying {
		f.paying = true
		f.After("pubsub.owed", env.HoleTime, func() {
			f.Lock()
			f.paying = false
			if f.Now-f.Used > int64(f.Patient) {
				f.Debts = nil
			}
			f.pay()
			f.Unlock()
		})
	}
	f.Mu.Unlock()
}

// Outgoing is one message on its way out, or several that are passed on and have
// the same topic and picks.
type Outgoing struct {
	Topic string
	Route *WayTo // of the topic, if it is published here
	Picks []wire.Pick
	// served are queues that it is not for: they have it in the network that it is from.
	Served []uint64
	// unsigned says that it was not sent, because somebody asks for a signature, and
	// apart that several were not, because each has its own signature or picks.
	Unsigned, Apart bool
	Own             [2]wire.Pick // room for picks
	Tree            bool         // it goes through the tree
	Epoch           uint32       // of the newest branch when it was sent first
	// origin is the publisher, where it is told; of the first message.
	Origin    wire.Origin
	Forwarder wire.RootForwarder // what the publisher says of this node, in the root group
	Took      int                // receivers that have it in their lanes, or those before them
	Confirmed bool               // it goes to each receiver directly …
	Asked     []*Receiver        // … these have it

	Count     int
	Near, Far Label         // what a frame says of them: from the source itself, or with the source named
	Messages  wire.Messages // encoded already; the first one names the topic. Else there is one, the encoder's, with …
	Body      []byte        // … this body
	first     int           // bytes of its headers and body; of several, of the first one
	Length    int           // of all, about
}

// Label is what a frame says of its messages to all receivers.
type Label struct {
	flags     uint8
	source    string
	Origin    wire.Origin
	forwarder wire.RootForwarder
}

// LabelOf is the label of messages that came.
func LabelOf(m *wire.Publish) Label { return Label{m.Flags, m.Source, m.Origin, m.Forwarder} }

// Size is about how many bytes the message has in a frame.
func (o *Outgoing) Size() int { return 96 + len(o.Topic) + o.Length }

// Prepare encodes the message for all its receivers. It is valid until the next
// one is prepared.
func (f *Fanout) Prepare(o *Outgoing, c *Content, origin wire.Origin) {
	o.Near = Label{flags: c.Flags, Origin: origin, forwarder: o.Forwarder}
	if f.Root {
		o.Near.flags |= wire.FlagRoot | wire.FlagOrigin
		if origin.Peer != string(f.Source) || f.Group == env.RootGroup {
			o.Near.source = string(f.Source)
		}
	}
	if o.Tree {
		if o.Far = o.Near; !f.Root {
			o.Far.flags |= wire.FlagOrigin
			o.Far.Origin = wire.Origin{Peer: string(f.Source), Incarnation: f.Cfg.Incarnation}
		}
	}
	if c.Messages != nil {
		o.Count, o.Messages, o.Length = c.Count, c.Messages, len(c.Messages)
		return
	}
	f.Encoder.Message(o, c)
}

// Encoder is memory for what is sent.
type Encoder struct{ head, named, Behind []byte }

// Message encodes a message, but for its body, as those get it who get it behind others
// on the same topic, with the same picks: nearly all. Of several the body is all but the
// beginning of the first one.
func (e *Encoder) Message(o *Outgoing, c *Content) {
	o.Messages, o.Count = nil, c.Number()
	if c.Unnamed != nil {
		rest := c.Unnamed
		o.first = len(rest.Next(wire.Message{}).Content)
		e.named = e.named[:0]
		e.Behind, o.Body = append(e.Behind[:0], c.Unnamed[:wire.MessageHead]...), c.Unnamed[wire.MessageHead:]
	} else {
		o.first, o.Body = e.One(c), c.Body
	}
	o.Length = len(e.Behind) + len(o.Body)
}

// One is message for what is nothing but one. It returns the bytes of its headers and body.
func (e *Encoder) One(c *Content) (n int) {
	n = c.Length()
	e.named = e.named[:0]
	e.Behind = c.AppendHeaders(wire.AppendMessage(e.Behind[:0], "", nil, n))
	return n
}

// alone is the message as those get it who get it alone, but for its body.
func (e *Encoder) alone(o *Outgoing) []byte {
	if len(e.named) == 0 {
		headers := e.Behind[wire.MessageHead:]
		e.named = append(wire.AppendMessage(e.named, o.Topic, o.Picks, o.first), headers...)
	}
	return e.named
}

// parts is what a frame gets, whose last message was the one before, or which has none.
func (e *Encoder) parts(o *Outgoing, before *Growing) (a, b []byte) {
	switch {
	case o.Messages != nil:
		return o.Messages, nil
	case before != nil && before.Topic == o.Topic && slices.Equal(before.Picks, o.Picks):
		return e.Behind, o.Body
	}
	return e.alone(o), o.Body
}

// Hop returns the way to r.
func (f *Fanout) Hop(r *Receiver) *Hop {
	if r.Hop == nil {
		r.Hop = &Hop{Link: f.Cfg.Links.Link(r.Peer)}
		f.Hops[r.Peer] = r
	}
	return r.Hop
}

func (f *Fanout) send(r *Receiver, k wire.Kind, a, b, c []byte) Verdict {
	return f.Hop(r).send(f.Now, r.Addrs, k, a, b, c)
}

// Follows is what messages with the label are for r, where they may be added to
// others.
func (t *Label) Follows(session uint64, r *Receiver, epoch uint32, number uint64) Following {
	return Following{
		Session: session, Run: r.Run, epoch: epoch, Number: number,
		flags: t.flags, origin: t.Origin.Peer, incarnation: t.Origin.Incarnation, serial: t.Origin.Serial,
		forwarder: t.forwarder.Serial,
	}
}

// Join adds the message to what has been sent to r already, if that still waits.
func (f *Fanout) Join(r *Receiver, o *Outgoing, is Following) bool {
	h := f.Hop(r)
	if !h.Extends(is) {
		return false
	}
	a, b := f.Encoder.parts(o, &h.Grow)
	if !h.Extend(f.Now, o.Count, a, b) {
		return false
	}
	h.Grow.Topic = o.Topic
	if !slices.Equal(h.Grow.Picks, o.Picks) {
		h.Grow.Picks = append(h.Grow.Picks[:0], o.Picks...)
	}
	return true
}

// put sends the message to r: behind others that wait, or in a frame of its own.
func (f *Fanout) put(r *Receiver, o *Outgoing, t *Label, epoch uint32, number uint64, skips []wire.Skip) Verdict {
	is := t.Follows(f.Session, r, epoch, number)
	if len(skips) == 0 && f.Join(r, o, is) {
		return Sent
	}
	if !f.Ticked {
		f.Tick()
	}
	f.Fresh++
	m := wire.Publish{
		Session: f.Session, Run: r.Run, Epoch: epoch, Number: number, Skips: skips,
		Flags: t.flags, Source: t.source, Origin: t.Origin, Forwarder: t.forwarder,
	}
	f.Encoder.head = m.AppendTail(m.AppendHead(f.Encoder.head[:0]))
	a, b := f.Encoder.parts(o, nil)
	v := f.send(r, wire.KindPublish, f.Encoder.head, a, b)
	if v == Sent {
		r.Hop.begun(is, o.Count, o.Topic, o.Picks)
	}
	return v
}

// Direct sends to one receiver alone.
func (f *Fanout) Direct(r *Receiver, o *Outgoing) Verdict {
	v := f.show(r)
	if v == Sent {
		v = f.put(r, o, &o.Near, 0, r.Number+1, nil)
	}
	if v != Full {
		f.Addressed(r, o.Count)
		f.Count(v, o.Count)
	}
	if v == Lost {
		f.Owe(r)
	}
	return v
}

// Reached notes that r has the message in its lane.
func (o *Outgoing) Reached(r *Receiver) {
	o.Took++
	if o.Confirmed {
		o.Asked = append(o.Asked, r)
	}
}

// Ask puts a question behind what r was sent, and says whether it may be answered.
func (f *Fanout) Ask(r *Receiver, question []byte) bool {
	return !f.Hop(r).Link.Suspect() && f.send(r, wire.KindPublishAsk, question, nil, nil) == Sent
}

// Addressed notes that the message was addressed to r on our own link.
func (f *Fanout) Addressed(r *Receiver, count int) {
	r.Number += uint64(count)
	r.PassBy(uint64(count))
}

// Through sends to those of a branch that are in b.matched.
func (f *Fanout) Through(o *Outgoing, b *Branch) Verdict {
	h := f.Hop(b.Head)
	v := Sent
	if f.Tree.Signer.mustTell(b, h.losses) {
		v = f.tell(b)
	} else if !b.Forwards() {
		v = f.show(b.Head)
	}
	if v == Lost {
		f.pass(b, o.Count)
	}
	if v != Sent {
		return v
	}
	t, epoch, number := &o.Near, uint32(0), uint64(0)
	f.skips = f.skips[:0]
	if b.Forwards() {
		f.skips = b.skipList(f.skips)
		t, epoch = &o.Far, b.Epoch
	}
	if b.matchesHead() {
		number = b.Head.Number + 1
	}
	v = f.put(b.Head, o, t, epoch, number, f.skips)
	switch v {
	case Sent:
		for _, r := range b.Matched {
			r.Number += uint64(o.Count)
		}
		b.clearSkips()
		o.Took += len(b.Matched)
		f.Count(v, o.Count)
	case Lost:
		f.pass(b, o.Count)
	}
	return v
}

// pass gives up n messages for those of a branch: they will see that it is
// missing. The head has to be told anew how far they are.
func (f *Fanout) pass(b *Branch, n int) {
	for _, r := range b.Matched {
		r.Number += uint64(n)
	}
	b.Known = false
	f.Owe(b.Head)
	f.Count(Lost, n*len(b.Matched))
}

// LeaveOut leaves one without the n messages that are being sent: it will see a
// gap.
func (f *Fanout) LeaveOut(r *Receiver, n int) {
	r.Number += uint64(n)
	r.PassBy(uint64(n))
	f.Owe(r)
}

// Count counts what became of n copies.
func (f *Fanout) Count(v Verdict, n int) {
	if v == Sent {
		f.Counts.Copies.Add(uint64(n))
	} else {
		f.Drops.Add(env.DropUnreachable, uint64(n))
	}
}

// tell tells the head of a branch who is behind it and how far each is.
func (f *Fanout) tell(b *Branch) Verdict {
	b.Known = false
	proof := &b.proof
	if f.Tree.Signer != nil {
		if bs := f.Tree.Signer.unsigned(b, f.Touched); bs != nil {
			f.Tree.Signer.sign(f.Session, bs)
		}
	} else {
		own := f.Tree.Lineage.proofFor(b.Head.At)
		proof = &own
	}
	first := f.Hop(b.Head).losses
	for from := 0; ; {
		p := pathTo(f, b.Head, b.Epoch)
		for size := 0; from < len(b.Signed); from++ {
			stop := b.stop(from)
			if size += stop.Size(); size > env.PathBytes && len(p.Stops) > 0 {
				p.Flags |= wire.FlagMore
				break
			}
			p.Stops = append(p.Stops, stop)
		}
		if p.Flags&wire.FlagMore == 0 {
			p.Proof = *proof
		}
		v := f.send(b.Head, wire.KindPath, p.AppendTo(nil), nil, nil)
		switch {
		case v != Sent:
			return v
		case b.Head.Hop.losses != first:
			return Lost
		case p.Flags&wire.FlagMore == 0:
			b.clearSkips()
			b.Known, b.told, b.fresh, b.Head.Shown = true, first, false, first+1
			return Sent
		}
	}
}

// pathTo is a path to r without its stops.
func pathTo(f *Fanout, r *Receiver, epoch uint32) wire.Path {
	p := wire.Path{Session: f.Session, Run: r.Run, Number: r.Number, Epoch: epoch, Source: string(f.Source), Group: f.Group}
	if f.Root {
		p.Flags |= wire.FlagRoot
	}
	return p
}

// show has r know that it is behind this node, unless it does, or the source is this
// node.
func (f *Fanout) show(r *Receiver) Verdict {
	if f.Tree.Lineage == nil || r.Shown == f.Hop(r).losses+1 {
		return Sent
	}
	shown := r.Hop.losses + 1
	p := pathTo(f, r, f.Tree.Epoch)
	p.Proof = f.Tree.Lineage.proofFor(r.At)
	v := f.send(r, wire.KindPath, p.AppendTo(nil), nil, nil)
	if v == Sent {
		r.Shown = shown
	}
	return v
}

// PathSize is about how many bytes tell sends.
func (b *Branch) PathSize() (n int) {
	for _, r := range b.Stops {
		if r != nil {
			stop := r.stop()
			n += stop.Size()
		}
	}
	const proof = 2 << 10
	return n + n/env.PathBytes*96 + proof
}

// stop is the stop of that index, of those that were signed, as a path names it.
func (b *Branch) stop(index int) wire.Stop {
	r := b.Signed[index]
	if b.Stops[index] == nil || r.Pending == wire.SkipLeft {
		return wire.Stop{Peer: string(r.Peer), Run: r.Run, Number: r.Base, Ahead: wire.SkipLeft}
	}
	return r.stop()
}

// stop is r as a path names it.
func (r *Receiver) stop() wire.Stop {
	s := wire.Stop{
		Peer: string(r.Peer), Incarnation: r.Incarnation, Run: r.Run, Number: r.Base, Ahead: uint32(min(r.Number-r.Base, wire.SkipLeft-1)),
		Interests: r.Interests,
	}
	for _, a := range r.Addrs {
		if len(s.Addrs) < wire.MaxStopAddrs && len(a) < 256 {
			s.Addrs = append(s.Addrs, a)
		}
	}
	return s
}

// Owe notes that r, or the head before it, has to be told its number, and those
// behind it theirs: what was dropped may have been the last.
func (f *Fanout) Owe(r *Receiver) {
	if !r.Direct() {
		r = r.Branch.Head
	}
	if !r.Owed {
		r.Owed = true
		f.Debts = append(f.Debts, r)
	}
}

// pay tells whom something is owed, as far as there is room.
func (f *Fanout) pay() {
	debts := f.Debts
	f.Debts = nil
	for _, r := range debts {
		switch {
		case !r.Owed: // paid when its link came up
		case r.State != nil && r.State.Gone != 0: // it is told when it is in the view again
		case f.Hop(r).Sound():
			f.Settle(r, 0)
		default:
			f.Debts = append(f.Debts, r)
			r.Hop.Open(f.Now, r.Addrs)
		}
	}
}

// Settle tells a receiver how much was addressed to it, and a head how far those
// behind it are.
func (f *Fanout) Settle(r *Receiver, flags uint8) {
	r.Owed = false
	v := Sent
	switch {
	case r.Leads() && flags == 0:
		v = f.tell(r.Branch)
	case r.Number > 0:
		if v = f.show(r); v != Sent {
			break
		}
		m := wire.PublishMark{Session: f.Session, Run: r.Run, Number: r.Number, Flags: flags, Source: string(f.Source), Group: f.Group}
		v = f.send(r, wire.KindPublishMark, m.AppendTo(nil), nil, nil)
	}
	if v != Sent {
		f.Owe(r)
	}
}

// Event takes in what happened to a link, and returns the receiver that it leads
// to, or nil.
func (f *Fanout) Event(ev overlay.PeerEvent) *Receiver {
	r := f.Hops[ev.Peer]
	if r == nil {
		return nil
	}
	losses := r.Hop.losses
	f.Drops.Add(env.DropUnsent, uint64(r.Hop.event(f.Now, ev)))
	if r.Hop.losses != losses && (r.Number > 0 || r.Leads()) || r.Hop.Waiting.Len() > 0 {
		f.Owe(r) // and the link is dialled until that is paid
	}
	if r.Owed && r.Hop.Sound() && (ev.Type == overlay.LinkUp || ev.Type == overlay.LinkRecovered) {
		f.Settle(r, 0)
	}
	return r
}

// Sort puts the receivers of a message into their branches, and returns those
// that are reached directly, in dst. f.touched has the branches.
func (f *Fanout) Sort(rs []*Receiver, tree bool, dst []*Receiver) (direct []*Receiver) {
	f.Touched = f.Touched[:0]
	if !tree {
		return rs
	}
	for _, r := range rs {
		if r.Branch == nil || r.Pending == wire.SkipLeft {
			dst = append(dst, r)
			continue
		}
		if len(r.Branch.Matched) == 0 {
			f.Touched = append(f.Touched, r.Branch)
		}
		r.Branch.Matched = append(r.Branch.Matched, r)
	}
	return dst
}

// End lets go of all links.
func (f *Fanout) End() {
	for _, r := range f.Hops {
		r.Hop.End()
	}
}

// Rest lets go of the links that have not been used for a while.
func (f *Fanout) Rest() {
	for _, r := range f.Hops {
		r.Hop.rest(f.Now)
	}
}
