// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// course is what this node publishes in one group: the session, who listens,
// and how they are reached.
type course struct {
	name  string // the group
	watch Watch
	keys  *security.Cluster

	// Guarded by Engine.mu.
	users int
	last  int64

	mu        sync.Mutex
	spread                  // guarded by mu
	view      *cluster.View // guarded by mu; that receivers was made of
	receivers map[peer.ID]*receiver
	known     map[*cluster.Member][]wire.Interest
	picker    picker
	found     []*receiver // scratch
	broken    bool        // a forwarder is lost
	stale     bool        // the tree has leaves that are gone, or there are others
	loose     int         // receivers that are in no branch
	built     int64       // when the tree was made
	ready     bool        // the first view is there
	used      int64       // when something was addressed to somebody; 0 = never
}

// attendance is what a publisher knows of a receiver beside what forwarders do.
type attendance struct {
	members []*cluster.Member // its leases, of one incarnation
	handles []*interest
	gone    int64  // since when it is in no view; 0 = it is
	doubted int64  // when a forwarder could not reach it; 0 = never
	told    uint64 // its pipe's loss count when it was told all
}

func (e *Engine) newCourse(group string, root bool) *course {
	c := &course{
		name: group, watch: e.cfg.Directory.Watch(clusterOf(group)), keys: e.cfg.Keys(clusterOf(group)),
		receivers: make(map[peer.ID]*receiver), known: make(map[*cluster.Member][]wire.Interest),
	}
	c.spread = spread{e: e, source: e.self, session: e.random.Uint64(), group: group, root: root, lock: &c.mu}
	c.picker = picker{random: e.picks, directory: e.cfg.Directory, self: e.hash}
	return c
}

// course returns the course of a group; putCourse it afterwards.
func (e *Engine) course(group string, root bool) (*course, bool) {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, false
	}
	c := e.courses[group]
	fresh := c == nil
	if fresh {
		c = e.newCourse(group, root)
		e.courses[group] = c
	}
	c.users++
	e.mu.Unlock()
	if fresh {
		e.armSweep()
	}
	return c, true
}

func (e *Engine) putCourse(c *course) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c.users--
	c.last = e.now()
}

// send sends the message to the interested nodes and says what is for this
// node's own queues. Those whose lane is full are left over.
func (c *course) send(o *outgoing, what content, own []wire.Interest, except peer.ID) (left []*receiver) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.use()
	c.refresh()
	ins := c.audience.match(o.topic)
	var beyond int
	if o.picks, beyond = c.picker.pick(ins, own, o.picks); beyond > 0 {
		c.e.drops.Add(dropQueues, uint64(beyond))
	}
	c.found = c.audience.receivers(ins, o.picks, except, c.found[:0])
	if len(c.found) == 0 {
		return nil
	}
	o.tree = c.audienceOf(c.found) > fanOut
	c.prepare(o, what)
	return c.dispatch(o, c.found)
}

// use begins another session if the last message is so long ago that receivers
// and forwarders may soon have forgotten this one: a forwarder of the root group
// has its course for as long as it is one.
func (c *course) use() {
	now := c.e.now()
	if c.used != 0 && now-c.used > int64(ghostTime) {
		c.session, c.branches = c.e.random.Uint64(), nil
		for _, r := range c.receivers {
			r.number = 0
			r.uproot()
		}
	}
	c.used = now
}

// again is send for those who are left over.
func (c *course) again(o *outgoing, left []*receiver) []*receiver {
	c.mu.Lock()
	defer c.mu.Unlock()
	here := left[:0]
	for _, r := range left {
		if c.receivers[r.peer] == r { // else it was restarted meanwhile
			here = append(here, r)
		}
	}
	if o.tree && o.epoch != c.epoch && len(here) > 0 {
		c.detour(here, fanOut)
		o.epoch = c.epoch
	}
	return c.distribute(o, here)
}

// giveUp leaves those who are left over without the message: they will see a
// gap.
func (c *course) giveUp(left []*receiver) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaveOut(left)
}

func (c *course) leaveOut(left []*receiver) {
	for _, r := range left {
		r.number++
		r.passBy(1)
		if r.branch != nil && r.pending != wire.SkipLeft {
			c.owe(r.branch.head)
		}
		c.owe(r)
	}
	c.e.drops.Add(dropLane, uint64(len(left)))
}

// wouldBlock says whether send would leave somebody over.
func (c *course) wouldBlock(topic string, size int, except peer.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh()
	c.audience.round++
	for _, in := range c.audience.match(topic) {
		if r := in.r; r.round != c.audience.round && r.peer != except && r.state.gone == 0 {
			r.round = c.audience.round
			hop := r
			if r.branch != nil {
				hop = r.branch.head
				if hop.pipe(c.e).doubtful() {
					return true
				}
			}
			if !hop.pipe(c.e).hasRoom(size) || hop != r && !r.pipe(c.e).hasRoom(size) {
				return true
			}
		}
	}
	return false
}

