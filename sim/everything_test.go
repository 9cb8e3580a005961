// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/link"
)

// mixed gives each pair of nodes one of some links, good and bad.
func mixed(from, to string) link.Model {
	m := link.Model{Latency: time.Duration(1+len(from)+len(to)) * time.Millisecond}
	switch (from[len(from)-1] + to[len(to)-1]) % 4 {
	case 0:
		m.Loss = 20_000
	case 1:
		m.Mbps, m.Queue = 2, 20_000
	case 2:
		m.Jitter = 3 * time.Millisecond
	}
	return m
}

// plagues is one of each fault, by when it begins in steps of 250 ms. Fault i
// hits the nodes around i.
func plagues(n *sim.Network, who func(int) string) []func() {
	one := func(i int) []string { return []string{who(i)} }
	some := func(i int) []string { return []string{who(i), who(i + 3), who(i + 7)} }
	var most []string
	for i := 5; i < 14; i++ {
		most = append(most, who(i))
	}
	return []func(){
		func() { n.Skew(who(1), time.Hour, 50_000) },
		func() { n.CutOneWay(one(2), some(4)) },
		func() { n.Clog(some(5), one(1), true) },
		func() { n.RouterFault(who(6), sim.RouterSlow) },
		func() { n.RouterFault(who(7), sim.RouterStale) },
		func() { n.RouterFault(who(8), sim.RouterWrong) },
		func() { n.Corrupt(who(0), who(9)); n.Corrupt(who(3), who(2)) },
		func() {
			n.SetLink(who(1), who(4), link.Model{Latency: time.Millisecond, Loss: 300_000, Mbps: 1, Queue: 3000})
		},
		func() { n.Mend(one(2), some(4)) },
		func() { n.Clog(some(5), one(1), false) },
		func() { n.Pause(who(10)); n.Skew(who(10), -time.Hour, -20_000) },
		func() { n.Partition(most, one(0)) },
		func() { n.SetLink(who(3), who(4), link.Model{Loss: link.AllLost}) },
		func() { n.Partition(most, most) },
		func() { n.Silence(who(12)) },
		func() { n.Crash(who(11)) },
		func() { n.Mend(most, one(0)) },
		n.Calm,
	}
}

// This test checks the promise for every fault and for links of every kind,
// with actors whose timers are all aligned.
func TestEveryFaultReplays(t *testing.T) {
	cfg := sim.Config{Seed: 3, Link: mixed, DeadAfter: time.Second}
	story := func(t *testing.T, n *sim.Network) {
		for i, f := range plagues(n, func(i int) string { return fmt.Sprint("c", i) }) {
			n.At(time.Duration(i+1)*250*time.Millisecond, "plague", f)
		}
		crowd(30, 6*time.Second)(t, n)
	}
	trace := sim.Replay(t, cfg, 2, story)
	t.Logf("%d events, hash %016x", trace.Events, trace.Hash)
	text := lines(t, trace)
	for _, fault := range []string{
		"skew c1", "cut c2 to", "mend c2 to", "clog c5", "unclog c5", "corrupt c0 to c9", "router c8 wrong", "link c1 c4", "calm",
		"corrupt  ", "retry ", "expire ",
	} {
		require.True(t, strings.Contains(text, fault), "the story must reach what it is about: %s", fault)
	}
	cfg.Seed = 4
	require.NotEqual(t, trace.Hash, sim.Run(t, cfg, story).Hash)
}

// everything is the story of thirty whole nodes under every fault: each request
// has one outcome, and when it is calm again, requests succeed.
func everything(t *testing.T, n *sim.Network) {
	const count, members, requests = 30, 10, 100
	s := newStory(t, n, count)
	s.startAll(members)
	n.Run(2 * time.Second)
	var calls sync.WaitGroup
	for i := 20; i < count; i++ {
		calls.Add(1)
		n.Go("calls of "+name(i), func() {
			defer calls.Done()
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_, err := s.node(i).Request(ctx, service, patterns.Message{Body: make([]byte, 300_000)}, patterns.Idempotent())
			n.Note(name(i), fmt.Sprint("bulk ", err))
			s.call(i, requests)
		})
	}
	for i, f := range plagues(n, name) {
		n.Run(2*time.Second + time.Duration(i+1)*250*time.Millisecond)
		f()
		if i == 14 || i == 15 {
			s.close(26 - i) // 12 was silenced, 11 crashed
		}
	}
	calls.Wait()
	total := 0
	for _, c := range s.outcomes {
		total += c
	}
	require.Equal(t, requests*(count-20), total)
	require.NotZero(t, s.retried, "the story must reach what it is about")
	time.Sleep(10 * time.Second)
	for i := 20; i < count; i++ {
		_, err := s.node(i).Request(context.Background(), service, patterns.Message{Body: []byte("calm")}, patterns.Idempotent())
		require.NoError(t, err)
	}
}

// This test checks the promise for whole nodes under every fault.
func TestWholeNodesReplayUnderEveryFault(t *testing.T) {
	for seed := range *seeds - 1 {
		trace := sim.Replay(t, sim.Config{Seed: seed, Link: mixed}, 2, everything)
		t.Logf("seed %d: %d events in %v, hash %016x", seed, trace.Events, trace.End, trace.Hash)
		require.True(t, strings.Contains(lines(t, trace), "pump "), "the story must reach what it is about")
	}
}
