// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/patterns/pubsub/fanout"
	"github.com/arke-mesh/arke/security"
)

// publisher is what this node publishes in one group: who listens, in which
// tree, and what they were sent. One lock guards all of it.
type publisher struct {
	// Immutable.
	name string // the group
	keys env.GroupKeys
	listeners

	users atomic.Int32 // made more under publishers.mu
	last  atomic.Int64 // when it was used, or a moment before

	fanout.Fanout // its mu guards all below
	subscribers   fanout.Subscribers
	picker        fanout.Picker
	sealer        security.KeyID     // that group names
	grace         int64              // of graceTime, for those that are gone, in ns
	alone         []*fanout.Receiver // scratch
	found         []*fanout.Receiver // scratch
}

func newPublisher(b *env.Base, group string, root bool) *publisher {
	p := &publisher{name: group, keys: b.KeysOf(group)}
	p.watch = b.Cfg.Directory.Watch(env.ClusterOf(group))
	p.last.Store(b.Now())
	p.Init(b, b.Self, b.Random.Uint64(), p.keys.Label(group), root)
	p.sealer = p.keys.Sealer()
	p.subscribers = fanout.NewSubscribers(b.Self, b.Cfg.Rights, &p.Audience)
	p.Tree.Signer = &fanout.Signer{Base: b, Group: p.Group}
	p.picker = fanout.Picker{Random: b.Picks, Self: b.Hash, Live: func(r *fanout.Receiver) bool {
		return slices.ContainsFunc(r.State.Members, b.Cfg.Directory.Live)
	}}
	return p
}

// lock takes mu, and takes in the view there is now.
func (p *publisher) lock() {
	p.Fanout.Lock()
	p.refresh()
}

// enter is lock for what is done for each message: it looks at the clock only if
// the last message was not added to others that were under way.
func (p *publisher) enter() {
	p.Mu.Lock()
	if p.Ticked = false; p.Fresh > 0 || p.watch.View() != p.subscribers.View {
		p.Tick()
		p.refresh()
	}
	p.Fresh = 0
}

func (p *publisher) refresh() {
	for _, c := range p.subscribers.Refresh(p.Now, p.watch.View()) {
		p.changed(c)
	}
	if n := p.subscribers.Malformed; n > 0 {
		p.Drops.Add(env.DropMalformed, uint64(n))
		p.subscribers.Malformed = 0
	}
}

// changed takes in what a view has changed.
func (p *publisher) changed(c fanout.Change) {
	r := c.R
	switch c.What {
	case fanout.Came:
		p.Tree.Loose++
		if r.Hop != nil {
			p.Hops[r.Peer] = r
		}
	case fanout.Returned:
		if p.Audience.Strict > 0 {
			p.Audience.Forget()
		}
		p.Hop(r).Open(p.Now, r.Addrs) // it will be told what it missed
		r.Owed = false                // and as long as it was gone nobody saw to that
		p.Owe(r)
		if r.Branch == nil {
			p.Tree.Loose++
		}
	case fanout.Altered: // forwarders before it don't know: it is reached directly until the next tree
		if !r.Direct() {
			r.Leave()
			p.Tree.Loose++
		}
	case fanout.Left:
		p.grace = int64(p.Over(env.Grace))
		if p.Audience.Strict > 0 {
			p.Audience.Forget() // nothing is signed for those who are gone
		}
		switch {
		case r.Branch == nil:
			p.Tree.Loose = max(p.Tree.Loose-1, 0)
		case r.Leads():
			p.replant(r.Branch)
		default:
			p.Tree.Stale = true
		}
	case fanout.Replaced:
		p.forget(r)
	}
}

// forget takes r, which is not among the subscribers any more, out of the tree.
func (p *publisher) forget(r *fanout.Receiver) {
	switch {
	case r.Branch == nil:
		return
	case r.Index >= 0:
		if r.Pending != wire.SkipLeft {
			r.Leave()
		}
	default:
		p.replant(r.Branch)
	}
	p.Tree.Stale = true
}

// mode says what send does where there is no room.
type mode uint8

const (
	waits  mode = iota // nothing, if the message is for a queue no member of which has room; the caller waits for one
	tries              // nothing, if anybody lacks room
	forced             // what it can
)

