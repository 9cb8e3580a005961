// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// mergeAll merges everything that all anchors say anew: the second opinion on censuses, which
// only look at what changed.
func mergeAll(k *watcher, epochViews []*epochView) []*merged {
	newest := make(map[peer.ID]uint64)
	best := make(map[leaseKey]*verified)
	add := func(d *verified) {
		newest[d.peer] = max(newest[d.peer], d.incarnation)
		if b := best[d.leaseKey]; b == nil || b.before(d) {
			best[d.leaseKey] = d
		}
	}
	for _, s := range epochViews {
		for _, c := range s.anchorViews {
			for _, l := range c.set {
				add(l.verified)
			}
		}
		for _, m := range s.movers {
			add(m.verified)
		}
	}
	var all []*merged
	lent := make(map[peer.ID][]*merged)
	for _, d := range best {
		f, lives := &merged{verified: d}, false
		for _, s := range epochViews {
			alive, suspect, surely := s.vote(d)
			lives, f.suspect, f.surely = lives || alive, f.suspect || suspect, f.surely || surely
		}
		switch {
		case !lives || d.incarnation != newest[d.peer]:
		case d.own != nil:
			lent[d.peer] = append(lent[d.peer], f)
		default:
			all = append(all, f)
		}
	}
	all = append(all, joinWays(k, lent)...)
	slices.SortFunc(all, func(a, b *merged) int { return compareLeaseKeys(a.leaseKey, b.leaseKey) })
	return all
}

// requireMerged checks that what a caller's node has put together from changes is what it
// would make of everything that anchors say.
func requireMerged(t *testing.T, k *watcher) {
	for _, w := range k.names {
		if w.touched || w.census.all || len(w.census.doubted) > 0 {
			continue // with the next turn
		}
		var want, got []string
		for _, f := range mergeAll(k, w.epochViews) {
			hop := f.peer
			if via, _ := f.via(); via != nil {
				hop = via.Peer
			}
			want = append(want, fmt.Sprint(f.leaseKey, f.incarnation, true, f.surely || f.suspect && !k.vouches(hop), k.peers.lost(hop)))
		}
		for _, m := range w.view.Members {
			var known *verified
			for _, s := range w.epochViews {
				for _, c := range s.anchorViews {
					if l, ok := c.set[keyOf(m)]; ok && (known == nil || known.before(l.verified)) {
						known = l.verified
					}
				}
			}
			flags := m.load.flags.Load()
			got = append(got, fmt.Sprint(keyOf(m), m.Incarnation, known == nil || m.describes(known), flags&flagSuspect != 0, flags&flagLinkDown != 0))
		}
		require.Equal(t, want, got)
	}
}

// This test checks that changes are made in the order of members, whatever they are, and that
// what was published before stays as it was.
func TestRevisedMembersAreThoseAfterTheChanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		var members, want []*Member
		var changes []change
		for id := range MemberID(rng.IntN(20)) {
			old, now := &Member{ID: id}, &Member{ID: id}
			what := rng.IntN(4)
			if what < 3 {
				members = append(members, old)
			}
			switch what {
			case 0:
				want = append(want, old)
			case 1:
				changes = append(changes, change{old: old})
			case 2:
				changes, want = append(changes, change{old, now}), append(want, now)
			case 3:
				changes, want = append(changes, change{now: now}), append(want, now)
			}
		}
		before := slices.Clone(members)
		require.True(t, slices.Equal(want, revised(members, changes)))
		require.True(t, slices.Equal(before, members))
	}
}

// busyCaller is a caller that knows n members of "geo", each on a node of its own, from all
// three anchors, and has links to those that it works with.
type busyCaller struct {
	*rig
	leases []lease
	linked []peer.ID // the nodes of those that it works with
	cid    security.ClusterID
	seqs   map[string]uint64 // of the watches at A, B and C
	number uint64            // of the last delta
}

func newBusyCaller(t *testing.T, n int) *busyCaller {
	a := &busyCaller{rig: newCaller(t), seqs: make(map[string]uint64)}
	a.cid = a.epochOf("geo", "me").cid
	a.c.verify = func(security.Lease, []byte) error { return nil } // once each: not what is measured
	for i := 0; len(a.leases) < n; i++ {
		name := fmt.Sprint("node", i)
		a.names[testPeer(name)] = name
		if a.nearest("geo", "A", "B", "C", name)[3] == name { // else it would be an anchor
			a.leases = append(a.leases, a.lease("geo", name, MemberID(mix(uint64(i))), 1))
		}
	}
	a.allTell(a.leases...)
	a.linked = slices.Sorted(maps.Keys(a.c.watcher.names["geo"].dialled))
	for _, p := range a.linked {
		a.up(a.names[p])
	}
	for _, p := range []string{"A", "B", "C"} {
		a.seqs[p] = a.seq(p)
	}
	return a
}

// change is what each anchor tells: a member left, or came.
func (a *busyCaller) change(up []lease, down []leaseRef) {
	a.number++
	for _, p := range []string{"A", "B", "C"} {
		a.c.step(a.now, frameEvent{from: testPeer(p), msg: &deltaMsg{
			cid: a.cid, seq: a.seqs[p], number: a.number, settled: true, upserted: up, removed: down,
		}})
		a.c.finish(a.now)
	}
}

// leaves has the member i leave and come back.
func (a *busyCaller) leaves(i int) {
	l := a.leases[i%len(a.leases)]
	a.change(nil, []leaseRef{{l.leaseKey, l.incarnation}})
	a.change([]lease{l}, nil)
}

// falters has the link to one node miss heartbeats for a moment.
func (a *busyCaller) falters(i int) {
	p := a.linked[i%len(a.linked)]
	for _, kind := range []PeerEventType{PeerSuspect, PeerRecovered} {
		a.c.step(a.now, linkEvent{PeerEvent{Type: kind, Peer: p}})
		a.c.finish(a.now)
	}
}

// BenchmarkChange measures what it costs a caller of 10, 100 and 1,000 members that one of
// them leaves and comes back, as three anchors tell one after the other, and that the link
// to one falters.
func BenchmarkChange(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		a := newBusyCaller(&testing.T{}, n)
		for name, change := range map[string]func(int){"member": a.leaves, "link": a.falters} {
			b.Run(fmt.Sprint(name, "-", n), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					change(i)
				}
			})
		}
	}
}

// This test checks that a change has those looked at whom it concerns, and nobody else.
func TestAChangeCostsWhatChanged(t *testing.T) {
	c := newBusyCaller(t, 200)
	w := c.c.watcher.names["geo"]
	before := w.view
	l := c.leases[7]
	c.delta("A", 1, nil, leaseRef{l.leaseKey, l.incarnation})
	require.Same(t, before, w.view, "one anchor lost it: it is suspect, which its member shows")
	delta := &deltaMsg{cid: c.cid, seq: c.seqs["B"], number: 1, removed: []leaseRef{{l.leaseKey, l.incarnation}}}
	c.c.step(c.now, frameEvent{from: testPeer("B"), msg: delta})
	require.Equal(t, map[peer.ID]bool{l.peer: true}, w.census.doubted)
	require.False(t, w.census.all)
	c.do()
	require.Len(t, w.view.Members, 199)
	for _, kind := range []PeerEventType{PeerDown, PeerUp, PeerSuspect, PeerRecovered} {
		c.c.step(c.now, linkEvent{PeerEvent{Type: kind, Peer: c.linked[9], Session: 99}})
		require.Equal(t, map[peer.ID]bool{c.linked[9]: true}, w.census.doubted)
		require.False(t, w.census.all)
		c.do()
	}
}
