// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"
)

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
		case r.attached(f.msg.cid, f.msg.member, f.to): // it is wanted again
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
		r.renew(now, g)
	}
}

// renew has the anchors hold the record as it is now.
func (r *registrar) renew(now time.Time, g *registration) {
	for _, e := range g.enrolments {
		e.sealed = e.epoch.SealRecord(r.rand, g.record.encode())
		for _, a := range e.attaches {
			a.renew(now)
		}
	}
}

// doubt takes in that a member is suspect, or no longer is.
func (r *registrar) doubt(now time.Time, name string, m MemberID, on bool) {
	i, ok := r.find(name, m)
	if !ok || r.members[i].record.suspect == on {
		return
	}
	g := r.members[i]
	g.record.suspect = on
	r.renew(now, g)
	for _, e := range g.enrolments {
		r.advance(now, e)
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
