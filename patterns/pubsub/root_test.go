// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
)

func TestPatternsThatBeginWithAWildcardCostAPublisherOneCopy(t *testing.T) {
	// This test has 40 nodes with root patterns: a publisher sends one copy of
	// each message, watches the few forwarders only, and everybody gets all.
	sim.Run(t, sim.Config{Seed: 3}, func(t *testing.T, n *sim.Network) {
		const audience, count = 40, 50
		h := newAudience(t, n, audience, "*.world")
		h.publish("news.world", 0, 1, 100, time.Second)
		before := h.nodes[0].Status().Topics.Copies
		h.publish("news.world", 1, count, 100, 10*time.Millisecond)
		time.Sleep(time.Second)
		delivered, _, _ := h.check(count + 1)
		require.EqualValues(t, audience*(count+1), delivered)
		require.EqualValues(t, count, h.nodes[0].Status().Topics.Copies-before)
		for _, w := range h.nodes[0].Status().Watches {
			require.LessOrEqual(t, w.Members, 3, w.Cluster)
		}
	})
}

func TestNoTopicMakesANodeAForwarder(t *testing.T) {
	// This test has nodes listen and publish to topics whose first word looks
	// like a name of the root group: that is a group like any other, and who
	// listens to it is not taken for a forwarder.
	sim.Run(t, sim.Config{Seed: 5}, func(t *testing.T, n *sim.Network) {
		const audience, count = 8, 20
		h := newHall(t, n, audience)
		h.listen(1, audience-2, "forward.>")
		h.listen(audience-1, audience, ">")
		time.Sleep(3 * time.Second)
		h.publish("news.world", 0, count, 100, 10*time.Millisecond)
		h.publish("forward.world", count, count, 100, 10*time.Millisecond)
		time.Sleep(2 * time.Second)
		for i, r := range h.ears[1:] {
			want := uint64(count)
			if i >= audience-2 {
				want = 2 * count
			}
			r.mu.Lock()
			require.Equal(t, []uint64{want, 0}, []uint64{r.delivered, r.reported}, "node %d", i+1)
			r.mu.Unlock()
		}
	})
}

func TestTheLossOfARootForwarderIsReportedAsAnUpperBound(t *testing.T) {
	// This test crashes the forwarders of the root group one after the other
	// while messages come: who lives gets each message at most once and in
	// order, and what is missing is within what is reported. Twice, with the
	// same trace.
	t.Parallel()
	sim.Replay(t, sim.Config{Seed: 4}, 2, func(t *testing.T, n *sim.Network) {
		const audience, count = 20, 300
		h := newAudience(t, n, audience, ">")
		h.publish("news.world", 0, 1, 100, time.Second)
		crashed := 0
		for at := time.Second; at <= 2*time.Second; at += time.Second {
			n.At(n.Elapsed()+at, "crash", func() {
				for i := 1; i <= audience; i++ {
					if s := h.nodes[i].Status().Topics; s.Forwarded > 0 && !h.ears[i].isDead() {
						crashed++
						h.crash(i)
						return
					}
				}
			})
		}
		h.publish("news.world", 1, count, 100, 10*time.Millisecond)
		time.Sleep(5 * time.Second)
		require.Equal(t, 2, crashed)
		missing, reported := 0, 0
		for i, r := range h.ears[1:] {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.dead {
				continue
			}
			require.Empty(t, r.wrong, "node %d", i+1)
			require.LessOrEqual(t, r.delivered, uint64(count+1))
			require.GreaterOrEqual(t, r.delivered+r.reported, uint64(count+1), "node %d", i+1)
			missing += count + 1 - int(r.delivered)
			reported += int(r.reported)
		}
		t.Logf("missing %d, reported at most %d, of %d", missing, reported, audience*(count+1))
		n.Note("outcome", fmt.Sprint(missing, reported))
	})
}

func TestSubscriptionsComeAndGo(t *testing.T) {
	// This test has nodes subscribe and unsubscribe all the time, with patterns
	// of their own and of queues, while others stay: who stays gets everything,
	// who comes gets everything from when Subscribe returned until Close was
	// called, and nothing is reported missing. Twice, with the same trace.
	t.Parallel()
	sim.Replay(t, sim.Config{Seed: 8}, 2, func(t *testing.T, n *sim.Network) {
		const audience, count = 20, 300
		h := newAudience(t, n, audience, "news.x.*.y")
		var last atomic.Int64 // published
		last.Store(-1)
		var guests atomic.Int64
		wait := h.each("guest", 1, audience, func(i int) {
			r := rand.New(rand.NewPCG(uint64(i), 3))
			for range 8 {
				time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
				guest := &guest{}
				s, err := h.nodes[i].Subscribe(context.Background(), fmt.Sprintf("news.*.%d.>", r.IntN(3)), guest, patterns.SubscribeOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(50 * time.Millisecond) // "a moment later"
				from := last.Load() + 1
				time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
				to := last.Load()
				time.Sleep(100 * time.Millisecond)
				if err := s.Close(context.Background()); err != nil {
					t.Error(err)
				}
				guests.Add(1)
				guest.check(t, s.Pattern(), int(from), int(to))
			}
		})
		for i := range count {
			require.NoError(t, h.nodes[0].Publish(context.Background(), fmt.Sprintf("news.x.%d.y", i%3), h.numbered(i, 16)))
			last.Store(int64(i))
			time.Sleep(10 * time.Millisecond)
		}
		wait()
		time.Sleep(2 * time.Second)
		delivered, reported, _ := h.check(count)
		require.Zero(t, reported)
		require.EqualValues(t, audience*count, delivered)
		t.Logf("%d guests, %d trees", guests.Load(), h.nodes[0].Status().Topics.Trees)
	})
}

// guest keeps the numbers that it gets.
type guest struct {
	mu  sync.Mutex
	got []int
	gap uint64
}

func (g *guest) ServePublication(p patterns.Publication) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.got = append(g.got, int(binary.BigEndian.Uint64(p.Body)))
}

func (g *guest) numbers() []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.got)
}

func (g *guest) ServeGap(gap patterns.Gap) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gap += gap.Missed
}

// check checks that all numbers of the pattern's third are there from one to
// another.
func (g *guest) check(t *testing.T, pattern string, from, to int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	have := make(map[int]bool)
	for _, n := range g.got {
		if have[n] {
			t.Errorf("%s: %d twice", pattern, n)
		}
		have[n] = true
	}
	for n := from; n <= to; n++ {
		if fmt.Sprintf("news.*.%d.>", n%3) == pattern && !have[n] {
			t.Errorf("%s: %d of %d to %d is missing, gap %d", pattern, n, from, to, g.gap)
		}
	}
}
