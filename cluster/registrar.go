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

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// registrar is the core that keeps this node's members registered: each under
// every valid cluster id, with every anchor of it, again whenever a link, an
// anchor or an epoch changes.
type registrar struct {
	*base
	incarnation uint64
	zone        string
	here        whereabouts
	rand        io.Reader
	ephemeral   func(cluster string) security.EphemeralKey
	// alone is when a node that nobody has linked to may believe that it is
	// the first one of its network. Before, it has just not joined yet.
	alone time.Time

	members   localMembers
	byID      registrations
	served    servedTable
	farewells []farewell
	seq       uint64
	recheckAt time.Time // when our own addresses are looked at next; zero = no members
	plans     agenda[*registration]
	alarm     alarm // for all else
}

// whereabouts is where this node can be reached now. The records share it.
type whereabouts struct {
	ask  func() []string
	last []string
}

func (w *whereabouts) now() []string {
	if addrs := w.ask(); !slices.Equal(addrs, w.last) {
		w.last = addrs
	}
	return w.last
}

// localMember is one local member.
type localMember struct {
	name          string
	record        record
	registrations []*registration               // in the order of the name's epochs
	passed        map[security.ClusterID]Passed // nil = it is this node's own
	acknowledged  bool                          // once: Register has returned
}

// localMembers are by name, then member.
type localMembers []*localMember

func (all localMembers) find(name string, m MemberID) (int, bool) {
	return slices.BinarySearchFunc(all, name, func(g *localMember, name string) int {
		return cmp.Or(cmp.Compare(g.name, name), cmp.Compare(g.record.member, m))
	})
}

// of lists the members of the cluster.
func (all localMembers) of(name string) localMembers {
	from, _ := all.find(name, 0)
	to := from
	for to < len(all) && all[to].name == name {
		to++
	}
	return all[from:to]
}

// add makes a member of the cluster; a registeredAction follows.
func (r *registrar) add(now time.Time, name string, d Registration) error {
	i, ok := r.members.find(name, d.Member)
	if ok {
		return ErrDuplicate
	}
	g := &localMember{name: name, record: record{
		leaseKey: leaseKey{r.self, d.Member}, incarnation: r.incarnation, addrs: r.here.now(), zone: r.zone,
		capacity: min(max(d.Capacity, 1), maxCapacity), maxMessage: max(d.MaxMessage, 0),
		payload: d.Payload, network: d.Network, priority: min(max(d.Priority, 0), MaxPriority), networks: d.Networks,
		certificate: r.certificates.Certificate(), ephemeral: r.ephemeral(name),
	}, passed: d.Passed}
	epochs := r.epochs.use(now, name)
	if len(epochs) == 0 || g.passed == nil && epochs[0].keys.FindsOnly() {
		r.epochs.leave(name)
		return ErrNoKeys
	}
	r.members = slices.Insert(r.members, i, g)
	r.follow(now, g, epochs)
	if r.recheckAt.IsZero() {
		r.planRecheck(now)
	}
	r.settle(now, g)
	return nil
}

// remove withdraws a member at once.
func (r *registrar) remove(now time.Time, name string, m MemberID) {
	i, ok := r.members.find(name, m)
	if !ok {
		return
	}
	g := r.members[i]
	r.members = slices.Delete(r.members, i, i+1)
	if !g.acknowledged {
		r.out.add(registeredAction{name, m, ErrUnregistered})
	}
	r.follow(now, g, nil)
	r.epochs.leave(name)
	if len(r.members) == 0 {
		r.recheckAt = time.Time{}
	}
}

// follow makes g's registrations match the epochs.
func (r *registrar) follow(now time.Time, g *localMember, epochs []*epoch) {
	r.served.doubt(g.name)
	g.registrations = followEpochs(g.registrations, g.under(epochs),
		func(e *registration) security.ClusterID { return e.cid },
		func(p *epoch) *registration {
			e := &registration{epoch: p, member: g, anchorSet: r.finder.follow(now, p.cid)}
			e.sign(r)
			r.byID.add(e)
			r.advance(now, e)
			return e
		},
		func(e *registration) { r.drop(now, e) })
}

// turned notes that other ids are valid for name.
func (r *registrar) turned(now time.Time, name string) {
	epochs := r.epochs.of(name)
	for _, g := range slices.Clone(r.members.of(name)) {
		r.follow(now, g, epochs)
		r.settle(now, g)
	}
}

// anchorsChanged notes that the anchors of cid are others now.
func (r *registrar) anchorsChanged(now time.Time, cid security.ClusterID) {
	for _, e := range slices.Clone(r.byID.of(cid)) {
		r.advance(now, e)
		r.settle(now, e.member)
	}
}

// peerChanged notes that the state of the link to p changed.
func (r *registrar) peerChanged(now time.Time, p peer.ID) {
	for _, g := range slices.Clone(r.members) {
		moved := false
		for _, e := range g.registrations {
			if e.at(p) != nil {
				r.advance(now, e)
				moved = true
			}
		}
		if moved {
			r.settle(now, g)
		}
	}
}

// farewell is an Unregister that found the lane full.
type farewell struct {
	to      peer.ID
	session uint64
	msg     *unregisterMsg
	at      time.Time
}

const farewellRetry = 250 * time.Millisecond

