// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
)

// Passed is the lease of a member as its own node has signed it in its own network,
// without its addresses. A gateway passes it on that can't open it.
type Passed struct {
	Network     security.NetworkID // that it is signed for
	Peer        peer.ID
	Member      MemberID
	Incarnation uint64
	Record      []byte // as security.PassedRecord made it
	Signature   []byte
}

// lease is how it travels.
func (p *Passed) lease() *wire.Lease {
	return &wire.Lease{
		Peer: []byte(p.Peer), Member: uint64(p.Member), Incarnation: p.Incarnation, Record: p.Record, Signature: p.Signature,
	}
}

// Way is how a member of another network is reached: by a gateway that passes its
// record on, and knows it there as a member of its own.
type Way struct {
	Peer        peer.ID // the gateway's
	Member      MemberID
	Incarnation uint64 // of the gateway
	Addrs       []string
}

// pass notes that a member which is lent has other leases now.
func pass(now time.Time, r *registrar, name string, m MemberID, passed map[security.ClusterID]Passed) {
	i, ok := r.members.find(name, m)
	if !ok || r.members[i].passed() == nil {
		return
	}
	g := r.members[i]
	g.lending.passed = passed
	r.follow(now, g, r.epochs.of(name))
	r.renew(now, g)
	r.settle(now, g)
}

// under returns the epochs that g is registered under: a member that is lent, under
// those for which there is a lease of its own.
func (g *localMember) under(c *base, epochs []*epoch) []*epoch {
	if g.passed() == nil {
		return epochs
	}
	return slices.DeleteFunc(slices.Clone(epochs), func(e *epoch) bool {
		_, ok := g.passedUnder(c, e)
		return !ok
	})
}

// passedUnder returns a lease of the member's own in the epoch that e is, or is a shard
// of: its cluster may be sharded in its own network and not in this one, or otherwise.
func (g *localMember) passedUnder(c *base, e *epoch) (own Passed, ok bool) {
	passed := g.passed()
	for _, p := range passed { // all are of one member
		for x := range e.root().downTo(c, leaseKey{p.Peer, p.Member}) {
			if own, ok = passed[x.cid]; ok {
				return own, true
			}
		}
		break
	}
	return own, false
}

// seal returns the sealed record of e's member.
func (e *registration) seal(r *registrar) []byte {
	g, passed := e.member.record(r), e.member.passed()
	switch {
	case passed != nil:
		own, _ := e.member.passedUnder(r.base, e.epoch)
		g.passed, g.ephemeral = &own, security.EphemeralKey{}
		return e.keys.SealLent(r.rand, g.encode())
	case e.whole:
		return e.keys.SealRecord(r.rand, g.encode())
	}
	reach := record{leaseKey: g.leaseKey, incarnation: g.incarnation, addrs: g.addrs, certificate: g.certificate, revision: g.revision}
	g.addrs, g.certificate = nil, nil
	return e.keys.SealRecordParts(r.rand, g.encode(), reach.encode())
}

// open opens a lease as far as this node can; nil and the reason if it is not what it
// claims to be. Signatures are verified by who calls it, but for that of a lease which
// is passed on.
func (v *verifier) open(l *lease) (*verified, dropReason) {
	switch {
	case security.IsPassedRecord(l.record): // its addresses were taken out
		return nil, dropBadRecord
	case security.IsLentRecord(l.record):
		return v.openLent(l)
	case v.keys.FindsOnly():
		plain, err := v.keys.OpenReach(l.record)
		if err != nil {
			return nil, dropBadSeal
		}
		return v.read(plain, l)
	}
	plain, err := v.keys.OpenRecord(l.record)
	if err != nil {
		return nil, dropBadSeal
	}
	d, reason := v.read(plain, l)
	if d == nil || v.whole {
		return d, reason
	}
	if plain, err = v.keys.OpenReach(l.record); err != nil {
		return d, reason // in one part
	}
	reach, reason := v.read(plain, l)
	if reach == nil {
		return nil, reason
	}
	d.addrs, d.certificate = reach.addrs, reach.certificate
	return d, reason
}

// read decodes what this network's own members say.
func (v *verifier) read(plain []byte, l *lease) (*verified, dropReason) {
	r, err := decodeRecord(plain, l)
	if err != nil || r.passed != nil {
		return nil, dropBadRecord
	}
	return &verified{record: r}, 0
}