// send sends the message to the interested nodes, and picks who has it for its
// queues, of which own are here. Those whose lane is full are left over. If it did
// nothing for want of room, lacking is who lacks it: the first of them that has it
// again is enough.
func (p *publisher) send(o *fanout.Outgoing, what *fanout.Content, own []wire.Interest, except peer.ID, m mode) (left, lacking []*fanout.Receiver) {
	p.enter()
	defer p.Unlock()
	if len(own) == 0 && except == "" && !o.Confirmed {
		if left, done := repeat(p, o, what, m); done {
			return left, nil
		}
	}
	for {
		p.use()
		w := o.Route.Of(&p.Audience, o.Topic)
		if o.Apart = what.Unnamed != nil && (w.Strict || len(own)+len(w.Queues)+len(w.Lent) > 0); o.Apart {
			return nil, nil
		}
		if !p.Ticked && len(own)+len(w.Queues)+len(w.Lent) > 0 {
			p.Tick() // picks are drawn once
			continue
		}
		if o.Unsigned = o.Route.Signs(w, what); o.Unsigned {
			return nil, nil
		}
		if lacking = p.pick(w, o, what, own, m); lacking != nil {
			return nil, lacking
		}
		rs := p.Audience.Receivers(w, o.Picks, except, p.found[:0])
		switch {
		case len(rs) == 0 && p.Ticked:
			p.missPicked(what.Number())
			return nil, nil
		case len(rs) == 0:
			p.Tick()
			continue
		}
		o.Tree = present(rs) > env.FanOut && !o.Confirmed
		p.Prepare(o, what, o.Origin)
		if !p.Ticked && (o.Tree || !p.joins(rs[0], o)) {
			p.Tick() // what was decided so far may not be true any more
			continue
		}
		if o.Tree {
			p.grow()
			o.Epoch = p.Tree.Epoch
			p.Fresh++
		} else if !p.Ticked {
			rs = rs[1:]
		}
		p.Tree.Signer.Addressed += uint64(o.Count)
		p.missPicked(o.Count)
		return p.give(o, p.Sort(rs, o.Tree, p.alone[:0])), nil
	}
}

// repeat is send for what is as the message before it on its topic, and only has to be
// added to it: nothing has changed since, so few nodes listen that each is reached
// directly, and what the first one was sent last still waits. So is nearly all that is
// published while links are busy. It may have done nothing.
func repeat(p *publisher, o *fanout.Outgoing, what *fanout.Content, m mode) (left []*fanout.Receiver, done bool) {
	if what.Flags != 0 || what.Messages != nil || o.Route == nil {
		return nil, false
	}
	rs := same(p, o.Route)
	if n := len(rs); n == 0 || n > 1 && m == tries { // the others may lack room
		return nil, false
	}
	p.Encoder.Message(o, what)
	if !repeated(p, rs[0], o.Topic, o.Count, o.Body) {
		return nil, false
	}
	o.Took++
	p.Tree.Signer.Addressed += uint64(o.Count)
	alone := p.alone[:0]
	for _, r := range rs[1:] {
		if !repeated(p, r, o.Topic, o.Count, o.Body) {
			alone = append(alone, r)
		} else {
			o.Took++
		}
	}
	if len(alone) > 0 {
		p.Prepare(o, what, o.Origin)
		left = p.give(o, alone)
	}
	return left, true
}

// same returns who has all messages on a topic, if they are so few that each is reached
// directly, and nothing has changed since the last one.
func same(p *publisher, r *fanout.WayTo) []*fanout.Receiver {
	if p.Ticked || p.Root || r.Way == nil || r.Version != p.Audience.Version || r.Way.Strict || len(r.Way.Receivers) > env.FanOut {
		return nil
	}
	return r.Way.Receivers
}

// repeated adds messages, as the encoder has them, to what r was sent last, if that is on
// the same topic and still waits.
func repeated(p *publisher, r *fanout.Receiver, topic string, count int, body []byte) bool {
	h := r.Hop
	if h == nil || r.State.Gone != 0 || h.Grow.Topic != topic || len(h.Grow.Picks) > 0 ||
		!h.Extends(fanout.Following{Session: p.Session, Run: r.Run, Number: r.Number + 1}) ||
		!h.Extend(p.Now, count, p.Encoder.Behind, body) {
		return false
	}
	p.Addressed(r, count)
	p.Count(fanout.Sent, count)
	return true
}

// joins adds the message to what is under way to r, if that can be.
func (p *publisher) joins(r *fanout.Receiver, o *fanout.Outgoing) bool {
	if r.State.Gone != 0 || !p.Join(r, o, o.Near.Follows(p.Session, r, 0, r.Number+1)) {
		return false
	}
	p.Addressed(r, o.Count)
	p.Count(fanout.Sent, o.Count)
	o.Reached(r)
	return true
}

