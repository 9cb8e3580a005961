// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/sim"
)

// gossip runs so many overlays. They join through the first one, open links
// to those that their router knows, hold some of them, and answer numbers
// with numbers, small and large; one crashes and comes back, one falls silent,
// one is cut off for a while.
func gossip(count int, d time.Duration) func(*testing.T, *sim.Network) {
	return func(t *testing.T, n *sim.Network) {
		g := &gossiper{t: t, n: n, nodes: make([]*overlay.Overlay, count), answers: make([]atomic.Int64, count)}
		for i := range count {
			g.begin(i)
		}
		n.At(d/4, "crash", func() {
			n.Crash("n3")
			g.nodes[3].Close()
		})
		n.At(d/3, "restart", func() { g.begin(3) })
		n.At(d/3, "silence", func() {
			n.Silence("n4")
			g.nodes[4].Close()
		})
		n.At(d/2, "cut", func() { n.Partition([]string{"n5"}, []string{"n0", "n1", "n2", "n6", "n7", "n8"}) })
		n.At(3*d/4, "heal", n.Heal)
		n.Run(d)
		total := 0
		for i, o := range g.nodes {
			answers := g.answers[i].Load()
			total += int(answers)
			n.Note("answers", fmt.Sprint(i, answers, len(o.Links()), o.Drops()))
		}
		require.Greater(t, total, 10*count)
		for _, o := range g.nodes {
			require.NoError(t, o.Close())
		}
	}
}

type gossiper struct {
	t       *testing.T
	n       *sim.Network
	nodes   []*overlay.Overlay
	answers []atomic.Int64 // by node
}

func (g *gossiper) begin(i int) {
	cfg := overlay.Config{Seam: g.n.Seam(fmt.Sprint("n", i))}
	if i > 0 {
		cfg.Seeds = []string{"n0:4001"}
	}
	o, err := overlay.New(cfg)
	require.NoError(g.t, err)
	o.Handle(wire.KindRequest, func(l *overlay.Link, body []byte) {
		_, _ = l.Send(overlay.LaneRPC, wire.KindReply, body)
	})
	o.Handle(wire.KindReply, func(l *overlay.Link, body []byte) { g.answers[i].Add(1) })
	g.nodes[i] = o
	require.NoError(g.t, o.Start(context.Background()))
	rng := o.Seam().Rand.Stream("test")
	var tick func()
	tick = func() {
		var key overlay.Key
		_, _ = rng.Read(key[:])
		for _, p := range o.Router().Nearest(key, 2) {
			l := o.Link(p)
			if !l.Up() {
				l.Open(nil)
				l.Hold()
				continue
			}
			size := 8 + rng.IntN(200)
			if rng.IntN(100) == 0 {
				size = 100_000
			}
			body := binary.BigEndian.AppendUint64(make([]byte, 0, size), rng.Uint64())
			_, _ = l.Send(overlay.LaneRPC, wire.KindRequest, body[:size])
		}
		o.Seam().Clock.AfterFunc("tick", 50*time.Millisecond, tick)
	}
	o.Seam().Clock.AfterFunc("tick", 50*time.Millisecond, tick)
}

// This test checks that the real overlay replays: 30 nodes, all ticks
// aligned, with faults, twice for each of two seeds.
func TestOverlaysReplay(t *testing.T) {
	for seed := range uint64(2) {
		trace := sim.Replay(t, sim.Config{Seed: seed}, 2, gossip(30, 3*time.Second))
		t.Logf("seed %d: %d events, hash %016x", seed, trace.Events, trace.Hash)
	}
}
