// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub_test

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/simnet"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
)

var subscribers = flag.Int("subscribers", 40, "nodes that listen, in the simulation of a large audience")

// hall is a simulated network: node 0 publishes, the others listen.
type hall struct {
	*simnet.Nodes
	t     *testing.T
	n     *sim.Network
	nodes []*node.Node
	ears  []*ear
}

// ear is a subscription that checks what it gets: messages have numbers that
// grow by one, except for gaps.
type ear struct {
	mu        sync.Mutex
	next      uint64 // number expected
	delivered uint64
	reported  uint64
	pending   uint64 // reported since the last message
	inexact   bool
	unknown   bool // nobody knows how many, since the last message
	wrong     []string
	latest    time.Duration
	at        func() time.Duration
	sub       patterns.Subscription
	dead      bool
	rank      int // where in the body the number stands that grows by one
}

func (r *ear) ServePublication(p patterns.Publication) {
	r.mu.Lock()
	defer r.mu.Unlock()
	number, sent := binary.BigEndian.Uint64(p.Body[r.rank:]), time.Duration(binary.BigEndian.Uint64(p.Body[8:]))
	r.delivered++
	r.latest = max(r.latest, r.at()-sent)
	want := r.next + r.pending
	switch {
	case number < r.next:
		r.wrong = append(r.wrong, fmt.Sprintf("%d after %d", number, r.next))
	case number != want && !r.inexact, number > want && !r.unknown:
		r.wrong = append(r.wrong, fmt.Sprintf("%d instead of %d", number, want))
	}
	r.next, r.pending, r.inexact = number+1, 0, false
	r.unknown = false
}

func (r *ear) ServeGap(g patterns.Gap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reported += g.Missed
	r.pending += g.Missed
	r.inexact = r.inexact || !g.Exact
	r.unknown = r.unknown || !g.Exact && g.Missed == 0
}

func (r *ear) die() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dead = true
}

func (r *ear) isDead() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dead
}

func (r *ear) missed() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reported
}

func newHall(t *testing.T, n *sim.Network, listeners int, change ...func(*node.Config)) *hall {
	h := &hall{Nodes: simnet.New(t, n, "hall"), t: t, n: n}
	for i := range listeners + 1 {
		h.nodes = append(h.nodes, h.start(i, change...))
		h.ears = append(h.ears, &ear{at: n.Elapsed})
	}
	time.Sleep(3 * time.Second)
	return h
}

// newAudience is a hall in which all have listened to a pattern for a while.
func newAudience(t *testing.T, n *sim.Network, listeners int, pattern string) *hall {
	h := newHall(t, n, listeners)
	h.listen(1, listeners, pattern)
	time.Sleep(3 * time.Second)
	return h
}

func (h *hall) start(i int, change ...func(*node.Config)) *node.Node {
	return h.Start(fmt.Sprint("n", i), change...)
}

// listen subscribes on every node but the first, all about at once.
func (h *hall) listen(from, to int, pattern string) {
	h.each("subscribe", from, to, func(i int) {
		s, err := h.nodes[i].Subscribe(context.Background(), pattern, h.ears[i], patterns.SubscribeOptions{})
		if err != nil {
			h.t.Error(err)
		}
		h.ears[i].mu.Lock()
		h.ears[i].sub = s
		h.ears[i].mu.Unlock()
	})()
}

// each begins to run f for those nodes, all at once, and returns what waits for the ends.
func (h *hall) each(name string, from, to int, f func(i int)) (wait func()) {
	var wg sync.WaitGroup
	for i := from; i <= to; i++ {
		wg.Add(1)
		h.n.Go(fmt.Sprint(name, " ", i), func() {
			defer wg.Done()
			f(i)
		})
	}
	return wg.Wait
}

// numbered is a message as ears take it, with that number, published now.
func (h *hall) numbered(i, size int) patterns.Message {
	body := make([]byte, size)
	binary.BigEndian.PutUint64(body, uint64(i))
	binary.BigEndian.PutUint64(body[8:], uint64(h.n.Elapsed()))
	return patterns.Message{Body: body}
}

// publish sends messages count numbers from first on, and waits until they
// should be there.
func (h *hall) publish(topic string, first, count, size int, pause time.Duration) {
	done := make(chan struct{})
	h.n.Go("publish", func() {
		defer close(done)
		for i := first; i < first+count; i++ {
			if err := h.nodes[0].Publish(context.Background(), topic, h.numbered(i, size)); err != nil {
				h.t.Error(i, err)
			}
			time.Sleep(pause)
		}
	})
	<-done
}

// crash kills a node without a word.
func (h *hall) crash(i int) {
	h.n.Crash(fmt.Sprint("n", i))
	h.ears[i].die()
	h.nodes[i].Close()
}

// check checks that each listener that lives got or was told of everything.
func (h *hall) check(sent uint64) (delivered, reported uint64, slowest time.Duration) {
	return h.checkEach(func(int) uint64 { return sent })
}

