// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/link"
)

// breakLinks breaks the links between pairs of nodes, one after the other, each
// with the next frame on it.
func breakLinks(n *sim.Network, until, every time.Duration, pair func() (from, to int)) {
	for at := n.Elapsed(); at < until; at += every {
		n.At(at, "break", func() {
			from, to := pair()
			n.Corrupt(fmt.Sprint("n", from), fmt.Sprint("n", to))
		})
	}
}

func TestNothingIsLostWhenLinksBreak(t *testing.T) {
	// This test breaks links all the time while messages are published, small
	// ones and some of several frames: everybody gets all of them, in order and
	// once, directly, through a tree, and as a node of the root group.
	for name, c := range map[string]struct {
		audience int
		pattern  string
		every    time.Duration
	}{
		"direct":         {audience: 3, pattern: "news.>", every: 100 * time.Millisecond},
		"through a tree": {audience: 28, pattern: "news.>", every: 50 * time.Millisecond},
		"root group":     {audience: 20, pattern: ">", every: 50 * time.Millisecond},
	} {
		for seed := range *chaosSeeds {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				t.Parallel()
				model := func(string, string) link.Model {
					return link.Model{Latency: 5 * time.Millisecond, Jitter: 3 * time.Millisecond}
				}
				sim.Run(t, sim.Config{Seed: uint64(seed), Link: model}, func(t *testing.T, n *sim.Network) {
					const count = 400
					h := newAudience(t, n, c.audience, c.pattern)
					h.publish("news.world", 0, 1, 100, time.Second)
					r := rand.New(rand.NewPCG(uint64(seed), uint64(c.audience)))
					breakLinks(n, n.Elapsed()+5*time.Second, c.every, func() (from, to int) {
						from, to = r.IntN(c.audience+1), 1+r.IntN(c.audience)
						for i := 1; i <= c.audience && r.IntN(2) == 0; i++ {
							if h.nodes[i].Status().Topics.Forwarded > 0 && r.IntN(3) == 0 {
								to = i // more often where more goes through
							}
						}
						switch r.IntN(3) {
						case 0:
							from = 0
						case 1:
							return to, from
						}
						return from, to
					})
					for i := 1; i < count; i += 20 {
						h.publish("news.world", i, 19, 1000, 10*time.Millisecond)
						h.publish("news.world", i+19, 1, 200_000, 10*time.Millisecond)
					}
					n.Calm()
					time.Sleep(2 * time.Second)
					delivered, reported, slowest := h.check(count + 1)
					for i, node := range h.nodes {
						if reported > 0 {
							t.Log(i, node.Status().Drops)
						}
					}
					t.Logf("delivered %d, reported %d, slowest %v, %+v", delivered, reported, slowest, h.nodes[0].Status().Topics)
					require.Zero(t, reported)
				})
			})
		}
	}
}
