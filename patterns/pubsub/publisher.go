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
	"github.com/arke-mesh/arke/security"
)

// publisher is what this node publishes in one group: who listens, in which
// tree, and what they were sent. One lock guards all of it.
type publisher struct {
	// Immutable.
	name string // the group
	keys groupKeys
	listeners

	users atomic.Int32 // made more under publishers.mu
	last  atomic.Int64 // when it was used, or a moment before

	fanout      // its mu guards all below
	subscribers subscribers
	picker      picker
	sealer      security.KeyID // that group names
	grace       int64          // of graceTime, for those that are gone, in ns
	alone       []*receiver    // scratch
	found       []*receiver    // scratch
}

func newPublisher(b *base, group string, root bool) *publisher {
	p := &publisher{name: group, keys: b.keysOf(group)}
	p.watch = b.cfg.Directory.Watch(clusterOf(group))
	p.last.Store(b.now())
	p.init(b, b.self, b.random.Uint64(), p.keys.label(group), root)
	p.sealer = p.keys.sealer()
	p.subscribers = newSubscribers(b.self, b.cfg.Rights, &p.audience)
	p.tree.signer = &signer{base: b, group: p.group}
	p.picker = picker{random: b.picks, self: b.hash, live: func(r *receiver) bool {
		return slices.ContainsFunc(r.state.members, b.cfg.Directory.Live)
	}}
	return p
}

// lock takes mu, and takes in the view there is now.
func (p *publisher) lock() {
	p.fanout.lock()
	p.refresh()
}

// enter is lock for what is done for each message: it looks at the clock only if
// the last message was not added to others that were under way.
func (p *publisher) enter() {
	p.mu.Lock()
	if p.ticked = false; p.fresh > 0 || p.watch.View() != p.subscribers.view {
		p.tick()
		p.refresh()
	}
	p.fresh = 0
}

func (p *publisher) refresh() {
	for _, c := range p.subscribers.refresh(p.now, p.watch.View()) {
		p.changed(c)
	}
	if n := p.subscribers.malformed; n > 0 {
		p.drops.Add(dropMalformed, uint64(n))
		p.subscribers.malformed = 0
	}
}

// changed takes in what a view has changed.
func (p *publisher) changed(c change) {
	r := c.r
	switch c.what {
	case came:
		p.tree.loose++
		if r.hop != nil {
			p.hops[r.peer] = r
		}
	case returned:
		if p.audience.strict > 0 {
			p.audience.forget()
		}
		p.hop(r).open(p.now, r.addrs) // it will be told what it missed
		p.owe(r)
		if r.branch == nil {
			p.tree.loose++
		}
	case altered: // forwarders before it don't know: it is reached directly until the next tree
		if !r.direct() {
			r.leave()
			p.tree.loose++
		}
	case left:
		p.grace = int64(p.atLeast(graceTime, graceTrips))
		if p.audience.strict > 0 {
			p.audience.forget() // nothing is signed for those who are gone
		}
		switch {
		case r.branch == nil:
			p.tree.loose = max(p.tree.loose-1, 0)
		case r.leads():
			p.replant(r.branch)
		default:
			p.tree.stale = true
		}
	case replaced:
		p.forget(r)
	}
}

