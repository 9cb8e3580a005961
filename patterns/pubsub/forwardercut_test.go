// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/link"
)

// forwarders returns some of those that pass on to others.
func (h *hall) forwarders(some int) (names []string) {
	for i := 1; i < len(h.nodes) && len(names) < some; i++ {
		if h.nodes[i].Status().Topics.Paths > 0 {
			names = append(names, fmt.Sprint("n", i))
		}
	}
	require.Len(h.t, names, some)
	return names
}

// pause is what is between two messages here, and mostBehind how many of them one
// behind a lost forwarder may miss: 1.6 s of them. A silent node is suspect after
// 1.2 s; then there is another way.
const (
	pause      = 100 * time.Millisecond
	mostBehind = 16
)

func TestALongCutFromAForwarderCostsThoseBehindItLittle(t *testing.T) {
	// This test cuts the publisher off from some of its forwarders, for longer than
	// a session lasts: those behind them miss, and are told of, what was sent before
	// the publisher knew, and what comes then comes on another way. Links break, or
	// say nothing for as long as it takes to suspect them. Everything adds up.
	for name, broken := range map[string]bool{"broken": true, "silent": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := func(string, string) link.Model { return link.Model{Latency: 10 * time.Millisecond} }
			sim.Run(t, sim.Config{Seed: 3, Link: model}, func(t *testing.T, n *sim.Network) {
				const audience = 40
				h := newAudience(t, n, audience, "news.>")
				h.publish("news.world", 0, 1, 100, time.Second)
				sent := 1
				cut := h.forwarders(4)
				if broken {
					for _, to := range cut {
						n.Corrupt("n0", to)
					}
				}
				h.publish("news.world", sent, 3, 2000, 5*time.Millisecond) // on its way
				n.Partition([]string{"n0"}, cut)
				h.publish("news.world", sent+3, 200, 2000, pause)
				sent += 203
				n.Heal()
				time.Sleep(15 * time.Second)
				delivered, reported, slowest := h.check(uint64(sent))
				t.Logf("delivered %d, reported %d, slowest %v", delivered, reported, slowest)
				behind := 0
				for i, r := range h.ears[1:] {
					if missed := r.missed(); !slices.Contains(cut, fmt.Sprint("n", i+1)) {
						require.LessOrEqual(t, missed, uint64(mostBehind), "node %d", i+1)
						behind += int(min(missed, 1))
					}
				}
				t.Logf("%d nodes behind the forwarders miss something", behind)
			})
		})
	}
}

func TestALongCutBetweenForwardersCostsThoseBehindThemLittle(t *testing.T) {
	// This test cuts the forwarders of the first level off from two of the second,
	// in a tree of three: those behind the two miss, and are told of, what was on
	// its way, and get what comes then on another way. It is for -subscribers 300.
	if *subscribers < 300 {
		t.Skip("three levels need 300 nodes")
	}
	near := func(string, string) link.Model { return link.Model{Latency: 2 * time.Millisecond} }
	sim.Run(t, sim.Config{Seed: 4, Link: near}, func(t *testing.T, n *sim.Network) {
		const audience, count = 300, 50
		h := newAudience(t, n, audience, "news.>")
		h.publish("news.world", 0, 1, 100, time.Second)
		var first, second []string
		for i := 1; i <= audience; i++ {
			switch s := h.nodes[i].Status().Topics; {
			case s.Forwarded > 0 && s.Copies >= 16:
				first = append(first, fmt.Sprint("n", i))
			case s.Forwarded > 0:
				second = append(second, fmt.Sprint("n", i))
			}
		}
		require.NotEmpty(t, second)
		for _, to := range second[:2] {
			for _, from := range first {
				n.Corrupt(from, to)
			}
		}
		h.publish("news.world", 1, 1, 1000, 7*time.Millisecond)
		n.Partition(first, second[:2])
		h.publish("news.world", 2, count, 1000, pause)
		n.Heal()
		time.Sleep(15 * time.Second)
		for i, r := range h.ears {
			if !slices.Contains(second[:2], fmt.Sprint("n", i)) {
				require.LessOrEqual(t, r.missed(), uint64(mostBehind), "node %d", i)
			}
		}
		delivered, reported, slowest := h.check(count + 2)
		t.Logf("%d and %d forwarders, delivered %d, reported %d, slowest %v", len(first), len(second), delivered, reported, slowest)
	})
}