// openLent opens the lease of a member that a gateway lends without being able to open
// its record: its own lease in it must be whole. It crosses one border only: what is
// lent is not passed on.
func (v *verifier) openLent(l *lease) (*verified, dropReason) {
	plain, err := v.keys.OpenLent(l.record)
	if err != nil {
		return nil, dropBadSeal
	}
	r, err := decodeRecord(plain, l)
	if err != nil || r.passed == nil || r.network == "" {
		return nil, dropBadRecord
	}
	d := &verified{record: r}
	if v.keys.FindsOnly() {
		return d, 0
	}
	p := r.passed
	own := &lease{leaseKey: leaseKey{p.Peer, p.Member}, incarnation: p.Incarnation, record: p.Record, signature: p.Signature}
	if p.Network == v.base.network || !security.IsPassedRecord(p.Record) {
		return nil, dropBadRecord
	}
	// In its own network its place may be in another shard, or in none.
	var under *epoch
	for x := range v.root().downTo(v.base, own.leaseKey) {
		if plain, err = x.keys.OpenRecord(p.Record); err == nil {
			under = x
			break
		}
	}
	if under == nil {
		return nil, dropBadSeal
	}
	inner, reason := v.read(plain, own)
	if inner == nil || inner.network != "" {
		return nil, cmp.Or(reason, dropBadRecord)
	}
	if v.base.verify(own.signed(p.Network, under.cid), own.signature) != nil {
		return nil, dropBadSignature
	}
	d.own = &inner.record
	return d, 0
}

// joinWays puts the registrations of one member at several gateways together: it is one
// member with several ways. They come by gateway.
func joinWays(k *watcher, lent map[peer.ID][]*merged) (out []*merged) {
	ways := make(map[leaseKey][]*merged)
	newest := make(map[peer.ID]uint64)
	for _, found := range lent {
		for _, f := range found {
			ways[f.own.leaseKey] = append(ways[f.own.leaseKey], f)
			newest[f.own.peer] = max(newest[f.own.peer], f.own.incarnation)
		}
	}
	for key, all := range ways {
		all = slices.DeleteFunc(all, func(f *merged) bool { return f.own.incarnation < newest[key.peer] })
		if len(all) > 0 {
			out = append(out, joinOne(k, all))
		}
	}
	slices.SortFunc(out, func(a, b *merged) int { return compareLeaseKeys(a.leaseKey, b.leaseKey) })
	return out
}

// joinOne makes one member of the ways to it. The way in the best state is taken, then that
// of the lowest priority; members share what is left of them by their hash.
func joinOne(k *watcher, all []*merged) *merged {
	score := func(f *merged) uint64 { return mix(uint64(f.own.member) ^ hashString(string(f.peer))) }
	slices.SortFunc(all, func(a, b *merged) int {
		return cmp.Or(cmp.Compare(troubleOf(k, a), troubleOf(k, b)), cmp.Compare(a.priority, b.priority),
			cmp.Compare(score(a), score(b)), compareLeaseKeys(a.leaseKey, b.leaseKey))
	})
	best := all[0]
	own := best.own
	for _, f := range all[1:] {
		if f.own.revision > own.revision {
			own = f.own
		}
	}
	r := *own
	r.network, r.priority, r.zone, r.addrs = best.network, best.priority, best.zone, best.addrs
	r.networks = []security.NetworkID{best.passed.Network} // as it is signed
	r.certificate, r.nodeName = nil, ""                    // of another authority
	f := &merged{
		verified: &verified{record: r, key: best.key, lease: best.lease},
		suspect:  best.suspect || own.suspect, surely: best.surely || own.suspect,
	}
	for _, way := range all {
		f.ways = append(f.ways, Way{Peer: way.peer, Member: way.member, Incarnation: way.incarnation, Addrs: way.addrs})
	}
	return f
}

// troubleOf is how little a way can be relied on.
func troubleOf(k *watcher, f *merged) int {
	switch {
	case k.peers.lost(f.peer):
		return 3
	case k.peers.suspect(f.peer) || f.surely:
		return 2
	case f.suspect && !k.vouches(f.peer):
		return 1
	}
	return 0
}

// via returns the preferred way, and all of them.
func (f *merged) via() (*Way, []Way) {
	if len(f.ways) == 0 {
		return nil, nil
	}
	return &f.ways[0], f.ways
}

// sameWays says whether m describes the ways of f.
func sameWays(m *Member, f *merged) bool {
	return slices.EqualFunc(m.ways, f.ways, func(a, b Way) bool {
		return a.Peer == b.Peer && a.Member == b.Member && a.Incarnation == b.Incarnation && slices.Equal(a.Addrs, b.Addrs)
	})
}

// samePassed says whether m has the leases that d's member has now.
func samePassed(m *Member, w *watchedCluster, d *verified) bool {
	return maps.EqualFunc(m.passed, w.passed(d), func(a, b Passed) bool {
		return a.Incarnation == b.Incarnation && bytes.Equal(a.Signature, b.Signature)
	})
}

// passed returns the leases of a member by id, where only finding keys are known.
func (w *watchedCluster) passed(d *verified) map[security.ClusterID]Passed {
	if len(w.epochViews) == 0 || !w.epochViews[0].keys.FindsOnly() || d.network != "" {
		return nil
	}
	out := make(map[security.ClusterID]Passed)
	for _, s := range w.epochViews {
		known := s.known.get(d.leaseKey)
		if known == nil || known.incarnation != d.incarnation {
			continue
		}
		record, ok := security.PassedRecord(known.lease.record)
		if ok && len(record) <= wire.MaxPassedRecord {
			out[s.cid] = Passed{
				Network: s.base.network, Peer: d.peer, Member: d.member, Incarnation: d.incarnation,
				Record: record, Signature: known.lease.signature,
			}
		}
	}
	return out
}