// pick picks who has the message for its queues. It returns who lacks room, if
// that is to be waited for.
func (p *publisher) pick(w *fanout.Way, o *fanout.Outgoing, what *fanout.Content, own []wire.Interest, m mode) (lacking []*fanout.Receiver) {
	if len(own)+len(w.Queues)+len(w.Lent) == 0 && m != tries {
		p.picker.Gone = p.picker.Gone[:0]
		return nil
	}
	room := func(r *fanout.Receiver) bool { return r.State.Gone != 0 || p.hasRoom(r, what.Size(o.Topic)) }
	if m == tries {
		for _, in := range w.Interests {
			if in.Queue == 0 && !room(in.R) {
				return []*fanout.Receiver{in.R}
			}
		}
	}
	picks, lacking, beyond := p.picker.Pick(w, own, o.Served, room, o.Own[:0])
	picks, more := p.picker.Ferries(w, own, what, picks)
	if lacking == nil {
		lacking = p.picker.Ferry.Lacking(room)
	}
	if lacking != nil && m != forced {
		return lacking
	}
	o.Picks = p.picker.Ferry.Board(picks)
	if beyond += more; beyond > 0 {
		p.Drops.Add(env.DropQueues, uint64(beyond))
	}
	return nil
}

// use begins another session if the last message is so long ago that receivers
// and forwarders may soon have forgotten this one: a forwarder of the root group
// has its publisher for as long as it is one.
func (p *publisher) use() {
	if p.Used != 0 && p.Now-p.Used > int64(env.GhostTime) {
		p.Session, p.Tree.Branches = p.Random.Uint64(), nil
		for _, r := range p.subscribers.Receivers {
			r.Number, r.Owed = 0, false
			r.Uproot()
		}
		p.Debts = nil
	}
	p.Used = p.Now
	p.last.Store(p.Now)
	if key := p.keys.Sealer(); key != p.sealer && key != (security.KeyID{}) { // heads are told with their next message
		p.sealer, p.Group = key, p.keys.Label(p.name)
		p.Tree.Relabel(p.Group)
	}
}

// present counts those who are there.
func present(rs []*fanout.Receiver) (n int) {
	if len(rs) <= env.FanOut {
		return len(rs)
	}
	for _, r := range rs {
		if r.State.Gone == 0 {
			n++
		}
	}
	return n
}

// give sends to some directly, and to those whom sort has put into branches. It
// returns those whose lane is full.
func (p *publisher) give(o *fanout.Outgoing, alone []*fanout.Receiver) (left []*fanout.Receiver) {
	for _, r := range alone {
		v := fanout.Lost
		if p.absent(r) {
			p.miss(r, o.Count)
		} else if v = p.Direct(r, o); v == fanout.Full && r.State.Gone != 0 { // nobody waits for it
			p.miss(r, o.Count)
		} else if v == fanout.Full {
			left = append(left, r)
		}
		if v == fanout.Sent {
			o.Reached(r)
		}
	}
	for _, b := range p.Touched {
		if p.Through(o, b) == fanout.Full {
			left = append(left, b.Matched...)
		}
		b.Matched = b.Matched[:0]
	}
	p.Touched = p.Touched[:0] // another tree may take their place
	return left
}

// absent says whether r has left. It is no sign of that if its leases are gone
// because links broke, ours or those to its anchors: it may be back at once,
// with the same ones.
func (p *publisher) absent(r *fanout.Receiver) bool {
	if r.State.Gone == 0 {
		return false
	}
	l := p.Cfg.Links.Link(r.Peer)
	return l.Session() == 0 || !l.Suspect() && p.Now-r.State.Gone >= p.grace
}

// miss gives up n messages for a node that is not reached.
func (p *publisher) miss(r *fanout.Receiver, n int) {
	r.Number += uint64(n)
	r.PassBy(uint64(n))
	r.Owed = true // for when it returns
	p.Count(fanout.Lost, n)
}

// missPicked gives up n messages for the nodes that left the view, and were picked all the
// same.
func (p *publisher) missPicked(n int) {
	for _, r := range p.picker.Gone {
		p.miss(r, n)
	}
}

// again is send for those who are left over. If there is another path to
// some by now, those before them on it may have the message: they are reached
// directly.
func (p *publisher) again(o *fanout.Outgoing, what *fanout.Content, left []*fanout.Receiver) []*fanout.Receiver {
	p.lock()
	defer p.Unlock()
	p.Prepare(o, what, o.Origin)
	var through, alone []*fanout.Receiver
	for _, r := range left {
		switch {
		case p.subscribers.Receivers[r.Peer] != r: // it was started anew meanwhile
		case o.Tree && r.Branch != nil && r.Branch.Epoch <= o.Epoch:
			through = append(through, r)
		default:
			if !r.Direct() {
				r.Leave()
				p.Tree.Loose++
			}
			alone = append(alone, r)
		}
	}
	return p.give(o, p.Sort(through, true, alone))
}

