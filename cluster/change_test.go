// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"testing"

	"github.com/arke-mesh/arke/security"
)

// busyCaller is a caller that knows n members of "geo", each on a node of its own, from all
// three anchors, and has links to those that it works with.
type busyCaller struct {
	*rig
	leases []lease
	cid    security.ClusterID
	seqs   map[string]uint64 // of the watches at A, B and C
	number uint64            // of the last delta
}

func newBusyCaller(t *testing.T, n int) *busyCaller {
	a := &busyCaller{rig: newCaller(t), seqs: make(map[string]uint64)}
	a.cid = a.epochOf("geo", "me").cid
	a.c.verify = func(security.Lease, []byte) error { return nil } // once each: not what is measured
	for i := range n {
		l := a.lease("geo", fmt.Sprint("node", i), MemberID(mix(uint64(i))), 1)
		a.leases = append(a.leases, l)
		a.names[l.peer] = fmt.Sprint("node", i)
	}
	a.allTell(a.leases...)
	for p := range a.c.watcher.names["geo"].dialled {
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

// falters has the link to the node of member i miss heartbeats for a moment.
func (a *busyCaller) falters(i int) {
	p := a.leases[i%len(a.leases)].peer
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
