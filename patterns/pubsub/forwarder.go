// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"cmp"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// forwarders is how many nodes of the root group pass on to the others.
const forwarders = 3

// forwarder decides whether this node, which listens to the root group, is one
// of its forwarders: the first ones in an order that all agree on.
type forwarder struct {
	g *group

	mu     sync.Mutex
	active bool             // guarded by mu; this node is in the root group
	course *course          // guarded by mu; to the others; nil = not active
	member cluster.MemberID // guarded by mu; of the registration; 0 = none
	timer  overlay.Timer    // guarded by mu
	busy   bool             // guarded by mu
	again  bool             // guarded by mu
}

// settle takes in whether this node is in the root group now. It may wait for a
// registration.
func (f *forwarder) settle(active bool) {
	f.mu.Lock()
	f.active = active
	f.mu.Unlock()
	f.look()
}

// look brings the registration up to date.
func (f *forwarder) look() {
	f.mu.Lock()
	if f.busy {
		f.again = true
		f.mu.Unlock()
		return
	}
	f.busy = true
	for {
		f.again = false
		active, c, member := f.active, f.course, f.member
		f.mu.Unlock()
		c, member = f.adjust(active, c, member)
		f.mu.Lock()
		f.course, f.member = c, member
		if !f.again {
			break
		}
	}
	f.busy = false
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	f.armLocked()
	f.mu.Unlock()
}

// armLocked has the registration looked at again.
func (f *forwarder) armLocked() {
	if f.active {
		f.timer = f.g.e.after("pubsub.roster", rosterTime, f.lookLater)
	}
}

func (f *forwarder) lookLater() {
	e := f.g.e
	if !e.enter() {
		return
	}
	if !e.cfg.Exec.Go(overlay.ExecKey{Name: "pubsub.roster", N: f.g.key}, func() { defer e.wg.Done(); f.look() }) {
		e.wg.Done() // no worker is free
		f.mu.Lock()
		defer f.mu.Unlock()
		f.armLocked()
	}
}

// stop ends the timer.
func (f *forwarder) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active = false
	if f.timer != nil {
		f.timer.Stop()
	}
}

// adjust registers or withdraws this node as a forwarder.
func (f *forwarder) adjust(active bool, c *course, member cluster.MemberID) (*course, cluster.MemberID) {
	e := f.g.e
	wide := clusterOf(rootForwards)
	if active && c == nil {
		if c, _ = e.course(rootGroup, true); c != nil {
			_ = c.await(e.ctx) // who forwards must know to whom
		}
	}
	wanted := active && c != nil && f.amongFirst(c, member != 0)
	switch {
	case wanted && member == 0:
		id := cluster.MemberID(max(e.random.Uint64(), 1))
		if e.cfg.Directory.Register(e.ctx, wide, cluster.Registration{Member: id}) == nil {
			member = id
		}
	case !wanted && member != 0:
		e.cfg.Directory.Unregister(wide, member)
		member = 0
	}
	if !active && c != nil {
		e.putCourse(c)
		c = nil
	}
	return c, member
}

// amongFirst says whether this node is one of those that forward. As long as it
// does not know the others, to whom it would have to, it stays what it is.
func (f *forwarder) amongFirst(c *course, is bool) bool {
	v := c.watch.View()
	if !v.Known {
		return is
	}
	peers := []peer.ID{f.g.e.self}
	for _, m := range v.Members {
		if !slices.Contains(peers, m.Peer) {
			peers = append(peers, m.Peer)
		}
	}
	slices.SortFunc(peers, func(a, b peer.ID) int {
		return cmp.Or(cmp.Compare(hashNode(string(a)), hashNode(string(b))), cmp.Compare(a, b))
	})
	i := slices.Index(peers, f.g.e.self)
	return i < forwarders
}

// republish passes a message on to the root group.
func (e *Engine) republish(source peer.ID, m *wire.Publish) {
	in := &incoming{root: true, publisher: source, rank: rank{m.Life, m.Serial}, echo: source == e.self}
	s := &stream{e: e, text: source.String(), key: streamKey{source: source}}
	readable := e.read(s, in, source, m)
	e.mu.Lock()
	c := e.courses[rootGroup]
	e.mu.Unlock()
	if c == nil {
		e.drops.Inc(dropNoPath)
		return
	}
	e.counts.forwarded.Add(1)
	o := &outgoing{topic: m.Topic, publisher: string(source), rank: in.rank}
	what := content{flags: m.Flags & wire.FlagSealed, headers: m.Headers, body: m.Body}
	if left := c.send(o, what, e.ownQueues(m.Topic, true, origin{}), source); len(left) > 0 {
		c.giveUp(left)
	}
	if readable {
		in.picks = o.picks
		e.deliverRoot(in, nil)
	}
}

// missRelayed tells the root group that messages are missing that were to be
// passed on to it: at most so many for each node.
func (e *Engine) missRelayed(n uint64) {
	n = min(n, maxRelayedGap)
	e.mu.Lock()
	c := e.courses[rootGroup]
	e.mu.Unlock()
	e.gapHere(rootGroup, n)
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.use()
	c.refresh()
	for _, r := range sorted(c.receivers, func(r *receiver) peer.ID { return r.peer }) {
		r.number += n
		r.passBy(n)
		if r.branch == nil || r.index >= 0 {
			c.mark(r)
		} else {
			c.remind(r.branch)
		}
	}
}
