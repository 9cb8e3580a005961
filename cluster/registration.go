// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// Times of registration.
const (
	registerFirst   = time.Second // without an answer, ask again after this, doubled each time
	registerLongest = 15 * time.Second
	refusedFirst    = 5 * time.Second // after a refusal
	refusedLongest  = time.Minute
	farFirst        = 250 * time.Millisecond // after a refusal by who is far
	breakAfter      = 3 * time.Second        // an old lease outlives the new ones at least so long, until watchers have followed …
	breakTrips      = 8                      // … or so many round trips to the anchor that is farthest away
	maxOldLeases    = 6
)

// registration is one member under one cluster id.
type registration struct {
	slot
	*epoch
	member    *localMember
	anchorSet *anchorSet
	record    []byte // sealed, as the anchors are to hold it
	signature []byte
	leases    []*anchorLease
	breakAt   time.Time // when old leases are let go; zero = the new ones do not all stand
}

// set has registrations kept byPlace.
func (e *registration) set() *anchorSet { return e.anchorSet }

// registrations are by cluster id, then member.
type registrations struct{ byPlace[*registration] }

func (all *registrations) add(e *registration) {
	i, _ := all.place(e.cid, e.member.id)
	all.byPlace = slices.Insert(all.byPlace, i, e)
}

func (all *registrations) remove(e *registration) {
	if i, ok := all.place(e.cid, e.member.id); ok {
		all.byPlace = slices.Delete(all.byPlace, i, i+1)
	}
}

// find returns the registration of the member under the id, or nil.
func (all *registrations) find(cid security.ClusterID, m MemberID) *registration {
	if i, ok := all.place(cid, m); ok {
		return all.byPlace[i]
	}
	return nil
}

func (all *registrations) place(cid security.ClusterID, m MemberID) (int, bool) {
	from, _ := all.byPlace.find(cid)
	i, ok := slices.BinarySearchFunc(all.of(cid), m, func(e *registration, m MemberID) int { return cmp.Compare(e.member.id, m) })
	return from + i, ok
}

type leaseState uint8

const (
	leaseIdle    leaseState = iota // waits for the link
	leaseSent                      // waits for the answer
	leaseHeld                      // acknowledged
	leaseRefused                   // waits before it asks again
)

// anchorLease is one registration at one anchor.
type anchorLease struct {
	peer    peer.ID
	session uint64
	seq     uint64
	stake   stake
	trying  *attempt // nil = it stands, or waits for the link
	trip    uint32   // milliseconds from the last Register that was answered to the answer, rounded up
	state   leaseState
	old     bool // no longer an anchor, or not yet replaced
	said    said // by the anchor
	below   bool // as the last Register said
}

// attempt is what is done to have a lease held.
type attempt struct {
	tries  int
	sent   time.Time // the last Register; zero = it was answered
	next   time.Time // when to send again; zero = when the link is up
	reason wire.Refusal
}

// attempt is what is done to have the lease held, to be changed.
func (a *anchorLease) attempt() *attempt {
	if a.trying == nil {
		a.trying = &attempt{}
	}
	return a.trying
}

// next is when to send again; zero = when the link is up.
func (a *anchorLease) next() (none time.Time) {
	if a.trying == nil {
		return none
	}
	return a.trying.next
}

// awaits says whether the last Register was not answered yet: who refused may hold it now.
func (a *anchorLease) awaits() bool { return a.trying != nil && !a.trying.sent.IsZero() }

// refused says whether it was refused for that reason.
func (a *anchorLease) refused(reason wire.Refusal) bool {
	return a.state == leaseRefused && a.attempt().reason == reason
}

func (e *registration) at(p peer.ID) *anchorLease {
	for _, a := range e.leases {
		if a.peer == p {
			return a
		}
	}
	return nil
}

