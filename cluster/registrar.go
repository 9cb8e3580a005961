// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"io"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/security"
)

// registrar is the core that keeps this node's members registered: each under
// every valid cluster id, with every anchor of it, again whenever a link, an
// anchor or an epoch changes.
type registrar struct {
	self        peer.ID
	incarnation uint64
	zone        string
	addrs       func() []string // where this node can be reached now
	rand        io.Reader
	dice        *dice
	out         *outbox
	reach       *reach
	finder      *finder
	calendar    *calendar
	// alone is when a node that nobody has linked to may believe that it is
	// the first one of its network. Before, it has just not joined yet.
	alone time.Time

	members   []*registration // by name, then member
	enrolled  map[enrolmentKey]*enrolment
	farewells []farewell
	seq       uint64
	refused   counters  // by reason
	recheckAt time.Time // when our own addresses are looked at next; zero = no members
	alarm     alarm
}

type enrolmentKey struct {
	cid    security.ClusterID
	member MemberID
}

// registration is one local member.
type registration struct {
	name         string
	record       record
	enrolments   []*enrolment // in the order of the name's stamps
	acknowledged bool         // once: Register has returned
}

func (r *registrar) find(name string, m MemberID) (int, bool) {
	return slices.BinarySearchFunc(r.members, name, func(g *registration, name string) int {
		return cmp.Or(cmp.Compare(g.name, name), cmp.Compare(g.record.member, m))
	})
}

// add makes a member of the cluster; a registeredAction follows.
func (r *registrar) add(now time.Time, name string, d Registration) error {
	i, ok := r.find(name, d.Member)
	if ok {
		return ErrDuplicate
	}
	g := &registration{name: name, record: record{
		leaseKey: leaseKey{r.self, d.Member}, incarnation: r.incarnation, addrs: r.addrs(), zone: r.zone,
		capacity: min(max(d.Capacity, 1), maxCapacity), maxMessage: max(d.MaxMessage, 0),
		payload: d.Payload,
	}}
	stamps := r.calendar.use(now, name)
	if len(stamps) == 0 {
		r.calendar.leave(name)
		return ErrNoKeys
	}
	r.members = slices.Insert(r.members, i, g)
	r.follow(now, g, stamps)
	if r.recheckAt.IsZero() {
		r.planRecheck(now)
	}
	r.settle(now, g)
	return nil
}

// remove withdraws a member at once.
func (r *registrar) remove(now time.Time, name string, m MemberID) {
	i, ok := r.find(name, m)
	if !ok {
		return
	}
	g := r.members[i]
	r.members = slices.Delete(r.members, i, i+1)
	if !g.acknowledged {
		r.out.add(registeredAction{name, m, ErrUnregistered})
	}
	r.follow(now, g, nil)
	r.calendar.leave(name)
	if len(r.members) == 0 {
		r.recheckAt = time.Time{}
	}
}

// follow makes g's enrolments match the stamps.
func (r *registrar) follow(now time.Time, g *registration, stamps []stamp) {
	old := g.enrolments
	g.enrolments = nil
	for _, s := range stamps {
		i := slices.IndexFunc(old, func(e *enrolment) bool { return e.cid == s.cid })
		if i >= 0 {
			g.enrolments = append(g.enrolments, old[i])
			old = slices.Delete(old, i, i+1)
			continue
		}
		e := &enrolment{stamp: s, member: g, ring: r.finder.use(now, s.cid)}
		e.sealed = s.epoch.SealRecord(r.rand, g.record.encode())
		r.finder.connect(now, e.ring, true)
		r.finder.seek(now, e.ring, true)
		g.enrolments = append(g.enrolments, e)
		r.enrolled[enrolmentKey{s.cid, g.record.member}] = e
		r.advance(now, e)
	}
	for _, e := range old {
		r.drop(now, e)
	}
}

// turned takes in that other ids are valid for name.
func (r *registrar) turned(now time.Time, name string) {
	stamps := r.calendar.stamps(name)
	for _, g := range slices.Clone(r.members) {
		if g.name == name {
			r.follow(now, g, stamps)
			r.settle(now, g)
		}
	}
}

// ringChanged takes in that the anchors of cid are others now.
func (r *registrar) ringChanged(now time.Time, cid security.ClusterID) {
	r.each(now, func(e *enrolment) bool { return e.cid == cid })
}

// peerChanged takes in that the state of the link to p changed.
func (r *registrar) peerChanged(now time.Time, p peer.ID) {
	r.each(now, func(e *enrolment) bool { return e.at(p) != nil })
}

// each advances the enrolments that fit, in order.
func (r *registrar) each(now time.Time, fits func(*enrolment) bool) {
	for _, g := range slices.Clone(r.members) {
		moved := false
		for _, e := range g.enrolments {
			if fits(e) {
				r.advance(now, e)
				moved = true
			}
		}
		if moved {
			r.settle(now, g)
		}
	}
}
