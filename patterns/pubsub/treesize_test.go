// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// hopsTo is how many hops a tree of n receivers takes: the least whose levels of
// fanOut, fanOut², … have room for all.
func hopsTo(n int) (hops int) {
	for level, room := fanOut, 0; room < n; level *= fanOut {
		room += level
		hops++
	}
	return hops
}

// This test checks what bench/README.md says of large groups, with the product's own
// cutting of receivers into branches, forwarder by forwarder: every receiver is
// reached once, nobody sends more than fanOut copies, and hops grow with the
// logarithm: 4 for 5,000.
func TestTreesOfAnySizeHaveFewHopsAndSmallForwarders(t *testing.T) {
	for _, c := range []struct{ receivers, hops int }{
		{1, 1}, {16, 1}, {17, 2}, {272, 2}, {273, 3}, {1000, 3}, {5000, 4}, {10_000, 4}, {100_000, 5}, {1_000_000, 5},
	} {
		t.Run(fmt.Sprint(c.receivers), func(t *testing.T) {
			require.Equal(t, c.hops, hopsTo(c.receivers))
			rs := make([]*receiver, c.receivers)
			for i := range rs {
				rs[i] = &receiver{}
			}
			reached, deepest, widest := 0, 0, 0
			var send func(to []*receiver, hop int)
			send = func(to []*receiver, hop int) {
				branches := cut(to, fanOut)
				widest = max(widest, len(branches))
				for _, b := range branches {
					b.head.round++
					reached, deepest = reached+1, max(deepest, hop)
					if b.forwards() {
						send(b.stops, hop+1)
					}
				}
			}
			send(rs, 1)
			require.Equal(t, c.receivers, reached)
			for _, r := range rs {
				if r.round != 1 {
					t.Fatal("reached twice, or not at all")
				}
			}
			require.Equal(t, c.hops, deepest)
			require.LessOrEqual(t, widest, fanOut)
		})
	}
}
