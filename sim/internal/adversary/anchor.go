// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"cmp"
	"maps"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim/scenario"
)

// lyingAnchor changes what a node tells as an anchor. The node itself remains
// honest: its members and watchers are real, and so is what it knows.
type lyingAnchor struct {
	onlooker
	*wits
	told map[watch]*account
}

// watch is one watcher of one cluster id.
type watch struct {
	peer peer.ID
	cid  security.ClusterID
}

// account is what one watcher was told, and what it would have been told by an
// honest anchor.
type account struct {
	seq     uint64 // of the watch
	number  uint64 // of the last Delta
	settled bool
	mode    string // "" = the truth
	truth   map[member]*wire.Lease
	left    map[member]*wire.Lease // that were true once
	said    map[member]*wire.Lease
	forged  map[member]*wire.Lease // as they were made
}

// member names one member on one node.
type member struct {
	peer string
	id   uint64
}

func compareMembers(a, b member) int {
	return cmp.Or(cmp.Compare(a.peer, b.peer), cmp.Compare(a.id, b.id))
}

// largest is the incarnation of what is forged: no real one is as large.
const largest = 1 << 62

// lie is the order that concerns a cluster id, and the keys of that id, if the
// node holds them.
func (a *lyingAnchor) lie(cid security.ClusterID) (mode string, keys security.Epoch) {
	for _, mode := range []string{scenario.ForgeLeases, scenario.SayEmpty, scenario.Withhold, scenario.RepeatLeases} {
		o, ok := a.order(mode)
		if !ok {
			continue
		}
		for _, e := range a.Cluster(o.On).Epochs(a.Seam.Clock.Now()) {
			if e.ID() == cid {
				return mode, e
			}
		}
	}
	return "", security.Epoch{}
}

// out implements tactic.
func (a *lyingAnchor) out(to peer.ID, f frame) []frame {
	switch f.kind {
	case wire.KindSnapshot:
		var m wire.Snapshot
		if wire.DecodeControl(f.body, &m) == nil && m.Refusal == wire.Refusal_NONE {
			return a.snapshot(to, f, &m)
		}
	case wire.KindDelta:
		var m wire.Delta
		if wire.DecodeControl(f.body, &m) == nil {
			return a.delta(to, f, &m)
		}
	case wire.KindHint:
		return a.hint(f)
	}
	return []frame{f}
}

// snapshot notes what the node tells a watcher, and tells the lie.
func (a *lyingAnchor) snapshot(to peer.ID, f frame, m *wire.Snapshot) []frame {
	at := watch{to, security.ClusterID(m.Cid)}
	c := a.told[at]
	if c == nil || c.seq != m.Seq {
		c = &account{
			seq: m.Seq, truth: make(map[member]*wire.Lease), left: make(map[member]*wire.Lease),
			said: make(map[member]*wire.Lease), forged: make(map[member]*wire.Lease),
		}
		if old := a.told[at]; old != nil {
			c.left = old.left
			maps.Copy(c.left, old.truth)
		}
		a.told[at] = c
	}
	c.learn(m.Leases, nil)
	c.settled = m.Settled
	mode, keys := a.lie(at.cid)
	if c.mode = mode; mode == "" {
		maps.Copy(c.said, c.truth)
		return []frame{f}
	}
	a.Acted("lies to a watcher: "+mode, 1)
	if m.More || mode == scenario.Withhold {
		return nil
	}
	c.said = a.wanted(c, mode, keys)
	m.Leases, m.Settled = listed(c.said), m.Settled || mode == scenario.SayEmpty
	return []frame{control(f.kind, m)}
}

// delta notes what has changed, and tells what has changed in the lie.
func (a *lyingAnchor) delta(to peer.ID, f frame, m *wire.Delta) []frame {
	cid := security.ClusterID(m.Cid)
	c := a.told[watch{to, cid}]
	if c == nil || c.seq != m.Seq {
		return []frame{f}
	}
	c.learn(m.Upserted, m.Removed)
	c.settled = m.Settled
	mode, keys := a.lie(cid)
	if mode == "" && c.mode == "" {
		c.number++
		c.said = maps.Clone(c.truth)
		m.Number = c.number
		return []frame{control(f.kind, m)}
	}
	told := a.tell(cid, c, mode, keys, m.Anchors)
	if told == nil {
		return nil
	}
	return []frame{*told}
}

