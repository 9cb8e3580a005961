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
	"github.com/arke-mesh/arke/patterns/pubsub/env"
	"github.com/arke-mesh/arke/patterns/pubsub/fanout"
	"github.com/arke-mesh/arke/security"
)

// uplink is the way of what this node publishes to one forwarder of the root
// group, which passes it on to all nodes with patterns that begin with a
// wildcard. So no publisher has to know them.
type uplink struct {
	listeners
	last  atomic.Int64 // when it was used
	asked atomic.Pointer[asked]

	fanout.Fanout                  // its mu guards all below
	to            *fanout.Receiver // nil = nobody
	view          *cluster.View    // that it was chosen by
	run           uint16
	rank          uint64            // serial of the last message
	avoid         peer.ID           // was lost
	lostAt        int64             // when the last one was lost
	without       uint64            // messages that may be missing since
	former        []*cluster.Member // the forwarders that there were, each once, the latest last
	since         int64             // when old and young changed places last
	old           uint64            // messages of the time before
	young         uint64            // messages since
	out           fanout.Outgoing
}

// newUplink returns an uplink that continues after the message of that rank: receivers
// compare ranks for as long as this node lives.
func newUplink(b *env.Base, rank uint64) *uplink {
	u := &uplink{rank: rank}
	u.watch = b.Cfg.Directory.Watch(env.ClusterOf(env.RootForwards))
	u.last.Store(b.Now())
	u.Init(b, b.Self, b.Random.Uint64(), env.RootForwards, true)
	return u
}

// maxFormer bounds the forwarders that are remembered.
const maxFormer = 4 * forwarders

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
func (u *uplink) choose() *fanout.Receiver {
	v := u.watch.View()
	if u.to != nil && (!v.Known || u.Hop(u.to).Link.Session() != 0 && u.to.Hop.Link.Suspect() && !u.again(v)) {
		return u.to
	}
	var best *fanout.Receiver
	for _, m := range v.Members {
		if u.to != nil && m.Peer == u.to.Peer && m.Incarnation == u.to.Incarnation {
			return u.to
		}
		r := &fanout.Receiver{Peer: m.Peer, Hash: env.HashNode(string(m.Peer)) * (u.Hash | 1), Addrs: m.Addrs, Incarnation: m.Incarnation, Life: env.LifeOf(m.ID)}
		if m.Peer == u.Self {
			r.Hash = 0 // the shortest way
		}
		if best == nil || best.Peer == u.avoid || r.Hash < best.Hash && r.Peer != u.avoid {
			best = r
		}
	}
	u.change(best)
	u.remember(v.Members)
	return u.to
}

// remember notes which forwarders there are.
func (u *uplink) remember(there []*cluster.Member) {
	for _, m := range there {
		u.former = append(slices.DeleteFunc(u.former, func(o *cluster.Member) bool { return o.Peer == m.Peer }), m)
	}
	if n := len(u.former) - maxFormer; n > 0 {
		u.former = slices.Delete(u.former, 0, n)
	}
}

// stayed says whether a forwarder was one before, and has listened ever since.
func (u *uplink) stayed(r *fanout.Receiver) bool {
	return slices.ContainsFunc(u.former, func(o *cluster.Member) bool {
		return o.Peer == r.Peer && o.Incarnation == r.Incarnation && env.LifeOf(o.ID) == r.Life
	})
}

// again says whether the forwarder was started anew: what its earlier life had
// is lost.
func (u *uplink) again(v *cluster.View) bool {
	return slices.ContainsFunc(v.Members, func(m *cluster.Member) bool {
		return m.Peer == u.to.Peer && m.Incarnation != u.to.Incarnation
	})
}

// change takes another forwarder. It is told how much the one before may not
// have passed on: what it got of late, or may still get, which will be late.
func (u *uplink) change(to *fanout.Receiver) {
	if u.to != nil {
		u.avoid, u.without = u.to.Peer, u.lately()
		u.old, u.young, u.lostAt = 0, 0, u.Now
		if h := u.to.Hop; h != nil {
			h.End()
			delete(u.Hops, u.to.Peer)
		}
	}
	u.to = to
	if to != nil {
		u.run++
		to.Run, to.Number = wire.MakeRun(to.Incarnation, 0, u.run), u.owed(to)
		u.without = 0
		u.young, u.since = to.Number, u.Now // if it is lost before it was told, the next one is
		u.appoint(to)
	}
}

// appoint signs that messages of this node come through that forwarder from now on.
func (u *uplink) appoint(to *fanout.Receiver) {
	f := security.RootForwarder{
		Network: u.Cfg.Network, Publisher: u.Self, Incarnation: u.Cfg.Incarnation, Forwarder: to.Peer, Rank: u.rank,
	}
	f.Serial, f.Floor = u.Serials.Sign()
	u.Counts.Signatures.Add(1)
	u.out.Forwarder = wire.RootForwarder{Signature: u.Cfg.Key.SignRootForwarder(f), Serial: f.Serial, Floor: f.Floor, Rank: f.Rank}
}

