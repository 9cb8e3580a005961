// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
)

// FuzzAnchor plays any sequence of registrations, watches, hints, and links that come,
// are in doubt and go to a node that is an anchor, two bytes an event. Whatever they
// do, its books hold leases and watches of peers that have a link, and its counts are
// those of its books.
func FuzzAnchor(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 4, 0, 6, 1, 4, 1, 5, 0, 1, 0, 1, 1})
	f.Add([]byte{0, 0, 4, 0, 4, 8, 4, 16, 2, 0, 3, 0, 8, 255, 5, 8, 7, 0})
	f.Add([]byte{0, 2, 0, 3, 6, 2, 9, 3, 4, 3, 8, 20, 1, 3, 8, 20, 7, 2, 0, 3, 4, 3})
	f.Fuzz(func(t *testing.T, events []byte) {
		g := newRig(t, "me", "A", "B", "C", "D")
		names := []string{"A", "B", "C", "D"}
		up := make(map[peer.ID]bool)
		for i := 0; i+1 < len(events) && i < 120; i += 2 {
			arg := events[i+1]
			p := names[arg%4]
			id := testPeer(p)
			kind := events[i] % 10
			if !up[id] && kind != 0 && kind != 8 {
				continue // nothing comes from whom there is no link to
			}
			switch kind {
			case 0:
				if !up[id] {
					g.up(p)
					up[id] = true
				}
			case 1:
				g.link(PeerDown, p)
				delete(up, id)
			case 2:
				g.link(PeerSuspect, p)
			case 3:
				g.link(PeerRecovered, p)
			case 4:
				g.from(p, g.register("geo", p, MemberID(1+arg/8%4), 1+uint64(arg/64), uint64(i)))
			case 5:
				g.from(p, &unregisterMsg{g.epochOf("geo", p).cid, MemberID(1 + arg/8%4)})
			case 6:
				g.from(p, g.watch("geo", p, uint64(i)))
			case 7:
				g.from(p, &unwatchMsg{g.epochOf("geo", p).cid})
			case 8:
				g.after(time.Duration(arg) * 20 * time.Millisecond)
			case 9:
				g.from(p, &hintMsg{cid: g.epochOf("geo", p).cid, leases: int(arg), wantReply: arg&1 != 0})
			}
			checkBooks(t, g, up)
		}
	})
}

// checkBooks compares what an anchor has counted with its books.
func checkBooks(t *testing.T, g *rig, up map[peer.ID]bool) {
	t.Helper()
	a := g.c.anchor
	leases, watches, bytes := 0, 0, 0
	held, watched := make(map[peer.ID]int), make(map[peer.ID]int)
	for _, b := range a.books {
		for i, l := range b.leases {
			require.True(t, up[l.peer], "a lease of a peer without a link")
			require.True(t, i == 0 || compareLeaseKeys(b.leases[i-1].leaseKey, l.leaseKey) < 0, "leases are in order, each once")
			leases, bytes = leases+1, bytes+len(l.record)
			held[l.peer]++
		}
		for _, w := range b.watchers() {
			if w.peer != a.self {
				require.True(t, up[w.peer], "a watch of a peer without a link")
			}
			watches++
			watched[w.peer]++
		}
	}
	require.Equal(t, leases, a.leases)
	require.Equal(t, watches, a.watches)
	require.Equal(t, bytes, a.bytes)
	for p, guest := range a.guests {
		require.Equal(t, held[p], guest.leases)
		require.Equal(t, watched[p], guest.watches)
		require.NotEmpty(t, guest.books, "a guest that has nothing")
	}
}
