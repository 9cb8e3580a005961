// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim"
)

// work is a handler as users write them: it sleeps on a runtime timer, honours
// its context, and sometimes fails.
func work(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
	}
	if len(r.Body)%7 == 0 {
		return patterns.Message{}, errors.New("no")
	}
	return patterns.Message{Body: r.Body}, nil
}

// busy is a story with as many ties above the seam as possible: nodes send six
// requests at the same instant, from plain goroutines, with deadlines that end
// together, to small members that are busy for the same time; to a sealed, an
// open and an empty cluster; small and large.
func busy(t *testing.T, n *sim.Network) {
	const count, rounds = 25, 40
	s := newStory(t, n, count)
	s.config.ClusterKeys = map[string][]security.KeyVersion{"sealed": {{Version: 1, Key: security.Key{1}}}}
	for i := range count {
		n.Go(name(i), func() {
			s.start(i)
			for _, cluster := range []string{"sealed", "open"} {
				if i < 3 || i >= 12 {
					continue
				}
				limits := patterns.Limits{Concurrency: 3, QueueLength: 5}
				if _, err := s.node(i).Serve(context.Background(), cluster, patterns.HandlerFunc(work), limits); err != nil {
					t.Error(err)
				}
			}
		})
	}
	faults := map[int]func(){
		10: func() { n.Crash(name(3)); s.close(3) },
		15: func() { n.Silence(name(5)); s.close(5) },
		20: func() { s.start(3); n.Pause(name(6)) },
		25: func() {
			n.Resume(name(6))
			n.Partition([]string{name(7), name(20)}, []string{name(0), name(9), name(21)})
		},
		35: func() { n.Heal() },
	}
	var requests sync.WaitGroup
	for round := range rounds {
		n.Run(2*time.Second + time.Duration(round)*100*time.Millisecond)
		if f := faults[round]; f != nil {
			f()
		}
		for i := 12; i < count; i++ {
			for k := range 6 {
				requests.Go(func() { s.burst(i, round, k) })
			}
		}
	}
	requests.Wait()
	total := 0
	for _, c := range s.outcomes {
		total += c
	}
	require.Equal(t, rounds*6*(count-12), total)
	for _, o := range []string{
		"open <nil>", "sealed <nil>", "nobody " + patterns.ErrNoMembers.Error(), "open " + patterns.ErrOverloaded.Error(),
	} {
		require.NotZero(t, s.outcomes[o], "the story must reach what it is about: %s", o)
	}
	n.Note("end", fmt.Sprint(s.node(9).Status().Drops))
}

// burst is one of the requests that node i sends in a round.
func (s *story) burst(i, round, k int) {
	cluster := []string{"sealed", "open", "nobody", "sealed", "open", "open"}[k]
	size := 10*k + round
	if k == 4 && round%10 == 0 {
		size = 100_000
	}
	var o []patterns.RequestOption
	if k%2 == 0 {
		o = append(o, patterns.Idempotent())
	}
	if k%3 == 1 {
		o = append(o, patterns.WithPolicy(patterns.Policy(round%5)), patterns.Sticky("key"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := s.node(i).Request(ctx, cluster, patterns.Message{Body: make([]byte, size)}, o...)
	outcome := fmt.Sprint(cluster, " ", err)
	s.mu.Lock()
	s.outcomes[outcome]++
	s.mu.Unlock()
	s.n.Note(name(i), outcome)
}

// This test checks that what user code does at the same instant, on the same
// node, does not leave its order to the scheduler: requests, replies,
// deadlines, refusals.
func TestBusyNodesReplay(t *testing.T) {
	for seed := uint64(18); seed < 18+*seeds/2; seed++ {
		trace := sim.Replay(t, sim.Config{Seed: seed, Latency: sim.Latency{Base: 10 * time.Millisecond}}, 2, busy)
		t.Logf("seed %d: %d events in %v, hash %016x", seed, trace.Events, trace.End, trace.Hash)
	}
}
