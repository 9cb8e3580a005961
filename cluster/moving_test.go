// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
)

func TestAMoverIsWaitedForAsLongAsFollowingItTakes(t *testing.T) {
	// Whom nobody lists is waited for as long as members stay at old anchors: 3 s, or eight
	// of the longest round trips. While one of them is not known it may be long. Who is
	// known of is not waited for.
	const ms = time.Millisecond
	start := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		trip     time.Duration
		measured time.Duration // since when
		known    time.Duration // what became of it; 0 = never
		stays    time.Duration
	}{
		"nobody is far away":        {stays: 3000 * ms},
		"300 ms":                    {trip: 300 * ms, stays: 3000 * ms},
		"800 ms":                    {trip: 800 * ms, stays: 6400 * ms},
		"800 ms, measured late":     {trip: 800 * ms, measured: 2000 * ms, stays: 6400 * ms},
		"1 ms, measured late":       {trip: ms, measured: 2900 * ms, stays: 3000 * ms},
		"never measured":            {measured: time.Hour, stays: 12000 * ms},
		"a majority tells":          {trip: 800 * ms, known: 1700 * ms, stays: 1700 * ms},
		"its link ends at that":     {trip: 800 * ms, known: 1, stays: 1},
		"a majority tells too late": {known: 4000 * ms, stays: 3000 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			now := start
			s := settlingSince(start.Add(c.measured), &now, c.trip)
			d := &verified{record: record{leaseKey: leaseKey{testPeer("E"), 1}, incarnation: 2}}
			former := &verified{record: record{leaseKey: d.leaseKey, incarnation: 1}}
			var all movers
			_, next := all.settle(now, s, nil)
			require.Zero(t, next, "nobody moves")
			all.add(now, d)
			for {
				over, next := all.settle(now, s, func(of *verified) bool {
					require.Same(t, d, of)
					return c.known > 0 && !now.Before(start.Add(c.known))
				})
				if !all.has(d) {
					require.Zero(t, next)
					require.Equal(t, []peer.ID{d.peer}, over)
					break
				}
				require.Empty(t, over)
				require.False(t, all.has(former), "of an earlier life nothing is waited for")
				require.True(t, next.After(now))
				if at := start.Add(c.known); c.known > 0 && now.Before(at) && at.Before(next) {
					next = at // something happens
				}
				now = next
			}
			require.Equal(t, c.stays, now.Sub(start))
		})
	}
}
