// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// Times of lookups.
const (
	recheckSoon   = time.Second            // a neighbourhood is looked up again after this and at most as much more, doubled …
	recheckFirst  = 15 * time.Second       // … up to this each time that a lookup finds what the last one found
	recheckSpread = 15 * time.Second       // the most that is added to the longest wait
	lookupDelay   = 300 * time.Millisecond // after a change nearby: others may follow
	joinDelay     = 20 * time.Millisecond  // the same while no lookup has found anybody: this node is joining
)

// finder is the core that knows the anchors of every cluster id in use here:
// the peers closest to it by our own routing table, by lookups, and by what
// those who anchor it say, without those that can't be reached.
type finder struct {
	reach   *reach
	dice    *dice
	out     *outbox
	nearest func(key overlay.Key, k int) []peer.ID // reads the routing table
	rings   map[security.ClusterID]*ring
	alarm   alarm
	changed time.Time            // when the routing table last changed, or the node started
	recent  []linkChange         // of the last settleTime
	events  []security.ClusterID // whose ring changed; the control core drains it
}

// linkChange is a peer that came, went, fell silent or spoke again.
type linkChange struct {
	peer peer.ID
	at   time.Time
}

func newFinder(now time.Time, r *reach, d *dice, out *outbox, nearest func(overlay.Key, int) []peer.ID) *finder {
	return &finder{
		reach: r, dice: d, out: out, nearest: nearest,
		rings: make(map[security.ClusterID]*ring), changed: now,
	}
}

// use returns the ring of cid and keeps it until leave; calls are counted.
func (f *finder) use(now time.Time, cid security.ClusterID) *ring {
	g := f.rings[cid]
	if g == nil {
		g = &ring{cid: cid, told: make(map[peer.ID][]peer.ID)}
		g.local = f.nearest(overlay.Key(cid), nearestCount)
		g.decide(now, f.reach)
		g.since = f.unchangedSince(g)
		f.rings[cid] = g
	}
	g.users++
	return g
}

// unchangedSince says for how long a new ring has been what it is: as long as
// neither the table changed, nor a peer nearby came or went that the table does
// not know, nor one that it knows was lost.
func (f *finder) unchangedSince(g *ring) time.Time {
	since := f.changed
	for _, c := range f.recent {
		matters := !slices.Contains(g.local, c.peer) || f.reach.failing(c.peer) || f.reach.suspect(c.peer)
		if matters && c.at.After(since) && g.concerns(c.peer) {
			since = c.at
		}
	}
	return since
}

func (f *finder) leave(g *ring) {
	if g.users--; g.users == 0 {
		delete(f.rings, g.cid)
	}
}

// connect keeps links to the anchors up, or no longer; calls are counted.
func (f *finder) connect(now time.Time, g *ring, on bool) {
	if on {
		if g.links++; g.links == 1 {
			f.reachFor(now, g.near(), nil)
		}
	} else if g.links--; g.links == 0 {
		f.reachFor(now, nil, g.near())
	}
}

// seek has the network asked about the neighbourhood from now on, or no
// longer; calls are counted.
func (f *finder) seek(now time.Time, g *ring, on bool) {
	if on {
		if g.seekers++; g.seekers == 1 {
			f.planLookup(g, now)
		}
	} else if g.seekers--; g.seekers == 0 {
		g.lookupAt = time.Time{}
	}
}

// reachFor moves the interest in links. Barred peers are dialled and listened
// to as well, so that they come back.
func (f *finder) reachFor(now time.Time, peers, old []peer.ID) {
	for _, p := range peers {
		f.reach.want(now, p, nil)
		f.reach.hold(p)
	}
	for _, p := range old {
		f.reach.unhold(p)
		f.reach.unwant(p)
	}
}

// update decides anew who anchors g.
func (f *finder) update(now time.Time, g *ring) {
	old := g.near()
	if !g.decide(now, f.reach) {
		return
	}
	if g.links > 0 {
		f.reachFor(now, g.near(), old)
	}
	f.events = append(f.events, g.cid)
}