// checkEach is check where not everybody was sent as much.
func (h *hall) checkEach(sentTo func(node int) uint64) (delivered, reported uint64, slowest time.Duration) {
	for i, r := range h.ears[1:] {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.dead || r.sub == nil {
			continue
		}
		require.Empty(h.t, r.wrong, "node %d", i+1)
		require.Equal(h.t, sentTo(i+1), r.delivered+r.reported, "node %d: delivered %d, reported %d", i+1, r.delivered, r.reported)
		delivered, reported, slowest = delivered+r.delivered, reported+r.reported, max(slowest, r.latest)
	}
	return delivered, reported, slowest
}

func TestALargeAudienceCostsThePublisherSixteenCopies(t *testing.T) {
	// This test checks that everybody gets everything in order, and that a
	// publisher's bytes stay bounded while its audience grows.
	t.Parallel()
	audiences := []int{10, *subscribers}
	if *subscribers > 100 {
		audiences = []int{10, 100, *subscribers}
	}
	for _, audience := range audiences {
		sim.Run(t, sim.Config{Seed: 1}, func(t *testing.T, n *sim.Network) {
			h := newAudience(t, n, audience, "news.>")
			h.publish("news.world", 0, 1, 1000, time.Second) // links and tree are there after it
			before := h.nodes[0].Status()
			const count = 50
			h.publish("news.world", 1, count, 1000, 20*time.Millisecond)
			time.Sleep(2 * time.Second)
			delivered, reported, slowest := h.check(count + 1)
			after := h.nodes[0].Status()
			bytes := after.SentBytes[overlay.LanePub] - before.SentBytes[overlay.LanePub]
			copies := after.Topics.Copies - before.Topics.Copies
			t.Logf("audience %d: %.1f copies and %d bytes a message from the publisher; delivered %d, reported %d, slowest %v, depth %d",
				audience, float64(copies)/count, bytes/count, delivered, reported, slowest, depth(audience))
			require.EqualValues(t, (count+1)*audience, delivered)
			require.LessOrEqual(t, copies, uint64(16*count))
		})
	}
}

func depth(n int) (d int) {
	for ; n > 0; d++ {
		n = (n - min(n, 16) + 15) / 16
	}
	return d
}

// crashes has one node in a hundred, two at least, crash while messages are
// published.
func crashes(t *testing.T, n *sim.Network, audience int, forwarders bool) {
	h := newAudience(t, n, audience, "news.>")
	h.publish("news.world", 0, 1, 200, time.Second)
	r := rand.New(rand.NewPCG(7, uint64(audience)))
	count := 200
	forwarding := 0
	left := max(2, audience/100)
	for _, i := range r.Perm(audience) {
		paths := h.nodes[i+1].Status().Topics.Paths
		if left == 0 || (paths > 0) != forwarders {
			continue
		}
		left--
		forwarding += paths
		n.At(n.Elapsed()+time.Duration(r.IntN(2000))*time.Millisecond, "crash", func() { h.crash(i + 1) })
	}
	h.publish("news.world", 1, count, 200, 10*time.Millisecond)
	time.Sleep(5 * time.Second)
	delivered, reported, slowest := h.check(uint64(count + 1))
	touched := 0
	for _, r := range h.ears {
		r.mu.Lock()
		if r.reported > 0 {
			touched++
		}
		r.mu.Unlock()
	}
	t.Logf("audience %d, %d crashes, %d of them forwarders: delivered %d, reported missing %d at %d nodes, slowest %v, trees %d, drops %v",
		audience, max(2, audience/100), forwarding, delivered, reported, touched, slowest, h.nodes[0].Status().Topics.Trees, h.nodes[0].Status().Drops)
	if !forwarders {
		require.Zero(t, reported, "nobody was behind those who crashed")
	}
	n.Note("outcome", fmt.Sprint(delivered, reported, slowest))
}

func TestCrashesOfLeavesCostNobodyElseAMessage(t *testing.T) {
	// This test crashes nodes that forward to nobody: all others get
	// everything.
	t.Parallel()
	sim.Run(t, sim.Config{Seed: 5}, func(t *testing.T, n *sim.Network) { crashes(t, n, *subscribers, false) })
}

func TestCrashesOfForwardersAreReportedWithTheirSize(t *testing.T) {
	// This test crashes forwarders: whoever lives gets, or is told of, exactly
	// what was sent. Twice, with the same trace.
	t.Parallel()
	sim.Replay(t, sim.Config{Seed: 6}, 2, func(t *testing.T, n *sim.Network) { crashes(t, n, min(*subscribers, 200), true) })
	if *subscribers > 200 {
		sim.Run(t, sim.Config{Seed: 7}, func(t *testing.T, n *sim.Network) { crashes(t, n, *subscribers, true) })
	}
}