// tally counts the current anchors: those that hold the lease, those that
// refuse it, and all that can be asked, which excludes those that miss
// heartbeats and those that say that they are none.
func (e *registration) tally(r *peerTable) (held, refused, asked int, reason wire.Refusal) {
	for _, a := range e.leases {
		if a.old || r.suspect(a.peer) || a.refused(wire.Refusal_FAR) {
			continue
		}
		asked++
		switch a.state {
		case leaseHeld:
			held++
		case leaseRefused:
			if a.refused(wire.Refusal_SHARDED) && e.depth() < deepestShard {
				continue // a shard takes the member
			}
			refused++
			reason = a.attempt().reason
		}
	}
	return held, refused, asked, reason
}

// heldElsewhere says whether an anchor other than this node holds the lease.
func (e *registration) heldElsewhere(self peer.ID) bool {
	return slices.ContainsFunc(e.leases, func(a *anchorLease) bool { return a.state == leaseHeld && a.peer != self })
}

// answered notes what the anchor said.
func (a *anchorLease) answered(now time.Time, reason wire.Refusal, d *prng) {
	t := a.attempt()
	if !t.sent.IsZero() { // an anchor says it again when it sees other anchors
		a.trip, t.sent = uint32((now.Sub(t.sent)+time.Millisecond-1)/time.Millisecond), time.Time{}
	}
	if reason == wire.Refusal_NONE {
		a.state, a.trying = leaseHeld, nil
		return
	}
	if a.state != leaseRefused {
		t.tries = 0
	}
	a.state, t.reason = leaseRefused, reason
	t.next = now.Add(refusedFor(d, t.tries, reason))
	t.tries++
}

// refusedFor is how long to wait before the same is asked for again.
func refusedFor(d *prng, tries int, reason wire.Refusal) time.Duration {
	if reason == wire.Refusal_FAR { // one of the two learns better soon
		return backoff(d, tries, farFirst, registerLongest)
	}
	return backoff(d, tries, refusedFirst, refusedLongest)
}

// renew has the record sent again; the lease stands meanwhile.
func (a *anchorLease) renew(now time.Time) {
	if a.state != leaseIdle {
		a.again(now)
	}
}

// again has the record sent at that time.
func (a *anchorLease) again(at time.Time) {
	t := a.attempt()
	t.next, t.tries = at, 0
}

// sign seals and signs the record of e's member as it is now.
func (e *registration) sign(r *registrar) {
	e.record = e.seal(r)
	e.signature = r.key.SignLease(e.lease(r).signed(r.network, e.cid))
}

// lease is what anchors are to hold.
func (e *registration) lease(r *registrar) *lease {
	return &lease{
		leaseKey: leaseKey{r.self, e.member.id}, incarnation: r.incarnation, record: e.record, signature: e.signature,
	}
}

// advance does for e whatever can be done now: ask the anchors that have not
// acknowledged, and let go of those that are none any more.
func (r *registrar) advance(now time.Time, e *registration) {
	r.served.doubt(e.member.name)
	r.matchAnchors(e)
	standing := true
	for _, a := range slices.Clone(e.leases) {
		if s := r.peers.session(a.peer); s != a.session {
			a.session, a.state = s, leaseIdle
			a.again(now)
			r.claims.drop(a.peer, &a.stake)
		}
		switch {
		case a.old:
			if a.state == leaseIdle {
				r.release(e, a) // the lease ended with the link, or never was
			}
			continue
		case a.session != 0 && due(a.next(), now):
			r.ask(now, e, a)
		}
		if a.session != 0 {
			r.plans.plan(e, a.next())
		}
		standing = standing && a.state == leaseHeld
	}
	r.breakOld(now, e, standing)
}

// matchAnchors adds an attach for each new anchor and marks the old ones.
func (r *registrar) matchAnchors(e *registration) {
	for _, a := range e.leases {
		a.old = !e.anchorSet.isAnchor(a.peer)
	}
	if e.leases == nil {
		e.leases = make([]*anchorLease, 0, len(e.anchorSet.anchors))
	}
	for _, p := range e.anchorSet.anchors {
		if e.at(p) == nil {
			e.leases = append(e.leases, &anchorLease{peer: p})
			r.peers.hold(p)
		}
	}
}

