// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
)

// refresh takes in the view there is now. A view that is not known any more is
// worth less than what was known before.
func (c *course) refresh() {
	v := c.watch.View()
	if v == c.view || !v.Known {
		return
	}
	c.view = v
	now := c.e.now()
	present := make(map[peer.ID][]*cluster.Member)
	var order []peer.ID
	for _, m := range v.Members {
		if m.Peer == c.e.self {
			continue
		}
		old := present[m.Peer]
		switch {
		case len(old) == 0:
			order = append(order, m.Peer)
		case old[0].Incarnation > m.Incarnation:
			continue
		case old[0].Incarnation < m.Incarnation:
			old = nil
		}
		present[m.Peer] = append(old, m)
	}
	for _, p := range order {
		c.attend(p, present[p])
	}
	for _, r := range sorted(c.receivers, func(r *receiver) peer.ID { return r.peer }) {
		if present[r.peer] == nil && r.state.gone == 0 {
			r.state.gone = now
			c.lostFrom(r)
		}
	}
	for m := range c.known {
		if !slices.Contains(present[m.Peer], m) {
			delete(c.known, m)
		}
	}
}

// attend takes in the leases of one node.
func (c *course) attend(p peer.ID, members []*cluster.Member) {
	r := c.receivers[p]
	if r != nil && r.state.gone == 0 && r.incarnation == members[0].Incarnation && slices.Equal(r.state.members, members) {
		return
	}
	interests := c.interestsOf(members)
	if r != nil && r.resumes(members) {
		if r.state.gone != 0 {
			r.state.gone = 0
			r.pipe(c.e).want(members[0].Addrs) // it will be told what it missed
			c.owe(r)
			if r.branch == nil {
				c.loose++
			}
		}
		r.addrs = members[0].Addrs
		r.state.members = members
		c.change(r, interests)
		return
	}
	run := uint16(1)
	if r != nil {
		run = r.run + 1
		c.remove(r)
	}
	r = &receiver{
		peer: p, hash: hashNode(string(p)), addrs: members[0].Addrs, interests: interests, run: run,
		incarnation: members[0].Incarnation, state: &attendance{members: members},
	}
	r.state.told = r.pipe(c.e).lossCount()
	r.state.handles = c.audience.add(r)
	c.receivers[p] = r
	c.loose++
}

// resumes says whether these leases are of a node that has listened all the
// time: it has a lease that we knew, or has never been away.
func (r *receiver) resumes(members []*cluster.Member) bool {
	if r.incarnation != members[0].Incarnation {
		return false
	}
	if r.state.gone == 0 {
		return true
	}
	return slices.ContainsFunc(members, func(m *cluster.Member) bool {
		return slices.ContainsFunc(r.state.members, func(o *cluster.Member) bool { return o.ID == m.ID })
	})
}

// change gives r other interests. Forwarders before it don't know them, so it
// is reached directly until the next tree.
func (c *course) change(r *receiver, interests []wire.Interest) {
	if slices.Equal(r.interests, interests) {
		return
	}
	c.audience.remove(r, r.state.handles)
	r.interests = interests
	r.state.handles = c.audience.add(r)
	if r.branch != nil && r.index >= 0 && r.pending != wire.SkipLeft {
		r.leave()
		c.loose++
	}
}

// lostFrom takes in that r is in no view any more.
func (c *course) lostFrom(r *receiver) {
	switch {
	case r.branch == nil:
		c.loose = max(c.loose-1, 0)
	case r.index < 0 && len(r.branch.stops) > 0 && !r.pipe(c.e).doubtful():
		c.regrow()
	default:
		c.stale = true
	}
}

// remove forgets r.
func (c *course) remove(r *receiver) {
	c.audience.remove(r, r.state.handles)
	delete(c.receivers, r.peer)
	if r.branch != nil {
		if r.index >= 0 && r.pending != wire.SkipLeft {
			r.leave()
		}
		c.stale = true
	}
}

// interestsOf joins what the leases of one node say.
func (c *course) interestsOf(members []*cluster.Member) []wire.Interest {
	if len(members) == 1 {
		return c.interests(members[0])
	}
	var all []wire.Interest
	for _, m := range members {
		for _, i := range c.interests(m) {
			same := slices.IndexFunc(all, func(o wire.Interest) bool { return o.Pattern == i.Pattern && o.Queue == i.Queue })
			if same < 0 {
				all = append(all, i)
			} else {
				all[same].Weight = max(all[same].Weight, i.Weight)
			}
		}
	}
	return all
}

func (c *course) interests(m *cluster.Member) []wire.Interest {
	is, ok := c.known[m]
	if !ok {
		var rest []byte
		var err error
		if is, rest, err = wire.DecodeInterests(m.Payload); err != nil || len(rest) > 0 {
			c.e.drops.Inc(dropMalformed)
			is = nil
		}
		is = legal(is)
		c.known[m] = is
	}
	return is
}

// tidy forgets those who have been gone for long, and says whether anybody has
// still to be told what it missed.
func (c *course) tidy(now int64) (owing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh()
	for _, r := range sorted(c.receivers, func(r *receiver) peer.ID { return r.peer }) {
		switch {
		case r.state.gone != 0 && now-r.state.gone > int64(ghostTime):
			c.remove(r)
		case r.number == 0 || r.branch != nil && r.index >= 0:
		case r.state.gone == 0 && r.state.told != r.pipe(c.e).lossCount():
			owing = true
			r.pipe(c.e).want(r.addrs)
		}
	}
	return owing
}
