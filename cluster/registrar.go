// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
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
	// started is when this node began. Until that has settled, one that nobody has linked to
	// has just not joined yet; then it may believe that it is the first of its network.
	started time.Time

	members   localMembers
	described descriptions
	byID      registrations
	served    servedTable
	farewells []farewell
	leaving   map[*registration]time.Time // members that are held under a shard: when they may leave the id above
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
	id            MemberID
	node          *description
	lending       *lending        // nil = it is this node's own
	registrations []*registration // in the order of the name's epochs
	payload       []byte
	revision      uint64 // of its record
	maxMessage    int
	capacity      int32
	suspect       bool // its node doubts it
	acknowledged  bool // once: Register has returned
}

// description is what records say of their node. Members share it; nobody changes it.
type description struct {
	addrs       []string
	certificate []byte
	ephemeral   security.EphemeralKey
}

// lending is what is known of a member that a gateway lends.
type lending struct {
	network  string // where it is from
	priority int
	networks networks                      // that it has come through
	passed   map[security.ClusterID]Passed // nil = this node opens what is for it
}

func (d *description) equal(o *description) bool {
	return d.ephemeral == o.ephemeral && slices.Equal(d.addrs, o.addrs) && bytes.Equal(d.certificate, o.certificate)
}

// passed are the member's own leases; nil = this node opens what is for it.
func (g *localMember) passed() map[security.ClusterID]Passed {
	if g.lending == nil {
		return nil
	}
	return g.lending.passed
}

// networks are those that the member has come through.
func (g *localMember) networks() networks {
	if g.lending == nil {
		return nil
	}
	return g.lending.networks
}

// record is what the record says now.
func (g *localMember) record(r *registrar) record {
	now := record{
		leaseKey: leaseKey{r.self, g.id}, incarnation: r.incarnation, zone: r.zone,
		addrs: g.node.addrs, certificate: g.node.certificate, ephemeral: g.node.ephemeral,
		capacity: int(g.capacity), maxMessage: g.maxMessage, payload: g.payload, suspect: g.suspect, revision: g.revision,
	}
	if l := g.lending; l != nil {
		now.network, now.priority, now.networks = l.network, l.priority, l.networks
	}
	return now
}

// descriptions are the present ones: with an ephemeral key, and without.
type descriptions [2]*description

// keep is d as it is kept for all members that say the same.
func (all *descriptions) keep(d description) *description {
	kept := &all[0]
	if d.ephemeral.IsZero() {
		kept = &all[1]
	}
	if *kept == nil || !d.equal(*kept) {
		*kept = &d
	}
	return *kept
}

// redescribe renews the records that say of this node what is no longer so.
func (r *registrar) redescribe(now time.Time) {
	addrs, certificate := r.here.now(), r.certificates.Certificate()
	for _, g := range r.members {
		was := g.node
		g.node = r.described.keep(description{addrs, certificate, r.ephemeral(g.name)})
		if g.node != was && !g.node.equal(was) {
			r.renew(now, g)
		}
	}
}

// localMembers are by name, then member.
type localMembers []*localMember

func (all localMembers) find(name string, m MemberID) (int, bool) {
	return slices.BinarySearchFunc(all, name, func(g *localMember, name string) int {
		return cmp.Or(cmp.Compare(g.name, name), cmp.Compare(g.id, m))
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
	g := &localMember{
		name: name, id: d.Member, node: r.described.keep(description{r.here.now(), r.certificates.Certificate(), r.ephemeral(name)}),
		capacity: int32(min(max(d.Capacity, 1), MaxCapacity)), maxMessage: max(d.MaxMessage, 0), payload: d.Payload,
	}
	if d.Network != "" || d.Priority > 0 || len(d.Networks) > 0 || d.Passed != nil {
		g.lending = &lending{d.Network, min(max(d.Priority, 0), MaxPriority), d.Networks, d.Passed}
	}
	epochs := r.epochs.use(now, name)
	if len(epochs) == 0 || g.passed() == nil && epochs[0].keys.FindsOnly() {
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
	g.registrations = followEpochs(slices.Clone(g.registrations), g.allPlaces(now, r, epochs),
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
	if m.refusal == wire.Refusal_NONE || m.refusal == wire.Refusal_SHARDED {
		a.said = m.said()
	}
	a.answered(now, m.refusal, r.rng)
	if a.state == leaseHeld {
		r.claims.set(now, from, &a.stake, stake{stands: true, sum: e.lease(r).sumOf(e.cid)})
	} else {
		r.claims.drop(from, &a.stake)
	}
	r.advance(now, e)
	replace(now, r, e.member)
	r.settle(now, e.member)
}

// attached says whether the lease is, or is to be, at p.
func (r *registrar) attached(cid security.ClusterID, m MemberID, p peer.ID) bool {
	e := r.byID.find(cid, m)
	return e != nil && e.at(p) != nil
}

// settle ends the Register call once a majority of the anchors has
// acknowledged under every valid id, and their watchers know, or all have refused. Of a node that may be
// joining its own word is not enough: those who are asked by others do not know
// of the member yet.
func (r *registrar) settle(now time.Time, g *localMember) {
	if g.acknowledged {
		return
	}
	done := true
	for _, s := range g.placings(r) {
		if s.refused && !s.held {
			g.acknowledged = true
			err := fmt.Errorf("%w: %s", ErrRefused, dropRefused.because(s.reason))
			r.out.add(registeredAction{g.name, g.id, err})
			r.remove(now, g.name, g.id)
			return
		}
		done = done && s.announced
		if over, next := r.finder.settling.over(now, r.started); done && !over && !s.elsewhere {
			done = false
			r.alarm.plan(next)
		}
	}
	if done {
		g.acknowledged = true
		r.served.doubt(g.name)
		r.out.add(registeredAction{g.name, g.id, nil})
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
		if r.byID.find(e.cid, e.member.id) != e {
			continue // dropped by what was done for one before
		}
		r.advance(now, e)
		replace(now, r, e.member)
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
		r.redescribe(now)
		r.planRecheck(now)
	}
	r.alarm.plan(r.recheckAt)
	if over, next := r.finder.settling.over(now, r.started); !over {
		r.alarm.plan(next)
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

// renew has the anchors hold the record as it is now.
func (r *registrar) renew(now time.Time, g *localMember) {
	g.revision++
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
	if !ok || r.members[i].suspect == on {
		return
	}
	g := r.members[i]
	g.suspect = on
	r.renew(now, g)
}

// revise notes that a member can do more or less than it could, or has come another way.
func (r *registrar) revise(now time.Time, name string, as Registration) {
	i, ok := r.members.find(name, as.Member)
	if !ok {
		return
	}
	g := r.members[i]
	capacity, maxMessage := int32(min(max(as.Capacity, 1), MaxCapacity)), max(as.MaxMessage, 0)
	came := !slices.Equal(g.networks(), as.Networks)
	if g.capacity == capacity && g.maxMessage == maxMessage && !came {
		return
	}
	g.capacity, g.maxMessage = capacity, maxMessage
	if came {
		if g.lending == nil {
			g.lending = &lending{}
		}
		g.lending.networks = as.Networks
	}
	r.renew(now, g)
}

// held says whether a majority of anchors holds g now, under every epoch of the cluster.
func (g *localMember) held(r *registrar) bool {
	return !slices.ContainsFunc(g.placings(r), func(s placing) bool { return !s.held })
}