func (r *registrar) ask(now time.Time, e *registration, a *anchorLease) {
	r.seq++
	t := a.attempt()
	a.seq, t.sent = r.seq, now
	if a.state == leaseIdle {
		a.state = leaseSent
	}
	r.claims.set(now, a.peer, &a.stake, stake{waits: true, stands: a.stake.stands, sum: a.stake.sum})
	t.next = now.Add(backoff(r.rng, t.tries, r.finder.settling.atLeast(now, overlay.Patience{Time: registerFirst, Trips: askTrips}), registerLongest))
	if a.state != leaseRefused {
		t.tries++
	}
	m := e.ask(r, a.seq)
	a.below = m.below
	r.out.send(a.peer, m)
}

// ask is what an anchor is asked to hold.
func (e *registration) ask(r *registrar, seq uint64) *registerMsg {
	return &registerMsg{
		cid: e.cid, key: e.keys.PublicKey(), proof: e.proof, member: e.member.id,
		incarnation: r.incarnation, record: e.record, signature: e.signature, seq: seq,
		below: e.member.heldBelow(r, e), announce: !e.member.acknowledged,
	}
}

// breakOld lets go of old leases once all new ones have stood for a while.
func (r *registrar) breakOld(now time.Time, e *registration, standing bool) {
	var old []*anchorLease
	for _, a := range e.leases {
		if a.old {
			old = append(old, a)
		}
	}
	switch {
	case len(old) == 0 || !standing:
		e.breakAt = time.Time{}
		if len(old) > maxOldLeases {
			r.unregister(e, leastWorth(old))
		}
	case e.breakAt.IsZero():
		e.breakAt = now.Add(e.breakWait())
		r.plans.plan(e, e.breakAt)
	case !due(e.breakAt, now):
		r.plans.plan(e, e.breakAt)
	default:
		for _, a := range old {
			r.unregister(e, a)
		}
		e.breakAt = time.Time{}
	}
}

// leastWorth is the old lease to let go of when there are too many: the last one that
// is not acknowledged yet, since hardly any watcher can know the member by it. Links
// that come up one after the other make many such anchors for a moment; those that
// have held the member for long are the ones that watchers know.
func leastWorth(old []*anchorLease) *anchorLease {
	for _, a := range slices.Backward(old) {
		if a.state != leaseHeld {
			return a
		}
	}
	return old[0]
}

// breakWait is how long leases stand beside those in whose favour they are let go.
func (e *registration) breakWait() time.Duration {
	farthest := time.Duration(0)
	for _, a := range e.leases {
		farthest = max(farthest, time.Duration(a.trip)*time.Millisecond)
	}
	return follow.Over(farthest)
}

// unregister ends the lease at one anchor.
func (r *registrar) unregister(e *registration, a *anchorLease) {
	if a.state == leaseSent || a.state == leaseHeld || a.state == leaseRefused && a.awaits() {
		r.out.send(a.peer, &unregisterMsg{cid: e.cid, member: e.member.id})
	}
	r.release(e, a)
}

func (r *registrar) release(e *registration, a *anchorLease) {
	e.leases = slices.DeleteFunc(e.leases, func(o *anchorLease) bool { return o == a })
	r.peers.unhold(a.peer)
	r.claims.drop(a.peer, &a.stake)
}

// drop ends the registration everywhere.
func (r *registrar) drop(now time.Time, e *registration) {
	if e.at(r.self) == nil { // it may have been brought home
		r.out.send(r.self, &unregisterMsg{cid: e.cid, member: e.member.id})
	}
	for _, a := range slices.Clone(e.leases) {
		r.unregister(e, a)
	}
	r.finder.unfollow(now, e.anchorSet)
	r.plans.cancel(e)
	delete(r.leaving, e)
	r.byID.remove(e)
}