// forget takes r, which is not among the subscribers any more, out of the tree.
func (p *publisher) forget(r *receiver) {
	switch {
	case r.branch == nil:
		return
	case r.index >= 0:
		if r.pending != wire.SkipLeft {
			r.leave()
		}
	default:
		p.replant(r.branch)
	}
	p.tree.stale = true
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
func (p *publisher) send(o *outgoing, what *content, own []wire.Interest, except peer.ID, m mode) (left, lacking []*receiver) {
	p.enter()
	defer p.unlock()
	if len(own) == 0 && except == "" {
		if left, done := repeat(p, o, what, m); done {
			return left, nil
		}
	}
	for {
		p.use()
		w := o.route.of(&p.audience, o.topic)
		if o.apart = what.unnamed != nil && (w.strict || len(own)+len(w.queues)+len(w.lent) > 0); o.apart {
			return nil, nil
		}
		if !p.ticked && len(own)+len(w.queues)+len(w.lent) > 0 {
			p.tick() // picks are drawn once
			continue
		}
		if o.unsigned = o.route.signs(w, what); o.unsigned {
			return nil, nil
		}
		if lacking = p.pick(w, o, what, own, m); lacking != nil {
			return nil, lacking
		}
		rs := p.audience.receivers(w, o.picks, except, p.found[:0])
		switch {
		case len(rs) == 0 && p.ticked:
			return nil, nil
		case len(rs) == 0:
			p.tick()
			continue
		}
		o.tree = present(rs) > fanOut
		p.prepare(o, what, o.origin)
		if !p.ticked && (o.tree || !p.joins(rs[0], o)) {
			p.tick() // what was decided so far may not be true any more
			continue
		}
		if o.tree {
			p.grow()
			o.epoch = p.tree.epoch
			p.fresh++
		} else if !p.ticked {
			rs = rs[1:]
		}
		p.tree.signer.addressed += uint64(o.count)
		return p.give(o, p.sort(rs, o.tree, p.alone[:0])), nil
	}
}

// repeat is send for what is as the message before it on its topic, and only has to be
// added to it: nothing has changed since, so few nodes listen that each is reached
// directly, and what the first one was sent last still waits. So is nearly all that is
// published while links are busy. It may have done nothing.
func repeat(p *publisher, o *outgoing, what *content, m mode) (left []*receiver, done bool) {
	if what.flags != 0 || what.messages != nil || o.route == nil {
		return nil, false
	}
	rs := same(p, o.route)
	if n := len(rs); n == 0 || n > 1 && m == tries { // the others may lack room
		return nil, false
	}
	p.encoder.message(o, what)
	if !repeated(p, rs[0], o.topic, o.count, o.body) {
		return nil, false
	}
	o.took++
	p.tree.signer.addressed += uint64(o.count)
	alone := p.alone[:0]
	for _, r := range rs[1:] {
		if !repeated(p, r, o.topic, o.count, o.body) {
			alone = append(alone, r)
		} else {
			o.took++
		}
	}
	if len(alone) > 0 {
		p.prepare(o, what, o.origin)
		left = p.give(o, alone)
	}
	return left, true
}

// same returns who has all messages on a topic, if they are so few that each is reached
// directly, and nothing has changed since the last one.
func same(p *publisher, r *route) []*receiver {
	if p.ticked || p.root || r.way == nil || r.version != p.audience.version || r.way.strict || len(r.way.receivers) > fanOut {
		return nil
	}
	return r.way.receivers
}

// repeated adds messages, as the encoder has them, to what r was sent last, if that is on
// the same topic and still waits.
func repeated(p *publisher, r *receiver, topic string, count int, body []byte) bool {
	h := r.hop
	if h == nil || r.state.gone != 0 || h.grow.topic != topic || len(h.grow.picks) > 0 ||
		!h.extends(following{session: p.session, run: r.run, number: r.number + 1}) ||
		!h.extend(p.now, count, p.encoder.behind, body) {
		return false
	}
	p.addressed(r, count)
	p.count(sent, count)
	return true
}

// joins adds the message to what is under way to r, if that can be.
func (p *publisher) joins(r *receiver, o *outgoing) bool {
	if r.state.gone != 0 || !p.join(r, o, o.near.follows(p.session, r, 0, r.number+1)) {
		return false
	}
	p.addressed(r, o.count)
	p.count(sent, o.count)
	o.took++
	return true
}

// pick picks who has the message for its queues. It returns who lacks room, if
// that is to be waited for.
func (p *publisher) pick(w *way, o *outgoing, what *content, own []wire.Interest, m mode) (lacking []*receiver) {
	if len(own)+len(w.queues)+len(w.lent) == 0 && m != tries {
		return nil
	}
	room := func(r *receiver) bool { return r.state.gone != 0 || p.hasRoom(r, what.size(o.topic)) }
	if m == tries {
		for _, in := range w.interests {
			if in.queue == 0 && !room(in.r) {
				return []*receiver{in.r}
			}
		}
	}
	picks, lacking, beyond := p.picker.pick(w, own, o.served, room, o.own[:0])
	picks, more := p.picker.ferries(w, own, what, picks)
	if lacking == nil {
		lacking = p.picker.ferry.lacking(room)
	}
	if lacking != nil && m != forced {
		return lacking
	}
	o.picks = p.picker.ferry.board(picks)
	if beyond += more; beyond > 0 {
		p.drops.Add(dropQueues, uint64(beyond))
	}
	return nil
}

// use begins another session if the last message is so long ago that receivers
// and forwarders may soon have forgotten this one: a forwarder of the root group
// has its publisher for as long as it is one.
func (p *publisher) use() {
	if p.used != 0 && p.now-p.used > int64(ghostTime) {
		p.session, p.tree.branches = p.random.Uint64(), nil
		for _, r := range p.subscribers.receivers {
			r.number, r.owed = 0, false
			r.uproot()
		}
		p.debts = nil
	}
	p.used = p.now
	p.last.Store(p.now)
	if key := p.keys.sealer(); key != p.sealer && key != (security.KeyID{}) { // heads are told with their next message
		p.sealer, p.group = key, p.keys.label(p.name)
		p.tree.relabel(p.group)
	}
}

// present counts those who are there.
func present(rs []*receiver) (n int) {
	if len(rs) <= fanOut {
		return len(rs)
	}
	for _, r := range rs {
		if r.state.gone == 0 {
			n++
		}
	}
	return n
}

// give sends to some directly, and to those whom sort has put into branches. It
// returns those whose lane is full.
func (p *publisher) give(o *outgoing, alone []*receiver) (left []*receiver) {
	for _, r := range alone {
		v := lost
		if p.absent(r) {
			p.miss(r, o.count)
		} else if v = p.direct(r, o); v == full && r.state.gone != 0 { // nobody waits for it
			p.miss(r, o.count)
		} else if v == full {
			left = append(left, r)
		}
		if v == sent {
			o.took++
		}
	}
	for _, b := range p.touched {
		if p.through(o, b) == full {
			left = append(left, b.matched...)
		}
		b.matched = b.matched[:0]
	}
	p.touched = p.touched[:0] // another tree may take their place
	return left
}

// absent says whether r has left. It is no sign of that if its leases are gone
// because links broke, ours or those to its anchors: it may be back at once,
// with the same ones.
func (p *publisher) absent(r *receiver) bool {
	if r.state.gone == 0 {
		return false
	}
	l := p.cfg.Links.Link(r.peer)
	return l.Session() == 0 || !l.Suspect() && p.now-r.state.gone >= p.grace
}

// miss gives up n messages for a node that is not reached.
func (p *publisher) miss(r *receiver, n int) {
	r.number += uint64(n)
	r.passBy(uint64(n))
	p.count(lost, n)
}

// again is send for those who are left over. If there is another path to
// some by now, those before them on it may have the message: they are reached
// directly.
func (p *publisher) again(o *outgoing, what *content, left []*receiver) []*receiver {
	p.lock()
	defer p.unlock()
	p.prepare(o, what, o.origin)
	var through, alone []*receiver
	for _, r := range left {
		switch {
		case p.subscribers.receivers[r.peer] != r: // it was started anew meanwhile
		case o.tree && r.branch != nil && r.branch.epoch <= o.epoch:
			through = append(through, r)
		default:
			if !r.direct() {
				r.leave()
				p.tree.loose++
			}
			alone = append(alone, r)
		}
	}
	return p.give(o, p.sort(through, true, alone))
}

// giveUp leaves those who are left over without n messages.
func (p *publisher) giveUp(left []*receiver, n int) {
	p.lock()
	defer p.unlock()
	for _, r := range left {
		p.leaveOut(r, n)
	}
	p.drops.Add(dropLane, uint64(n*len(left)))
}

// missed notes that n messages of others, which were to be passed on to all, are
// missing: at most so many for each. 0 = their source is lost, and nobody knows how
// many.
func (p *publisher) missed(n uint64) {
	p.lock()
	defer p.unlock()
	if n == 0 {
		p.tellAll(wire.FlagGone)
		return
	}
	p.use()
	p.tree.signer.addressed += n
	for _, r := range p.subscribers.sorted() {
		r.number += n
		r.passBy(n)
	}
	p.tellAll(0)
}

// tellAll tells everybody its number, or that the source is lost.
func (p *publisher) tellAll(flags uint8) {
	for _, r := range p.subscribers.sorted() {
		if r.state.gone == 0 && r.direct() {
			p.settle(r, flags)
		}
	}
}

// grow makes a new tree if the one there is not good enough.
func (p *publisher) grow() {
	if !p.tree.due(p.now) {
		return
	}
	p.tree.grow(p.now, slices.Collect(maps.Values(p.subscribers.receivers)), p.rank, p.hash|1)
	p.counts.trees.Add(1)
}

// rank says how good a forwarder r would be, the least being the best: whoever
// has a link to us, and is not in doubt.
func (p *publisher) rank(r *receiver) int {
	l := p.cfg.Links.Link(r.peer)
	switch {
	case r.state.gone != 0 || p.subscribers.receivers[r.peer] != r:
		return outOfTree
	case l.Suspect() || r.hop != nil && r.hop.waiting.Len() > 0:
		return outOfTree // what is newer would overtake, on another way, what waits for it
	case r.state.doubted != 0 && p.now-r.state.doubted < int64(idleTime):
		return 2
	case l.Session() == 0:
		return 1
	}
	return 0
}

// replant makes another path to those of a branch whose head is lost, or could
// not reach one of them. They are told how far they are.
func (p *publisher) replant(b *branch) {
	if fresh := p.tree.replant(b, p.rank, p.hash|1); fresh != nil {
		p.settle(fresh.head, 0)
	}
}

// pathLost makes another path if the one that is lost is of this session, and
// says whether it is. Only the head of a branch is believed, and only about those
// behind it; a receiver that doubts its numbers gets others.
func (p *publisher) pathLost(from peer.ID, m *wire.PathLost) bool {
	p.lock()
	defer p.unlock()
	if p.session != m.Session {
		return false
	}
	r := p.subscribers.receivers[peer.ID(m.Peer)]
	if m.Epoch == 0 && r != nil && r.peer == from {
		r.renumber()
		if r.leads() {
			p.replant(r.branch)
		} else if !r.direct() {
			r.leave()
			p.tree.loose++
		}
		return true
	}
	for _, b := range p.tree.branches {
		if b.epoch == m.Epoch && b.head.peer == from {
			if r != nil && r != b.head && slices.Contains(b.signed, r) {
				r.state.doubted = p.now
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
	switch r := p.fanout.event(ev); {
	case r == nil:
	case r.branch == nil:
		p.tree.stale = true // it was left out, or is to be
	case ev.Type != overlay.LinkUp && ev.Type != overlay.LinkRecovered && r.leads():
		if ev.Type != overlay.LinkSuspect {
			r.state.doubted = p.now
		}
		p.replant(r.branch)
	}
	woken := p.waiters.of(ev.Peer)
	p.unlock()
	p.wake(woken)
}

// tidy forgets those who have been gone for long, and says whether anybody has
// still to be told what it missed.
func (p *publisher) tidy() (owing bool) {
	p.lock()
	defer p.unlock()
	for _, r := range p.subscribers.sorted() {
		if r.state.gone != 0 && p.now-r.state.gone > int64(ghostTime) {
			p.subscribers.remove(r)
			p.forget(r)
			if r.hop != nil {
				r.hop.end()
				delete(p.hops, r.peer)
			}
		}
		owing = owing || r.owed && r.state.gone == 0
	}
	p.rest()
	return owing
}

// end lets go of everything.
func (p *publisher) end() {
	p.watch.Release()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fanout.end()
}
