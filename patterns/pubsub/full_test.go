// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/link"
)

func TestAFullLaneBlocksOrErrsAndIsToldAfterwards(t *testing.T) {
	// This test clogs the way to one of two listeners: the lane fills, then
	// TryPublish errs and has sent nothing, Publish waits for its context's end
	// and the clogged listener is told of what it did not get; when the way is
	// free again, Publish goes on. The other one misses nothing that was sent.
	sim.Run(t, sim.Config{Seed: 1, DeadAfter: time.Minute}, func(t *testing.T, n *sim.Network) {
		h := newAudience(t, n, 2, "news.>")
		next := 0
		message := func() patterns.Message { return h.numbered(next, 60_000) }
		require.ErrorIs(t, h.nodes[0].TryPublish("news.x", message()), patterns.ErrWouldBlock, "the listeners are not known yet")
		h.publish("news.x", 0, 1, 100, time.Second)
		next++
		n.Clog([]string{"n0"}, []string{"n1"}, true)
		var err error
		for ; err == nil; next++ {
			err = h.nodes[0].TryPublish("news.x", message())
			time.Sleep(time.Millisecond)
			require.Less(t, next, 1000)
		}
		next--
		require.ErrorIs(t, err, patterns.ErrWouldBlock)
		require.Greater(t, next, 4<<20/60_000, "the lane was filled")

		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		err = h.nodes[0].Publish(ctx, "news.x", message())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var late *patterns.DeadlineError
		require.True(t, errors.As(err, &late) && late.MaybeRan)
		next++ // n2 has it

		n.At(n.Elapsed()+300*time.Millisecond, "unclog", func() { n.Clog([]string{"n0"}, []string{"n1"}, false) })
		begin := n.Elapsed()
		require.NoError(t, h.nodes[0].Publish(context.Background(), "news.x", message()))
		next++
		require.GreaterOrEqual(t, n.Elapsed()-begin, 300*time.Millisecond, "it waited")
		time.Sleep(2 * time.Second)
		h.check(uint64(next))
		require.Equal(t, 1, int(h.ears[1].missed()))
		require.Zero(t, h.ears[2].missed())
		require.EqualValues(t, 1, h.nodes[0].Status().Drops["pubsub.lane_full"])
		require.EqualValues(t, next, h.nodes[0].Status().Topics.Published, "what was refused does not count")
	})
}

func TestOneSlowSubscriberDoesNotSlowAnother(t *testing.T) {
	// This test has a subscriber that needs 10 ms for each message beside fast
	// ones on the same and on another node: the fast ones get everything within
	// milliseconds, the slow one what its queue holds, and the size of the gap.
	sim.Run(t, sim.Config{Seed: 2}, func(t *testing.T, n *sim.Network) {
		const count = 500
		h := newHall(t, n, 2)
		h.listen(1, 2, "news.>")
		slow := &ear{at: n.Elapsed}
		s, err := h.nodes[1].Subscribe(context.Background(), "news.>", sleeper{slow}, patterns.SubscribeOptions{QueueLength: 10})
		require.NoError(t, err)
		time.Sleep(3 * time.Second)
		h.publish("news.x", 0, 1, 100, time.Second)
		h.publish("news.x", 1, count, 100, time.Millisecond)
		time.Sleep(time.Second)
		_, reported, slowest := h.check(count + 1)
		require.Zero(t, reported)
		require.Less(t, slowest, 200*time.Millisecond)
		slow.mu.Lock()
		defer slow.mu.Unlock()
		require.Empty(t, slow.wrong)
		require.EqualValues(t, count+1, slow.delivered+slow.reported)
		require.Greater(t, slow.reported, uint64(count/2))
		require.Equal(t, slow.reported, s.Status().Missed)
	})
}

type sleeper struct{ *ear }

func (s sleeper) ServePublication(p patterns.Publication) {
	s.ear.ServePublication(p)
	time.Sleep(10 * time.Millisecond)
}

func TestADrainingNodeDeliversWhatItHas(t *testing.T) {
	// This test shuts a listening node of a queue down while messages come: no
	// message of the queue is lost, all are delivered once.
	sim.Run(t, sim.Config{Seed: 9}, func(t *testing.T, n *sim.Network) {
		const count = 400
		h := newHall(t, n, 3)
		got := &guest{}
		for i := 1; i <= 3; i++ {
			_, err := h.nodes[i].Subscribe(context.Background(), "work", got, patterns.SubscribeOptions{Queue: "q"})
			require.NoError(t, err)
		}
		time.Sleep(time.Second)
		h.publish("work", 0, 1, 100, time.Second)
		down := make(chan struct{})
		n.At(n.Elapsed()+time.Second, "shutdown", func() {
			go func() {
				defer close(down)
				if err := h.nodes[2].Shutdown(context.Background()); err != nil {
					t.Error(err)
				}
			}()
		})
		h.publish("work", 1, count, 100, 5*time.Millisecond)
		<-down
		time.Sleep(2 * time.Second)
		got.mu.Lock()
		defer got.mu.Unlock()
		require.Len(t, got.got, count+1)
		require.Zero(t, got.gap)
		require.Empty(t, h.nodes[2].Status().Drops["pubsub.unpicked"])
	})
}

func TestAForwarderWithoutRoomLosesForOneOnly(t *testing.T) {
	// This test gives one node behind a forwarder a thin line: it misses what
	// does not fit into the forwarder's lane, and is told how much; the
	// publisher and all others do not notice.
	t.Parallel()
	sim.Run(t, sim.Config{Seed: 4}, func(t *testing.T, n *sim.Network) {
		const audience, count, size = 33, 300, 32_000 // each head has somebody behind it
		h := newAudience(t, n, audience, "news.>")
		h.publish("news.x", 0, 1, 100, time.Second)
		leaf := 0
		for i := 1; i <= audience; i++ {
			if h.nodes[i].Status().Topics.Paths == 0 {
				leaf = i
			}
		}
		for i := range audience + 1 {
			if i != leaf {
				n.SetLink(fmt.Sprint("n", i), fmt.Sprint("n", leaf), link.Model{Latency: 5 * time.Millisecond, Mbps: 10})
			}
		}
		begin := n.Elapsed()
		h.publish("news.x", 1, count, size, time.Millisecond)
		require.Less(t, n.Elapsed()-begin, 3*time.Second, "the publisher does not wait")
		time.Sleep(10 * time.Second)
		h.check(count + 1)
		for i := 1; i <= audience; i++ {
			if i != leaf {
				require.Zero(t, h.ears[i].missed(), "node %d", i)
			}
		}
		require.Greater(t, h.ears[leaf].missed(), uint64(100))
		t.Logf("node %d misses %d of %d", leaf, h.ears[leaf].missed(), count)
	})
}
