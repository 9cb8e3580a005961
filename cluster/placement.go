// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
)

// A member is registered under one id of each valid epoch: the cluster's own, or, as far
// as a majority of the anchors of an id says that it is sharded, under that of its shard;
// and, if an anchor of a shard says that it is a deputy there, under the id above as well.
// It leaves an id once it has been held below for a while, so that callers have followed.

// said is what an anchor told of an id, and of the member's place there.
type said uint8

const (
	saidSharded said = 1 << iota
	saidDeputy
	saidPending
)

// said is what m tells.
func (m *registeredMsg) said() (s said) {
	if m.sharded {
		s |= saidSharded
	}
	if m.deputy {
		s |= saidDeputy
	}
	if m.pending {
		s |= saidPending
	}
	return s
}

// most says whether that is so of the leases at a majority of the current anchors that can
// be asked.
func (e *registration) most(r *peerTable, has func(a *anchorLease) bool) bool {
	asked, n := 0, 0
	for _, a := range e.leases {
		if a.old || r.suspect(a.peer) || a.refused(wire.Refusal_FAR) {
			continue
		}
		asked++
		if has(a) {
			n++
		}
	}
	return asked > 0 && n >= majority(asked)
}

// held says whether a majority of the anchors holds it.
func (e *registration) held(r *peerTable) bool {
	return e.most(r, func(a *anchorLease) bool { return a.state == leaseHeld })
}

// announced says whether a majority of the anchors holds it, and their watchers know.
func (e *registration) announced(r *peerTable) bool {
	return e.most(r, func(a *anchorLease) bool { return a.state == leaseHeld && a.said&saidPending == 0 })
}

// sharded says whether the id has shards, by the word of a majority of the anchors.
func (e *registration) sharded(r *peerTable) bool {
	return e.depth() < deepestShard && e.most(r, func(a *anchorLease) bool {
		return a.said&saidSharded != 0 && (a.state == leaseHeld || a.state == leaseRefused)
	})
}

// takesAll says whether the id has no shards, by the word of a majority that holds the member.
func (e *registration) takesAll(r *peerTable) bool {
	return e.most(r, func(a *anchorLease) bool { return a.said&saidSharded == 0 && a.state == leaseHeld })
}

// deputy says whether the member stands for e's id under the one above, by the word of
// any anchor: too many do no harm. One that is refused there tries again and again: others,
// in whose favour it was, may be leaving just then.
func (e *registration) deputy() bool {
	return slices.ContainsFunc(e.leases, func(a *anchorLease) bool { return a.said&saidDeputy != 0 && a.state == leaseHeld })
}

// at returns the registration under an epoch, or nil.
func (g *localMember) at(x *epoch) *registration {
	for _, e := range g.registrations {
		if e.cid == x.cid {
			return e
		}
	}
	return nil
}

// below returns the shard of x that g belongs to, if it was ever derived, or nil.
func (g *localMember) below(self peer.ID, x *epoch) *epoch {
	if x.shards == nil {
		return nil
	}
	return x.derived(shardOf(x.cid, leaseKey{self, g.id}))
}

// any says whether some registration of g under x or its shards is so.
func (g *localMember) any(self peer.ID, x *epoch, is func(*registration) bool) bool {
	for ; x != nil; x = g.below(self, x) {
		if e := g.at(x); e != nil && is(e) {
			return true
		}
	}
	return false
}

// heldUnder says whether a majority of anchors holds g under x or a shard of it.
func (g *localMember) heldUnder(r *registrar, x *epoch) bool {
	return g.any(r.self, x, func(e *registration) bool { return e.held(r.peers) })
}

// heldBelow says whether g is held under a shard of e's id.
func (g *localMember) heldBelow(r *registrar, e *registration) bool {
	return g.heldUnder(r, g.below(r.self, e.epoch))
}

// places lists the epochs under which g is to be registered now, from x on down.
func (g *localMember) places(now time.Time, r *registrar, x *epoch) []*epoch {
	e, next := g.at(x), g.below(r.self, x)
	if !g.any(r.self, next, func(*registration) bool { return true }) {
		if e == nil || !e.sharded(r.peers) {
			return []*epoch{x}
		}
		return []*epoch{x, x.shard(r.base, shardOf(x.cid, leaseKey{r.self, g.id}))}
	}
	if e != nil && e.takesAll(r.peers) {
		return []*epoch{x}
	}
	places := g.places(now, r, next)
	n := g.at(next)
	deputy := n != nil && n.deputy()
	leaves := e == nil || due(r.leaving[e], now)
	if leaves && !deputy {
		return places
	}
	return append([]*epoch{x}, places...)
}

// replace has g registered where it belongs now.
func replace(now time.Time, r *registrar, g *localMember) {
	if !slices.ContainsFunc(g.registrations, func(e *registration) bool { return e.shards != nil || e.sharded(r.peers) }) {
		return
	}
	for _, e := range g.registrations {
		next := g.below(r.self, e.epoch)
		if next == nil || !g.heldUnder(r, next) {
			delete(r.leaving, e)
			continue
		}
		if r.leaving[e].IsZero() {
			r.leaving[e] = now.Add(e.breakWait())
		}
		if !due(r.leaving[e], now) {
			r.plans.plan(e, r.leaving[e])
		}
		if n := g.at(next); n != nil && n.deputy() {
			e.present(now, r)
		}
	}
	epochs := r.epochs.of(g.name)
	if !slices.EqualFunc(g.registrations, g.allPlaces(now, r, epochs), func(e *registration, x *epoch) bool { return e.cid == x.cid }) {
		r.follow(now, g, epochs)
	}
}

// allPlaces are the places under all epochs of the cluster.
func (g *localMember) allPlaces(now time.Time, r *registrar, epochs []*epoch) (all []*epoch) {
	for _, x := range g.under(r.base, epochs) {
		all = append(all, g.places(now, r, x)...)
	}
	return all
}

// present has those anchors asked again that don't know that the member is a deputy.
func (e *registration) present(now time.Time, r *registrar) {
	for _, a := range e.leases {
		if !a.old && !a.below && (a.state == leaseHeld || a.state == leaseRefused) && a.session != 0 {
			a.below = true // said with what is sent now
			a.again(now)
			r.plans.plan(e, now)
		}
	}
}

// placing says how it is with the registrations of a member under one epoch of the cluster and
// its shards, which come one after the other: one that is held is enough to be found.
type placing struct {
	held      bool // by a majority of the anchors
	announced bool // likewise, and their watchers know
	elsewhere bool // by another node than this one
	refused   bool // all anchors of an id that it needs refuse …
	reason    wire.Refusal
}

// placings has one placing for each epoch of the cluster.
func (g *localMember) placings(r *registrar) (all []placing) {
	for i, e := range g.registrations {
		if i == 0 || g.registrations[i-1].root() != e.root() {
			all = append(all, placing{})
		}
		s := &all[len(all)-1]
		held, refused, asked, reason := e.tally(r.peers)
		if asked > 0 && refused == asked {
			s.refused, s.reason = true, reason
		}
		s.held = s.held || asked > 0 && held >= majority(asked)
		s.announced = s.announced || e.announced(r.peers)
		s.elsewhere = s.elsewhere || e.heldElsewhere(r.self)
	}
	return all
}
