// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"maps"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
)

// FuzzClocks plays any sequence of peers' clocks, ends of sessions, and settings of our
// own clock to the core, two bytes an event. It never doubts this node's clock unless
// more than half of the peers that it knows something of are off, or it was set far and
// more than half have not answered; and never says that it is wrong on the word of one.
func FuzzClocks(f *testing.F) {
	f.Add([]byte{0, 200, 1, 200, 2, 200, 0x41, 0})
	f.Add([]byte{0, 128, 1, 128, 2, 255, 3, 0, 0x80, 9, 0, 128})
	f.Fuzz(func(t *testing.T, events []byte) {
		const tolerance = 15 * time.Minute
		c := newClocks(tolerance)
		now := instant{link: time.Second, wall: 1e6 * time.Second}
		ahead := make(map[peer.ID]time.Duration) // what counts, against our clock when it was set last
		said := make(map[peer.ID]time.Duration)  // what was said, whether it counts or not
		for i := 0; i+1 < len(events); i += 2 {
			p := peer.ID([]byte{'p', events[i] & 7})
			e := clockEvent{peer: p}
			by := time.Duration(int8(events[i+1])) * time.Minute
			switch events[i] >> 6 {
			case 0:
				e.wall, ahead[p], said[p] = now.wall+by, by, by
			case 1:
				e.gone = true
				delete(ahead, p)
				delete(said, p)
			case 2:
				e.peer, now.wall = "", now.wall+by
				if by == 0 {
					break
				}
				for p := range said {
					said[p] -= by
				}
				if clear(ahead); (now.wall - now.link - c.agreed).Abs() < tolerance {
					maps.Copy(ahead, said)
				}
			default:
				e.peer = ""
				d := time.Duration(events[i+1]) * time.Second
				now.link, now.wall = now.link+d, now.wall+d
			}
			asked := false
			for _, n := range c.step(now, e) {
				asked = asked || n.ask
			}
			require.True(t, asked || events[i]>>6 != 2 || by == 0 || i == 0, "the clock was set, and nobody is asked")
			off := 0
			for _, d := range ahead {
				if d.Abs() >= tolerance {
					off++
				}
			}
			require.Equal(t, off, c.graded[clockOff])
			require.Equal(t, len(ahead), len(c.peers)-c.graded[clockUnknown])
			s := c.status
			if awaited := len(c.peers) - len(ahead); awaited > len(ahead) {
				require.Equal(t, ClockSet, s.State)
				continue
			}
			require.Equal(t, 2*off > len(ahead), s.Err() != nil, "%d of %d are off: %v", off, len(ahead), s)
			require.False(t, s.State == ClockWrong && s.Differ < 2)
		}
	})
}
