// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// uplink is the way of what this node publishes to one forwarder of the root
// group, which passes it on to all nodes with patterns that begin with a
// wildcard. So no publisher has to know them.
type uplink struct {
	listeners
	last  atomic.Int64 // when it was used
	asked atomic.Pointer[asked]

	fanout                // its mu guards all below
	to      *receiver     // nil = nobody
	view    *cluster.View // that it was chosen by
	run     uint16
	rank    uint64  // serial of the last message
	avoid   peer.ID // was lost
	lostAt  int64   // when the last one was lost
	without uint64  // messages that may be missing since
	since   int64   // when old and young changed places last
	old     uint64  // messages of the time before
	young   uint64  // messages since
	out     outgoing
}

func newUplink(b *base) *uplink {
	u := &uplink{}
	u.watch = b.cfg.Directory.Watch(clusterOf(rootForwards))
	u.last.Store(b.now())
	u.init(b, b.self, b.random.Uint64(), rootForwards, true)
	return u
}

// asked is whether a view has a forwarder behind which somebody asks for signatures.
type asked struct {
	view   *cluster.View
	strict bool
}

// strict says whether somebody in the root group asks for signatures. It needs no lock.
func (u *uplink) strict() bool {
	v := u.watch.View()
	a := u.asked.Load()
	if a == nil || a.view != v {
		a = &asked{view: v, strict: slices.ContainsFunc(v.Members, func(m *cluster.Member) bool { return len(m.Payload) > 0 && asks(m.Payload) })}
		u.asked.Store(a)
	}
	return a.strict
}

// asks says whether somebody in the payload of a lease asks for signatures.
func asks(payload []byte) bool {
	is, _, err := wire.DecodeInterests(payload)
	return err == nil && slices.ContainsFunc(is, func(i wire.Interest) bool { return i.Signed })
}

// choose keeps the forwarder as long as it is one, or its link is broken and may
// be back. mu is held, as for all that has no lock.
func (u *uplink) choose() *receiver {
	v := u.watch.View()
	if u.to != nil && (!v.Known || u.hop(u.to).link.Session() != 0 && u.to.hop.link.Suspect() && !u.again(v)) {
		return u.to
	}
	var best *receiver
	for _, m := range v.Members {
		if u.to != nil && m.Peer == u.to.peer && m.Incarnation == u.to.incarnation {
			return u.to
		}
		r := &receiver{peer: m.Peer, hash: hashNode(string(m.Peer)) * (u.hash | 1), addrs: m.Addrs, incarnation: m.Incarnation}
		if m.Peer == u.self {
			r.hash = 0 // the shortest way
		}
		if best == nil || best.peer == u.avoid || r.hash < best.hash && r.peer != u.avoid {
			best = r
		}
	}
	u.change(best)
	return u.to
}

// again says whether the forwarder was started anew: what its earlier life had
// is lost.
func (u *uplink) again(v *cluster.View) bool {
	return slices.ContainsFunc(v.Members, func(m *cluster.Member) bool {
		return m.Peer == u.to.peer && m.Incarnation != u.to.incarnation
	})
}

// change takes another forwarder. It is told how much the one before may not
// have passed on: what it got of late, or may still get, which will be late.
func (u *uplink) change(to *receiver) {
	if u.to != nil {
		u.avoid, u.without = u.to.peer, u.lately()
		u.old, u.young, u.lostAt = 0, 0, u.now
		if h := u.to.hop; h != nil {
			h.end()
			delete(u.hops, u.to.peer)
		}
	}
	u.to = to
	if to != nil {
		u.run++
		to.run, to.number = wire.MakeRun(to.incarnation, u.run), u.recent()
		u.without = 0
		u.appoint(to)
	}
}

// appoint signs that messages of this node come through that forwarder from now on.
func (u *uplink) appoint(to *receiver) {
	f := security.RootForwarder{
		Network: u.cfg.Network, Publisher: u.self, Incarnation: u.cfg.Incarnation, Forwarder: to.peer, Rank: u.rank,
	}
	f.Serial, f.Floor = u.serials.sign()
	u.counts.signatures.Add(1)
	u.out.forwarder = wire.RootForwarder{Signature: u.cfg.Key.SignRootForwarder(f), Serial: f.Serial, Floor: f.Floor, Rank: f.Rank}
}

