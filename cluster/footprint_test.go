// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// heldBy is how many bytes of the heap what make returns holds, for each of n.
func heldBy(n int, make func()) int {
	inUse := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what the first one finalized
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := inUse()
	make()
	return (inUse() - before) / n
}

// This test checks what a member costs its own node while all is at rest: one that is alone in
// its cluster and held by three anchors.
func TestAMemberAtRestIsSmall(t *testing.T) {
	const members = 1000
	g := newRig(t, "me", "A", "B", "C", "D")
	g.up("A", "B", "C", "D")
	g.after(settleTime)
	bytes := heldBy(members, func() {
		for i := range members {
			name := fmt.Sprintf("cluster-%d", i)
			g.do(registerEvent{name, Registration{Member: MemberID(i + 1)}})
			member := g.c.registrar.members.of(name)[0]
			for _, e := range member.registrations { // more than one about the turn of the epoch
				for _, a := range e.leases {
					g.sends(a.peer, &registeredMsg{cid: e.cid, member: MemberID(i + 1), seq: a.seq, anchors: e.anchorSet.anchors})
				}
			}
			require.True(t, member.acknowledged)
		}
		g.after(2 * settleTime)
		clear(g.msgs)
	})
	t.Logf("%d bytes", bytes)
	require.LessOrEqual(t, bytes, 2300)
	runtime.KeepAlive(g)
}

// This test checks what the lease of a member elsewhere costs its anchor while all is at rest, where it
// is the only one of its cluster. Of that 224 bytes are its sealed record and signature.
func TestALeaseAtRestIsSmall(t *testing.T) {
	const leases = 2000
	g := newSharesRig(t)
	A := testPeer("A")
	bytes := heldBy(leases, func() {
		for i := range leases {
			g.sends(A, &registerMsg{
				cid: numbered(i), member: MemberID(i + 1), incarnation: 1, seq: uint64(i),
				record: make([]byte, 160), signature: make([]byte, 64),
			})
			require.Equal(t, wire.Refusal_NONE, g.msgs["A"][0].(*registeredMsg).refusal)
		}
		g.after(2 * settleTime)
		clear(g.msgs)
	})
	t.Logf("%d bytes", bytes)
	require.LessOrEqual(t, bytes, 530)
	runtime.KeepAlive(g)
}
