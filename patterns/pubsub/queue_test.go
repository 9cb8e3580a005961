// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
)

// work publishes messages of these numbers to the queue, from node 0.
func (h *hall) work(from, to int, opts ...patterns.PublishOption) {
	done := make(chan struct{})
	h.n.Go("work", func() {
		defer close(done)
		for i := from; i < to; i++ {
			m := patterns.Message{Body: binary.BigEndian.AppendUint64(nil, uint64(i))}
			if err := h.nodes[0].Publish(context.Background(), "work.x", m, opts...); err != nil {
				h.t.Error(i, err)
			}
			time.Sleep(2 * time.Millisecond)
		}
	})
	<-done
}

// enqueue subscribes a node to the queue.
func (h *hall) enqueue(i int, o patterns.SubscribeOptions) (*guest, patterns.Subscription) {
	o.Queue = "q"
	g := &guest{}
	s, err := h.nodes[i].Subscribe(context.Background(), "work.*", g, o)
	require.NoError(h.t, err)
	return g, s
}

func TestAQueueLeavesOutWhoDoesNotWantWhatItPublishes(t *testing.T) {
	// This test has a client publish to a queue that it listens to with NoEcho:
	// others of the queue, on its node and on another, get every message.
	sim.Run(t, sim.Config{Seed: 1}, func(t *testing.T, n *sim.Network) {
		const count = 60
		h := newHall(t, n, 1)
		own, _ := h.enqueue(0, patterns.SubscribeOptions{NoEcho: true, Origin: 1})
		remote, _ := h.enqueue(1, patterns.SubscribeOptions{})
		h.work(0, count, patterns.Origin(1))
		time.Sleep(time.Second)
		require.Len(t, remote.numbers(), count)
		other, _ := h.enqueue(0, patterns.SubscribeOptions{NoEcho: true, Origin: 2})
		h.work(count, 2*count, patterns.Origin(1))
		time.Sleep(time.Second)
		require.Len(t, append(remote.numbers(), other.numbers()...), 2*count)
		require.Empty(t, own.numbers())
		require.NotEmpty(t, other.numbers())
	})
}

func TestWhoLeavesAQueueTakesWhatWasOnTheWay(t *testing.T) {
	// This test has subscriptions of a queue come and go all the time while
	// messages are published: each message is delivered once. One that is closed
	// with a context that has ended goes at once.
	sim.Run(t, sim.Config{Seed: 2}, func(t *testing.T, n *sim.Network) {
		const count = 1000
		h := newHall(t, n, 4)
		stays, _ := h.enqueue(1, patterns.SubscribeOptions{})
		all := []*guest{stays}
		var mu sync.Mutex
		wait := h.each("guest", 2, 4, func(i int) {
			for range 3 {
				g, s := h.enqueue(i, patterns.SubscribeOptions{})
				time.Sleep(time.Duration(50*i) * time.Millisecond)
				begin := n.Elapsed()
				if err := s.Close(context.Background()); err != nil {
					t.Error(err)
				}
				if n.Elapsed()-begin > 500*time.Millisecond {
					t.Error("it took", n.Elapsed()-begin)
				}
				mu.Lock()
				all = append(all, g)
				mu.Unlock()
			}
		})
		h.work(0, count)
		wait()
		time.Sleep(time.Second)
		have := map[int]int{}
		for _, g := range all {
			for _, n := range g.numbers() {
				have[n]++
			}
		}
		for n := range count {
			require.Equal(t, 1, have[n], "message %d", n)
		}
		for i, node := range h.nodes {
			require.Zero(t, node.Status().Drops["pubsub.unpicked"], "node %d", i)
		}

		_, s := h.enqueue(2, patterns.SubscribeOptions{})
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		begin := n.Elapsed()
		require.NoError(t, s.Close(ended))
		require.Less(t, n.Elapsed()-begin, time.Millisecond)
	})
}

func TestAQueueWhoseNodesAllStandStillIsToldWhatItMissed(t *testing.T) {
	// This test stops all nodes of a queue for longer than they stay in the view, and than
	// an idle publisher keeps a group, and publishes then: when they go on, what none of
	// them got is told.
	for _, members := range []int{1, 3} {
		t.Run(fmt.Sprint(members), func(t *testing.T) {
			t.Parallel()
			sim.Run(t, sim.Config{Seed: 1}, func(t *testing.T, n *sim.Network) {
				const count = 60
				h := newHall(t, n, members+3)
				var queue []*guest
				for i := range members {
					g, _ := h.enqueue(i+1, patterns.SubscribeOptions{})
					queue = append(queue, g)
				}
				h.work(0, count)
				for _, name := range h.others()[:members] {
					n.Pause(name)
				}
				time.Sleep(40 * time.Second)
				h.work(count, 2*count)
				for _, name := range h.others()[:members] {
					n.Resume(name)
				}
				time.Sleep(10 * time.Second)
				h.work(2*count, 3*count)
				time.Sleep(2 * time.Second)
				got, told := 0, uint64(0)
				for _, g := range queue {
					got += len(g.numbers())
					told += g.gap
				}
				require.Equal(t, 2*count, got)
				require.GreaterOrEqual(t, told, uint64(count))
			})
		})
	}
}