// giveUp leaves those who are left over without n messages.
func (p *publisher) giveUp(left []*fanout.Receiver, n int) {
	p.lock()
	defer p.Unlock()
	for _, r := range left {
		p.LeaveOut(r, n)
	}
	p.Drops.Add(env.DropLane, uint64(n*len(left)))
}

// missed notes that n messages of others, which were to be passed on to all, are
// missing: at most so many for each. 0 = their source is lost, and nobody knows how
// many.
func (p *publisher) missed(n uint64) {
	p.lock()
	defer p.Unlock()
	if n == 0 {
		p.tellAll(wire.FlagGone)
		return
	}
	p.use()
	p.Tree.Signer.Addressed += n
	for _, r := range p.subscribers.Sorted() {
		r.Number += n
		r.PassBy(n)
	}
	p.tellAll(0)
}

// tellAll tells everybody its number, or that the source is lost.
func (p *publisher) tellAll(flags uint8) {
	for _, r := range p.subscribers.Sorted() {
		if r.State.Gone == 0 && r.Direct() {
			p.Settle(r, flags)
		}
	}
}

// grow makes a new tree if the one there is not good enough.
func (p *publisher) grow() {
	if !p.Tree.Due(p.Now) {
		return
	}
	p.Tree.Grow(p.Now, slices.Collect(maps.Values(p.subscribers.Receivers)), p.rank, p.Hash|1)
	p.Counts.Trees.Add(1)
}

// rank says how good a forwarder r would be, the least being the best: whoever
// has a link to us, and is not in doubt.
func (p *publisher) rank(r *fanout.Receiver) int {
	l := p.Cfg.Links.Link(r.Peer)
	switch {
	case r.State.Gone != 0 || p.subscribers.Receivers[r.Peer] != r:
		return fanout.OutOfTree
	case l.Suspect() || r.Hop != nil && r.Hop.Waiting.Len() > 0:
		return fanout.OutOfTree // what is newer would overtake, on another way, what waits for it
	case r.State.Doubted != 0 && p.Now-r.State.Doubted < int64(env.IdleTime):
		return 2
	case l.Session() == 0:
		return 1
	}
	return 0
}

// replant makes another path to those of a branch whose head is lost, or could
// not reach one of them. They are told how far they are.
func (p *publisher) replant(b *fanout.Branch) {
	if fresh := p.Tree.Replant(b, p.rank, p.Hash|1); fresh != nil {
		p.Settle(fresh.Head, 0)
	}
}

// pathLost makes another path if the one that is lost is of this session, and
// says whether it is. Only the head of a branch is believed, and only about those
// behind it; a receiver that doubts its numbers gets others.
func (p *publisher) pathLost(from peer.ID, m *wire.PathLost) bool {
	p.lock()
	defer p.Unlock()
	if p.Session != m.Session {
		return false
	}
	r := p.subscribers.Receivers[peer.ID(m.Peer)]
	if m.Epoch == 0 && r != nil && r.Peer == from {
		r.Renumber()
		if r.Leads() {
			p.replant(r.Branch)
		} else if !r.Direct() {
			r.Leave()
			p.Tree.Loose++
		}
		return true
	}
	for _, b := range p.Tree.Branches {
		if b.Epoch == m.Epoch && b.Head.Peer == from {
			if r != nil && r != b.Head && slices.Contains(b.Signed, r) {
				r.State.Doubted = p.Now
			}
			p.replant(b)
			break
		}
	}
	return true
}

// event takes in what happened to a link. Nobody waits for a node whose link is
// broken, nor does anybody behind it.
func (p *publisher) event(ev overlay.PeerEvent) {
	p.lock()
	switch r := p.Fanout.Event(ev); {
	case r == nil:
	case r.Branch == nil:
		p.Tree.Stale = true // it was left out, or is to be
	case ev.Type != overlay.LinkUp && ev.Type != overlay.LinkRecovered && r.Leads():
		if ev.Type != overlay.LinkSuspect {
			r.State.Doubted = p.Now
		}
		p.replant(r.Branch)
	}
	woken := p.Waiters.Of(ev.Peer)
	p.Unlock()
	fanout.Wake(p.Base, woken)
}

// tidy forgets those who have been gone for long, and says whether anybody has
// still to be told what it missed.
func (p *publisher) tidy() (owing bool) {
	p.lock()
	defer p.Unlock()
	for _, r := range p.subscribers.Sorted() {
		if r.State.Gone != 0 && p.Now-r.State.Gone > int64(env.GhostTime) {
			p.subscribers.Forget(r)
			p.forget(r)
			if r.Hop != nil {
				r.Hop.End()
				delete(p.Hops, r.Peer)
			}
		}
		owing = owing || r.Owed
	}
	p.Rest()
	return owing
}

// end lets go of everything.
func (p *publisher) end() {
	p.watch.Release()
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.Fanout.End()
}
