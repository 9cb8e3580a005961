// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"container/list"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzDoor plays any sequence of arrivals, greetings, rests and ends to the door, two
// bytes an event: what happens, and to whom. However they come, the door keeps its
// bounds, counts nobody twice, acts on nobody who is gone, and lets no greeting in that
// was seen before.
func FuzzDoor(f *testing.F) {
	f.Add([]byte{0, 1, 1, 1, 2, 1, 3, 1, 4, 1})
	f.Add([]byte{0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 1, 1, 1, 2, 1, 3, 1, 4, 6, 20, 5, 0})
	f.Add([]byte{0, 1, 1, 1, 4, 1, 0, 1, 1, 1})
	f.Fuzz(func(t *testing.T, events []byte) {
		const maxSilent, maxHandshakes, maxWork = 4, 3, 2
		d := newDoor(maxSilent, maxHandshakes, maxWork, rand.New(rand.NewPCG(1, 2)).IntN)
		now := time.Unix(1000, 0)
		worked := make(map[uint64]bool) // marks that have led to a handshake
		mark := make(map[uint64]uint64) // of the present visitors that have greeted
		for i := 0; i+1 < len(events) && i < 400; i += 2 {
			id := uint64(events[i+1])
			e := doorEvent{kind: doorEventKind(events[i] % 7), id: id}
			before := d.visitors[id]
			switch e.kind {
			case doorArrived:
				if before != nil {
					continue // ids are never used twice at a time
				}
				delete(mark, id)
				e.source = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(id % 3)}), sourceBits4)
			case doorGreeted:
				e.mark = id % 16
				if before != nil && before.state == visitorSilent {
					mark[id] = e.mark
				}
			case doorTick + 1:
				now = now.Add(time.Duration(id) * 100 * time.Millisecond)
				e.kind = doorTick
			}
			for _, a := range d.step(now, e) {
				if a.away {
					require.NotContains(t, d.visitors, a.id, "who was sent away is forgotten")
					continue
				}
				v := d.visitors[a.id]
				require.NotNil(t, v, "nobody works who is gone")
				require.Contains(t, mark, a.id, "nobody works who has not greeted")
				if m := mark[a.id]; v.since.Equal(now) && e.kind == doorGreeted && a.id == id {
					require.False(t, worked[m], "a greeting that was played back is let in")
				}
				worked[mark[a.id]] = true
			}
			checkDoor(t, d, maxSilent, maxHandshakes, maxWork)
		}
	})
}

// checkDoor compares what the door has counted with its visitors.
func checkDoor(t *testing.T, d *door, maxSilent, maxHandshakes, maxWork int) {
	t.Helper()
	var in [visitorAgain + 1]int
	begun := 0
	for _, v := range d.visitors {
		in[v.state]++
		if v.begun != nil {
			begun++
		}
	}
	require.Equal(t, in[visitorSilent], d.silent.Len())
	require.Equal(t, in[visitorReady], d.ready.Len())
	inLine := 0
	for turn := d.line.turns.Front(); turn != nil; turn = turn.Next() {
		inLine += turn.Value.(*list.List).Len()
	}
	require.Equal(t, in[visitorReady], inLine)
	require.Len(t, d.line.sources, d.line.turns.Len())
	require.Equal(t, in[visitorResting], d.resting.Len())
	require.Equal(t, in[visitorAgain], d.again.Len())
	require.Equal(t, in[visitorWorking], d.working)
	require.Equal(t, begun, d.begun.Len())
	require.LessOrEqual(t, d.silent.Len(), maxSilent)
	require.LessOrEqual(t, d.ready.Len(), maxSilent)
	require.LessOrEqual(t, begun, maxHandshakes)
	require.LessOrEqual(t, d.working, maxWork)
	if d.working < maxWork {
		require.Zero(t, d.again.Len(), "a turn is free, and somebody waits for one")
	}
}