// waitRoom waits until one of those who are left over may have room. The caller
// calls done when it has tried.
func (c *course) waitRoom(ctx context.Context, o *outgoing, left []*receiver) (done func(), err error) {
	c.mu.Lock()
	hop, size := left[0], o.size()
	if b := hop.branch; o.tree && b != nil && hop.pending != wire.SkipLeft {
		hop = b.head
		size += b.pathSize() // a path may have to go before it
	}
	q := hop.pipe(c.e)
	c.mu.Unlock()
	return q.waitRoom(ctx, size)
}

// audienceOf counts those who are there.
func (c *course) audienceOf(rs []*receiver) (n int) {
	for _, r := range rs {
		if r.state.gone == 0 {
			n++
		}
	}
	return n
}

// dispatch sends to rs, and returns those whose lane is full.
func (c *course) dispatch(o *outgoing, rs []*receiver) (left []*receiver) {
	if o.tree {
		c.grow()
		o.epoch = c.epoch
	}
	return c.distribute(o, rs)
}

// distribute is dispatch through the tree there is.
func (c *course) distribute(o *outgoing, rs []*receiver) (left []*receiver) {
	for _, r := range c.sort(rs, o.tree) {
		switch {
		case c.absent(r):
			c.miss(r)
		case c.direct(r, o.near) != full:
		case r.state.gone != 0: // nobody waits for it
			c.miss(r)
		default:
			left = append(left, r)
		}
	}
	for _, b := range c.touched {
		if c.through(o, b) == full {
			left = append(left, b.matched...)
		}
		b.matched = b.matched[:0]
	}
	return left
}

// absent says whether r has left. It is no sign of that if its leases are gone
// because links broke, ours or those to its anchors: it may be back at once,
// with the same ones.
func (c *course) absent(r *receiver) bool {
	if r.state.gone == 0 {
		return false
	}
	since := c.e.now() - r.state.gone
	here := since < int64(graceTime) && c.e.cfg.Links.Link(r.peer).Session() != 0
	return !here && (since >= int64(keepTime) || !r.pipe(c.e).brokeWithin(keepTime))
}

// miss gives up a message for a node that is not reached.
func (c *course) miss(r *receiver) {
	r.number++
	r.passBy(1)
	c.count(lost, 1)
}

// grow makes a new tree if the one there is not good enough.
func (c *course) grow() {
	now := c.e.now()
	changed := c.stale || c.loose > 0
	if c.branches != nil && !c.broken && c.loose <= fanOut && (!changed || now-c.built < int64(rebuildTime)) {
		return
	}
	var rs []*receiver
	for _, r := range c.receivers {
		if r.state.gone == 0 {
			rs = append(rs, r)
		}
	}
	c.plant(rs, fanOut)
	c.broken, c.stale, c.loose, c.built = false, false, 0, now
}

// detour makes a tree of those alone who have not got a message that others
// got through the tree before, with so many branches. The next message needs
// another one.
func (c *course) detour(rs []*receiver, fan int) {
	c.plant(slices.DeleteFunc(slices.Clone(rs), func(r *receiver) bool { return r.state.gone != 0 }), fan)
	c.broken = true
}

// plant makes the tree of rs, of so many branches, after what was sent through
// the one before has gone to all who may lack it. Those for whom something waits
// until they are back are left out: what is newer would overtake it on another
// way.
func (c *course) plant(rs []*receiver, fan int) {
	c.replay()
	rs = slices.DeleteFunc(rs, func(r *receiver) bool { return r.pipe(c.e).mayLack() })
	for _, r := range c.receivers {
		r.uproot()
	}
	// Whoever has a link to us, and is not in doubt, passes on to others. The
	// rest is different for each publisher, so that the load is spread.
	now := c.e.now()
	rank := func(r *receiver) int {
		switch {
		case r.state.doubted != 0 && now-r.state.doubted < int64(idleTime):
			return 2
		case c.e.cfg.Links.Link(r.peer).Session() == 0:
			return 1
		}
		return 0
	}
	slices.SortFunc(rs, func(a, b *receiver) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.hash*(c.e.hash|1), b.hash*(c.e.hash|1)), cmp.Compare(a.peer, b.peer))
	})
	c.epoch++
	c.branches = grow(rs, fan)
	c.e.counts.trees.Add(1)
}

// regrow makes a new tree at once, because a forwarder is lost, and tells
// everybody behind the forwarders how far they are.
func (c *course) regrow() {
	if c.branches == nil {
		return
	}
	c.broken = true
	c.grow()
	for _, b := range c.branches {
		c.remind(b)
	}
}
