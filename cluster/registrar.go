// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
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

	members   []*registration // by name, then member
	enrolled  map[enrolmentKey]*enrolment
	farewells []farewell
	seq       uint64
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

// farewell is an Unregister that found the lane full.
type farewell struct {
	to      peer.ID
	session uint64
	msg     *unregisterMsg
	at      time.Time
}

const farewellRetry = 250 * time.Millisecond

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

// registered takes in an anchor's answer.
func (r *registrar) registered(now time.Time, from peer.ID, m *registeredMsg) {
	e := r.enrolled[enrolmentKey{m.cid, m.member}]
	if e == nil {
		return
	}
	a := e.at(from)
	if a == nil || m.seq != a.seq || a.state == attachIdle {
		return
	}
	a.answered(now, m.refusal, r.dice)
	r.advance(now, e)
	r.settle(now, e.member)
}

// attached says whether the lease is, or is to be, at p.
func (r *registrar) attached(cid security.ClusterID, m MemberID, p peer.ID) bool {
	e := r.enrolled[enrolmentKey{cid, m}]
	return e != nil && e.at(p) != nil
}

// settle ends the Register call once a majority of the anchors has
// acknowledged under every valid id, or all have refused.
func (r *registrar) settle(now time.Time, g *registration) {
	if g.acknowledged {
		return
	}
	done := true
	for _, e := range g.enrolments {
		held, refused, asked, reason := e.tally(r.reach)
		if asked > 0 && refused == asked {
			g.acknowledged = true
			err := fmt.Errorf("%w: %s", ErrRefused, refusalName(reason))
			r.out.add(registeredAction{g.name, g.record.member, err})
			r.remove(now, g.name, g.record.member)
			return
		}
		done = done && asked > 0 && held >= majority(asked)
	}
	if done {
		g.acknowledged = true
		r.out.add(registeredAction{g.name, g.record.member, nil})
	}
}

// sendFailed takes in that a message never left. Register is sent again
// anyway; an Unregister that found the lane full must not be forgotten, or the
// lease would live as long as the link.
func (r *registrar) sendFailed(now time.Time, to peer.ID, m message) {
	u, ok := m.(*unregisterMsg)
	session := r.reach.session(to)
	if !ok || session == 0 {
		return
	}
	f := farewell{to, session, u, now.Add(farewellRetry)}
	r.farewells = append(r.farewells, f)
	r.alarm.plan(f.at)
}

// tick does what is planned.
func (r *registrar) tick(now time.Time) {
	if !r.alarm.rings(now) {
		return
	}
	waiting := r.farewells
	r.farewells = nil
	for _, f := range waiting {
		switch {
		case r.reach.session(f.to) != f.session: // the lease ended with the link
		case due(f.at, now):
			r.out.send(f.to, f.msg)
		default:
			r.farewells = append(r.farewells, f)
			r.alarm.plan(f.at)
		}
	}
	if due(r.recheckAt, now) {
		r.readdress(now)
		r.planRecheck(now)
	}
	if !r.recheckAt.IsZero() {
		r.alarm.plan(r.recheckAt)
	}
	r.each(now, func(*enrolment) bool { return true })
}

func (r *registrar) planRecheck(now time.Time) {
	r.recheckAt = now.Add(recheckFirst + spread(r.dice, recheckSpread))
	r.alarm.plan(r.recheckAt)
}

// readdress renews the records if this node's addresses have changed.
func (r *registrar) readdress(now time.Time) {
	addrs := r.addrs()
	for _, g := range r.members {
		if slices.Equal(g.record.addrs, addrs) {
			continue
		}
		g.record.addrs = addrs
		for _, e := range g.enrolments {
			e.sealed = e.epoch.SealRecord(r.rand, g.record.encode())
			for _, a := range e.attaches {
				a.renew(now)
			}
		}
	}
}

// served counts, for status, the members of each name.
func (r *registrar) served() []ServedStatus {
	var out []ServedStatus
	for _, g := range r.members {
		if len(out) == 0 || out[len(out)-1].Cluster != g.name {
			out = append(out, ServedStatus{Cluster: g.name})
		}
		s := &out[len(out)-1]
		s.Members++
		if g.acknowledged && g.held(r.reach) {
			s.Acknowledged++
		}
	}
	return out
}

// held says whether a majority of anchors holds g now, under every id.
func (g *registration) held(r *reach) bool {
	for _, e := range g.enrolments {
		if held, _, asked, _ := e.tally(r); asked == 0 || held < majority(asked) {
			return false
		}
	}
	return true
}