// recent counts what may be missing since the last forwarder was lost. After a
// while it is more likely that nobody listens.
func (u *uplink) recent() uint64 {
	if u.now-u.lostAt > int64(electionTime) {
		return 0
	}
	return u.without
}

// lately counts the messages of the last second or two.
func (u *uplink) lately() uint64 {
	u.age()
	return u.old + u.young
}

// age forgets the messages that are not of late any more, unless the link is
// broken: they may not have arrived.
func (u *uplink) age() {
	if u.now-u.since <= int64(recentTime) || u.to != nil && u.to.hop != nil && !u.to.hop.sound() {
		return
	}
	if u.now-u.since > 2*int64(recentTime) {
		u.young = 0
	}
	u.old, u.young, u.since = u.young, 0, u.now
}

// present is choose where nearly always nothing has changed. It looks at the clock only
// if something has.
func (u *uplink) present() *receiver {
	r, v := u.to, u.watch.View()
	if v == u.view && (r == nil || r.hop != nil && r.hop.sound()) {
		return r
	}
	if !u.ticked {
		u.tick()
	}
	u.view = v
	return u.choose()
}

// put sends one copy, and returns where it had no room. now is about what the
// time is.
func (u *uplink) put(now int64, topic string, c *content) *receiver {
	n := uint64(c.number())
	u.mu.Lock()
	defer u.unlock()
	u.now, u.ticked = max(now, u.now), true
	u.last.Store(u.now)
	r := u.present()
	if r == nil {
		u.without = u.recent() + n
		return nil
	}
	u.used = u.now
	o := &u.out
	o.topic = topic
	u.prepare(o, c, wire.Origin{Peer: string(u.self), Incarnation: u.cfg.Incarnation, Serial: u.rank + 1})
	if u.direct(r, o) == full {
		return r
	}
	u.rank += n
	u.age()
	u.young += n
	return nil
}

// send waits for room.
func (u *uplink) send(ctx context.Context, topic string, c *content) error {
	done := func() {}
	for {
		r := u.put(u.base.now(), topic, c)
		done()
		if r == nil {
			return nil
		}
		u.lock()
		w := u.stand(ctx, r, c.size(topic))
		u.unlock()
		var err error
		done, err = w.wait(ctx, u.base)
		u.lock()
		u.waiters.away(w)
		u.unlock()
		if err != nil {
			u.giveUp(c.number())
			return err
		}
	}
}

// giveUp leaves the forwarder without n messages.
func (u *uplink) giveUp(n int) {
	u.lock()
	defer u.unlock()
	if u.to != nil {
		u.to.number += uint64(n) // it is told with the next one
		u.owe(u.to)
	}
	u.drops.Add(dropLane, uint64(n))
}

func (u *uplink) wouldBlock(size int) bool {
	u.mu.Lock()
	defer u.unlock()
	u.ticked = false
	if !u.ready.Load() {
		return true
	}
	r := u.present()
	return r != nil && !u.hop(r).hasRoom(size)
}

// event takes another forwarder if that one is lost, and tells it what may be
// missing. A link that is broken has a moment to come back.
func (u *uplink) event(ev overlay.PeerEvent) {
	u.lock()
	r := u.fanout.event(ev)
	switch {
	case r == nil || r != u.to:
	case ev.Type == overlay.LinkDown || ev.Type == overlay.DialFailed:
		u.leave()
	case ev.Type == overlay.LinkSuspect:
		u.after("pubsub.doubt", doubtTime, func() {
			u.lock()
			defer u.unlock()
			if r == u.to && !u.hop(r).sound() && u.others() {
				u.leave()
			}
		})
	}
	woken := u.waiters.of(ev.Peer)
	u.unlock()
	u.wake(woken)
}

// others says whether there is another forwarder.
func (u *uplink) others() bool {
	return slices.ContainsFunc(u.watch.View().Members, func(m *cluster.Member) bool { return m.Peer != u.to.peer })
}

func (u *uplink) leave() {
	u.change(nil)
	if r := u.choose(); r != nil {
		u.settle(r, 0)
	}
}

// end lets go of everything.
func (u *uplink) end() {
	u.watch.Release()
	u.lock()
	defer u.unlock()
	u.fanout.end()
}
