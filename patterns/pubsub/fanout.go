// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
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
	group   string
	root    bool
	patient time.Duration // how long after the last message debts are still paid

	mu      sync.Mutex // guards the owner, too, and all below
	now     int64      // as of lock
	used    int64      // when something was addressed to somebody; 0 = never
	session uint64

	audience audience
	tree     tree
	hops     map[peer.ID]*receiver // those that have one

	debts   []*receiver // who are owed their number
	paying  bool        // a timer is set
	waiters []*waiter

	touched []*branch // scratch, as all below
	head    []byte
	skips   []wire.Skip
}

func (f *fanout) init(b *base, source peer.ID, session uint64, group string, root bool) {
	f.base, f.source, f.session, f.group, f.root = b, source, session, group, root
	f.now, f.patient, f.hops = b.now(), ghostTime, make(map[peer.ID]*receiver)
}

// lock takes mu, and notes the time.
func (f *fanout) lock() {
	f.mu.Lock()
	f.now = f.base.now()
}

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

// outgoing is one message on its way out.
type outgoing struct {
	topic  string
	origin wire.Origin // where it is told
	picks  []wire.Pick
	tree   bool   // it goes through the tree
	epoch  uint32 // of the newest branch when it was sent first
	took   int    // receivers that have it in their lanes, or those before them

	near [2][]byte // tail and body, from the source itself
	far  [2][]byte // the same, with the source named
}

func (o *outgoing) size() int { return 96 + len(o.near[0]) + len(o.near[1]) }

// prepare encodes the message for all its receivers.
func (f *fanout) prepare(o *outgoing, c *content) {
	p := wire.Publish{Flags: c.flags, Batch: 1, Topic: o.topic, Picks: o.picks, Origin: o.origin}
	if f.root {
		p.Flags |= wire.FlagRoot | wire.FlagOrigin
		if o.origin.Peer != string(f.source) || f.group == rootGroup {
			p.Source = string(f.source)
		}
	}
	encode := func() [2][]byte {
		n := 160 + len(o.topic) + 16*len(o.picks) + wire.HeadersSize(c.head)
		if p.Flags&wire.FlagOrigin == 0 {
			n -= 96
		}
		return [2][]byte{c.appendHeaders(p.AppendTail(make([]byte, 0, n))), c.body}
	}
	if o.near = encode(); o.tree {
		o.far = o.near
		if !f.root {
			p.Flags |= wire.FlagOrigin
			p.Origin = wire.Origin{Peer: string(f.source), Incarnation: f.cfg.Incarnation, Serial: c.serial}
			o.far = encode()
		}
	}
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

// direct sends to one receiver alone.
func (f *fanout) direct(r *receiver, parts [2][]byte) verdict {
	m := wire.Publish{Session: f.session, Run: r.run, Number: r.number + 1}
	f.head = m.AppendHead(f.head[:0])
	v := f.send(r, wire.KindPublish, f.head, parts[0], parts[1])
	if v != full {
		r.number++
		r.passBy(1)
		f.count(v, 1)
	}
	if v == lost {
		f.owe(r)
	}
	return v
}

// through sends to those of a branch that are in b.matched.
func (f *fanout) through(o *outgoing, b *branch) verdict {
	h := f.hop(b.head)
	if b.forwards() && (!b.known || b.told != h.losses || len(b.skips) > maxSkips) {
		if v := f.tell(b); v != sent {
			if v == lost {
				f.pass(b)
			}
			return v
		}
	}
	m := wire.Publish{Session: f.session, Run: b.head.run}
	parts := o.near
	if b.forwards() {
		f.skips = b.skipList(f.skips[:0])
		m.Epoch, m.Skips, parts = b.epoch, f.skips, o.far
	}
	if b.matchesHead() {
		m.Number = b.head.number + 1
	}
	f.head = m.AppendHead(f.head[:0])
	v := f.send(b.head, wire.KindPublish, f.head, parts[0], parts[1])
	switch v {
	case sent:
		for _, r := range b.matched {
			r.number++
		}
		b.clearSkips()
		o.took += len(b.matched)
		f.count(v, 1)
	case lost:
		f.pass(b)
	}
	return v
}

// pass gives up a message for those of a branch: they will see that it is
// missing. The head has to be told anew how far they are.
func (f *fanout) pass(b *branch) {
	for _, r := range b.matched {
		r.number++
	}
	b.known = false
	f.owe(b.head)
	f.count(lost, len(b.matched))
}

// skip gives up a message for those of a branch whose lane is full.
func (f *fanout) skip(b *branch) {
	for _, r := range b.matched {
		f.leaveOut(r)
	}
}

// leaveOut leaves one without the message that is being sent: it will see a gap.
func (f *fanout) leaveOut(r *receiver) {
	r.number++
	r.passBy(1)
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
	b.compact()
	b.known = false
	first := f.hop(b.head).losses
	for from := 0; ; {
		p := wire.Path{
			Session: f.session, Run: b.head.run, Number: b.head.number, Epoch: b.epoch, Source: string(f.source), Group: f.group,
		}
		if f.root {
			p.Flags |= wire.FlagRoot
		}
		for size := 0; from < len(b.stops); from++ {
			stop := b.stops[from].stop()
			if size += stop.Size(); size > pathBytes && len(p.Stops) > 0 {
				p.Flags |= wire.FlagMore
				break
			}
			p.Stops = append(p.Stops, stop)
		}
		v := f.send(b.head, wire.KindPath, p.AppendTo(nil), nil, nil)
		switch {
		case v != sent:
			return v
		case b.head.hop.losses != first:
			return lost
		case p.Flags&wire.FlagMore == 0:
			b.known, b.told = true, first
			return sent
		}
	}
}

// pathSize is about how many bytes tell sends.
func (b *branch) pathSize() (n int) {
	for _, r := range b.stops {
		if r != nil {
			stop := r.stop()
			n += stop.Size()
		}
	}
	return n + n/pathBytes*96
}

// stop is r as a path names it.
func (r *receiver) stop() wire.Stop {
	s := wire.Stop{Peer: string(r.peer), Incarnation: r.incarnation, Run: r.run, Number: r.number, Interests: r.interests}
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