// registered handles an anchor's answer.
func (r *registrar) registered(now time.Time, from peer.ID, m *registeredMsg) {
	e := r.byID.find(m.cid, m.member)
	if e == nil {
		return
	}
	a := e.at(from)
	if a == nil || m.seq != a.seq || a.state == leaseIdle {
		return
	}
	if m.refusal != wire.Refusal_NONE {
		r.drops.Inc(dropRegister.because(m.refusal))
	}
	a.answered(now, m.refusal, r.rng)
	if a.state == leaseHeld {
		r.claims.set(now, from, &a.stake, stake{stands: true, sum: e.lease.sumOf(e.cid)})
	} else {
		r.claims.drop(from, &a.stake)
	}
	r.advance(now, e)
	r.settle(now, e.member)
}

// attached says whether the lease is, or is to be, at p.
func (r *registrar) attached(cid security.ClusterID, m MemberID, p peer.ID) bool {
	e := r.byID.find(cid, m)
	return e != nil && e.at(p) != nil
}

// settle ends the Register call once a majority of the anchors has
// acknowledged under every valid id, or all have refused. Of a node that may be
// joining its own word is not enough: those who are asked by others do not know
// of the member yet.
func (r *registrar) settle(now time.Time, g *localMember) {
	if g.acknowledged {
		return
	}
	done := true
	for _, e := range g.registrations {
		held, refused, asked, reason := e.tally(r.peers)
		if asked > 0 && refused == asked {
			g.acknowledged = true
			err := fmt.Errorf("%w: %s", ErrRefused, dropRefused.because(reason))
			r.out.add(registeredAction{g.name, g.record.member, err})
			r.remove(now, g.name, g.record.member)
			return
		}
		done = done && asked > 0 && held >= majority(asked)
		if done && now.Before(r.alone) && !e.heldElsewhere(r.self) {
			done = false
			r.alarm.plan(r.alone)
		}
	}
	if done {
		g.acknowledged = true
		r.served.doubt(g.name)
		r.out.add(registeredAction{g.name, g.record.member, nil})
	}
}

// sendFailed notes that a message never left. Register is sent again
// anyway; an Unregister that found the lane full must not be forgotten, or the
// lease would live as long as the link.
func (r *registrar) sendFailed(now time.Time, to peer.ID, m message) {
	u, ok := m.(*unregisterMsg)
	session := r.peers.session(to)
	if !ok || session == 0 {
		return
	}
	f := farewell{to, session, u, now.Add(farewellRetry)}
	r.farewells = append(r.farewells, f)
	r.alarm.plan(f.at)
}

// tick does what is planned.
func (r *registrar) tick(now time.Time) {
	if r.alarm.rings(now) {
		r.chores(now)
	}
	for _, e := range r.plans.due(now) {
		r.advance(now, e)
		r.settle(now, e.member)
	}
}

// chores does what is planned for no single registration.
func (r *registrar) chores(now time.Time) {
	waiting := r.farewells
	r.farewells = nil
	for _, f := range waiting {
		switch {
		case r.peers.session(f.to) != f.session: // the lease ended with the link
		case r.attached(f.msg.cid, f.msg.member, f.to): // it is wanted again
		case r.alarm.check(f.at, now):
			r.out.send(f.to, f.msg)
		default:
			r.farewells = append(r.farewells, f)
		}
	}
	if due(r.recheckAt, now) {
		r.readdress(now)
		r.planRecheck(now)
	}
	r.alarm.plan(r.recheckAt)
	if now.Before(r.alone) {
		r.alarm.plan(r.alone)
		return
	}
	for _, g := range slices.Clone(r.members) {
		r.settle(now, g)
	}
}

func (r *registrar) planRecheck(now time.Time) {
	r.recheckAt = now.Add(recheckFirst + spread(r.rng, recheckSpread))
	r.alarm.plan(r.recheckAt)
}

// readdress renews the records if this node's addresses have changed.
func (r *registrar) readdress(now time.Time) {
	addrs := r.here.now()
	for _, g := range r.members {
		if slices.Equal(g.record.addrs, addrs) {
			continue
		}
		g.record.addrs = addrs
		r.renew(now, g)
	}
}

// renew has the anchors hold the record as it is now.
func (r *registrar) renew(now time.Time, g *localMember) {
	g.record.revision++
	for _, e := range g.registrations {
		e.sign(r)
		for _, a := range e.leases {
			a.renew(now)
		}
		r.advance(now, e)
	}
}

// doubt notes that a member is suspect, or no longer is.
func (r *registrar) doubt(now time.Time, name string, m MemberID, on bool) {
	i, ok := r.members.find(name, m)
	if !ok || r.members[i].record.suspect == on {
		return
	}
	g := r.members[i]
	g.record.suspect = on
	r.renew(now, g)
}

// revise notes that a member can do more or less than it could, or has come another way.
func (r *registrar) revise(now time.Time, name string, as Registration) {
	i, ok := r.members.find(name, as.Member)
	if !ok {
		return
	}
	g := r.members[i]
	capacity, maxMessage := min(max(as.Capacity, 1), maxCapacity), max(as.MaxMessage, 0)
	if g.record.capacity == capacity && g.record.maxMessage == maxMessage && slices.Equal(g.record.networks, as.Networks) {
		return
	}
	g.record.capacity, g.record.maxMessage, g.record.networks = capacity, maxMessage, as.Networks
	r.renew(now, g)
}

// held says whether a majority of anchors holds g now, under every id.
func (g *localMember) held(r *peerTable) bool {
	for _, e := range g.registrations {
		if held, _, asked, _ := e.tally(r); asked == 0 || held < majority(asked) {
			return false
		}
	}
	return true
}