// tableChanged takes in that the routing table is another one.
func (f *finder) tableChanged(now time.Time) {
	f.changed = now
	for _, g := range f.sorted() {
		local := f.nearest(overlay.Key(g.cid), nearestCount)
		if slices.Equal(local, g.local) {
			continue
		}
		old := g.local
		g.local = local
		f.update(now, g)
		for _, p := range local {
			if !slices.Contains(old, p) { // news that it lives, as after a partition
				f.reach.retry(now, p)
			}
		}
		if g.seekers > 0 {
			f.planLookup(g, now.Add(f.delay(g)))
		}
	}
}

// delay is how long a change nearby may be followed by others before the
// network is asked. Who joins knows nobody yet and has no time to lose: until it
// has asked, its members are known to the wrong anchors only.
func (f *finder) delay(g *ring) time.Duration {
	for _, p := range g.found {
		if p != f.reach.self {
			return lookupDelay
		}
	}
	return joinDelay
}

// peerChanged takes in that p can be reached again, or no longer.
func (f *finder) peerChanged(now time.Time, p peer.ID) {
	f.recent = slices.DeleteFunc(f.recent, func(c linkChange) bool {
		return c.peer == p || !now.Before(c.at.Add(settleTime))
	})
	f.recent = append(f.recent, linkChange{p, now})
	for _, g := range f.sorted() {
		if !g.concerns(p) {
			continue
		}
		if f.reach.session(p) == 0 {
			delete(g.told, p)
		}
		f.update(now, g)
	}
}

// tell takes in what p, who anchors cid, takes for its anchors.
func (f *finder) tell(now time.Time, cid security.ClusterID, p peer.ID, anchors []peer.ID) {
	g := f.rings[cid]
	if g == nil || p == f.reach.self || slices.Equal(g.told[p], anchors) {
		return
	}
	if g.told[p] == nil && len(g.told) >= 2*nearestCount {
		return
	}
	g.told[p] = anchors[:min(len(anchors), nearestCount)]
	f.update(now, g)
}

// lookedUp takes in the end of a lookup; what was found before time ran out
// counts.
func (f *finder) lookedUp(now time.Time, cid security.ClusterID, peers []peer.ID) {
	g := f.rings[cid]
	if g == nil {
		return
	}
	g.looking = false
	found := peers[:min(len(peers), nearestCount)]
	g.recheck = min(max(2*g.recheck, recheckSoon), recheckFirst)
	if len(found) > 0 && !slices.Equal(found, g.found) {
		g.recheck = recheckSoon
		g.found = found
		f.update(now, g)
		for _, p := range found {
			f.reach.found(now, p)
		}
	}
	if g.seekers > 0 {
		// While a network forms, routing tables are incomplete far from home:
		// the first lookups are worth little.
		f.planLookup(g, now.Add(g.recheck+spread(f.dice, g.recheck)))
	}
}

func (f *finder) planLookup(g *ring, at time.Time) {
	if g.looking || (!g.lookupAt.IsZero() && g.lookupAt.Before(at)) {
		return
	}
	g.lookupAt = at
	f.alarm.plan(at)
}

// tick begins the lookups that are due.
func (f *finder) tick(now time.Time) {
	if !f.alarm.rings(now) {
		return
	}
	for _, g := range f.sorted() {
		switch {
		case due(g.lookupAt, now):
			g.looking, g.lookupAt = true, time.Time{}
			f.out.add(lookupAction{g.cid})
		case !g.lookupAt.IsZero():
			f.alarm.plan(g.lookupAt)
		}
	}
}

// sorted lists the rings in an order that does not depend on the map.
func (f *finder) sorted() []*ring {
	out := make([]*ring, 0, len(f.rings))
	for _, g := range f.rings {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b *ring) int { return bytes.Compare(a.cid[:], b.cid[:]) })
	return out
}