// owed counts what may be missing since the last forwarder was lost. After a while it is
// more likely that nobody listened, unless the next one has listened all the time.
func (u *uplink) owed(to *fanout.Receiver) uint64 {
	if u.Now-u.lostAt > int64(env.ElectionTime) && !u.stayed(to) {
		return 0
	}
	return u.without
}

// owing says whether a forwarder that returns has to be told what it missed, and
// returns the rank of the last message.
func (u *uplink) owing() (owing bool, rank uint64) {
	u.Lock()
	defer u.Unlock()
	return u.to == nil && u.without > 0 && len(u.former) > 0 && u.Now-u.lostAt < int64(env.GhostTime), u.rank
}

// lately counts the messages of the last second or two.
func (u *uplink) lately() uint64 {
	u.age()
	return u.old + u.young
}

// age forgets the messages that are not of late any more, unless the link is
// broken: they may not have arrived.
func (u *uplink) age() {
	if u.Now-u.since <= int64(env.RecentTime) || u.to != nil && u.to.Hop != nil && !u.to.Hop.Sound() {
		return
	}
	if u.Now-u.since > 2*int64(env.RecentTime) {
		u.young = 0
	}
	u.old, u.young, u.since = u.young, 0, u.Now
}

// present is choose where nearly always nothing has changed. It looks at the clock only
// if something has.
func (u *uplink) present() *fanout.Receiver {
	r, v := u.to, u.watch.View()
	if v == u.view && (r == nil || r.Hop != nil && r.Hop.Sound()) {
		return r
	}
	if !u.Ticked {
		u.Tick()
	}
	u.view = v
	return u.choose()
}

// put sends one copy, and returns where it had no room. now is about what the
// time is.
func (u *uplink) put(now int64, topic string, c *fanout.Content) *fanout.Receiver {
	n := uint64(c.Number())
	u.Mu.Lock()
	defer u.Unlock()
	u.Now, u.Ticked = max(now, u.Now), true
	u.last.Store(u.Now)
	r := u.present()
	if r == nil {
		u.without += n
		return nil
	}
	u.Used = u.Now
	o := &u.out
	o.Topic = topic
	u.Prepare(o, c, wire.Origin{Peer: string(u.Self), Incarnation: u.Cfg.Incarnation, Serial: u.rank + 1})
	if u.Direct(r, o) == fanout.Full {
		return r
	}
	u.rank += n
	u.age()
	u.young += n
	return nil
}

// send waits for room.
func (u *uplink) send(ctx context.Context, topic string, c *fanout.Content) error {
	done := func() {}
	for {
		r := u.put(u.Base.Now(), topic, c)
		done()
		if r == nil {
			return nil
		}
		u.Lock()
		w := u.Stand(ctx, r, c.Size(topic))
		u.Unlock()
		var err error
		done, err = w.Wait(ctx, u.Base)
		u.Lock()
		u.Waiters.Away(w)
		u.Unlock()
		if err != nil {
			u.giveUp(c.Number())
			return err
		}
	}
}

// giveUp leaves the forwarder without n messages.
func (u *uplink) giveUp(n int) {
	u.Lock()
	defer u.Unlock()
	if u.to != nil {
		u.to.Number += uint64(n) // it is told with the next one
		u.Owe(u.to)
	}
	u.Drops.Add(env.DropLane, uint64(n))
}

func (u *uplink) wouldBlock(size int) bool {
	u.Mu.Lock()
	defer u.Unlock()
	u.Ticked = false
	if !u.ready.Load() {
		return true
	}
	r := u.present()
	return r != nil && !u.Hop(r).HasRoom(size)
}

// event takes another forwarder if that one is lost, and tells it what may be
// missing. A link that is broken has a moment to come back.
func (u *uplink) event(ev overlay.PeerEvent) {
	u.Lock()
	r := u.Fanout.Event(ev)
	switch {
	case r == nil || r != u.to:
	case ev.Type == overlay.LinkDown || ev.Type == overlay.DialFailed:
		u.leave()
	case ev.Type == overlay.LinkSuspect:
		u.After("pubsub.doubt", env.DoubtTime, func() {
			u.Lock()
			defer u.Unlock()
			if r == u.to && !u.Hop(r).Sound() && u.others() {
				u.leave()
			}
		})
	}
	woken := u.Waiters.Of(ev.Peer)
	u.Unlock()
	fanout.Wake(u.Base, woken)
}

// others says whether there is another forwarder.
func (u *uplink) others() bool {
	return slices.ContainsFunc(u.watch.View().Members, func(m *cluster.Member) bool { return m.Peer != u.to.Peer })
}

func (u *uplink) leave() {
	u.change(nil)
	if r := u.choose(); r != nil {
		u.Settle(r, 0)
	}
}

// end lets go of everything.
func (u *uplink) end() {
	u.watch.Release()
	u.Lock()
	defer u.Unlock()
	u.Fanout.End()
}