// tell is the Delta from what a watcher was told to what it is to believe; nil if
// there is nothing to tell.
func (a *lyingAnchor) tell(cid security.ClusterID, c *account, mode string, keys security.Epoch, anchors [][]byte) *frame {
	c.mode = mode
	if mode == scenario.Withhold {
		a.Acted("lies to a watcher: "+mode, 1)
		return nil
	}
	want := a.wanted(c, mode, keys)
	m := &wire.Delta{Cid: cid[:], Seq: c.seq, Settled: c.settled || mode == scenario.SayEmpty, Anchors: anchors}
	for _, l := range listed(want) {
		if old := c.said[nameOf(l)]; old == nil || !proto.Equal(old, l) {
			m.Upserted = append(m.Upserted, l)
		}
	}
	for _, l := range listed(c.said) {
		if want[nameOf(l)] == nil {
			m.Removed = append(m.Removed, &wire.LeaseRef{Peer: l.Peer, Member: l.Member, Incarnation: l.Incarnation})
		}
	}
	c.said = want
	if len(m.Upserted)+len(m.Removed) == 0 && len(anchors) == 0 && mode != scenario.SayEmpty {
		return nil
	}
	if mode != "" {
		a.Acted("lies to a watcher: "+mode, 1)
	}
	c.number++
	m.Number = c.number
	f := control(wire.KindDelta, m)
	return &f
}

// beat implements tactic: who was told the truth before hears the lie at once, and
// the other way round.
func (a *lyingAnchor) beat() (p plan) {
	for _, at := range slices.SortedFunc(maps.Keys(a.told), func(a, b watch) int {
		return cmp.Or(cmp.Compare(a.peer, b.peer), slices.Compare(a.cid[:], b.cid[:]))
	}) {
		c := a.told[at]
		mode, keys := a.lie(at.cid)
		if mode == c.mode {
			continue
		}
		if f := a.tell(at.cid, c, mode, keys, nil); f != nil {
			p.send(at.peer, *f)
		}
	}
	return p
}

// hint has co-anchors believe that there is nobody.
func (a *lyingAnchor) hint(f frame) []frame {
	var m wire.Hint
	if wire.DecodeControl(f.body, &m) != nil {
		return []frame{f}
	}
	if mode, _ := a.lie(security.ClusterID(m.Cid)); mode != scenario.SayEmpty {
		return []frame{f}
	}
	m.Leases, m.Settled = 0, true
	a.Acted("lies to a co-anchor", 1)
	return []frame{control(f.kind, &m)}
}

// gone implements tactic.
func (a *lyingAnchor) gone(p peer.ID) {
	maps.DeleteFunc(a.told, func(at watch, _ *account) bool { return at.peer == p })
}

// learn notes what the node says, who is honest.
func (c *account) learn(leases []*wire.Lease, removed []*wire.LeaseRef) {
	for _, l := range leases {
		c.truth[nameOf(l)] = l
	}
	for _, r := range removed {
		key := member{string(r.Peer), r.Member}
		if l := c.truth[key]; l != nil {
			c.left[key] = l
			delete(c.truth, key)
		}
	}
}

// wanted is what a watcher is to believe.
func (a *lyingAnchor) wanted(c *account, mode string, keys security.Epoch) map[member]*wire.Lease {
	want := make(map[member]*wire.Lease)
	switch mode {
	case scenario.SayEmpty:
	case scenario.ForgeLeases:
		for _, l := range listed(c.truth) { // in order: each takes from the same randomness
			key := nameOf(l)
			if c.forged[key] == nil {
				c.forged[key] = a.forge(l, keys)
			}
			want[key] = c.forged[key]
		}
	case scenario.RepeatLeases:
		maps.Copy(want, c.left)
		maps.Copy(want, c.truth)
	default:
		maps.Copy(want, c.truth)
	}
	return want
}

// forge makes a newer lease of the same member. Who holds the keys can seal a
// record that opens; what it can't do is to sign with the key of the member's node.
func (a *lyingAnchor) forge(l *wire.Lease, keys security.Epoch) *wire.Lease {
	f := proto.Clone(l).(*wire.Lease)
	f.Incarnation, f.Suspect = largest, false
	plain, err := keys.OpenRecord(l.Record)
	var r wire.Record
	if err == nil && wire.DecodeControl(plain, &r) == nil {
		r.Incarnation = largest
		if plain, err = wire.AppendControl(nil, &r); err == nil {
			f.Record = keys.SealRecord(a.rand, plain)
		}
	}
	f.Signature = a.Seam.Key.SignLease(security.Lease{
		Network: a.Network.ID(), Cluster: keys.ID(), Peer: peer.ID(f.Peer), Member: f.Member, Incarnation: f.Incarnation, Record: f.Record,
	})
	return f
}

func nameOf(l *wire.Lease) member { return member{string(l.Peer), l.Member} }

// listed are leases in order.
func listed(leases map[member]*wire.Lease) []*wire.Lease {
	var out []*wire.Lease
	for _, key := range slices.SortedFunc(maps.Keys(leases), compareMembers) {
		out = append(out, leases[key])
	}
	return out
}
