// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim"
)

func TestANodeThatIsStartedAnewGetsNothingOfItsEarlierLife(t *testing.T) {
	// This test cuts the link to a subscriber, publishes what has to wait for
	// it, and has the subscriber crash and come back, with a new subscription,
	// while the cut lasts: it gets, or is told of, what is published from then on,
	// and nothing else. The others miss nothing.
	sim.Run(t, sim.Config{Seed: 1, DeadAfter: time.Second}, func(t *testing.T, n *sim.Network) {
		h := newAudience(t, n, 4, "news.>")
		h.publish("news.x", 0, 10, 100, 10*time.Millisecond)
		n.Partition([]string{"n0"}, []string{"n1"})
		h.publish("news.x", 10, 20, 100, 100*time.Millisecond)
		h.crash(1)
		old := h.ears[1]
		require.EqualValues(t, 10, old.delivered)
		time.Sleep(500 * time.Millisecond)
		h.nodes[1] = h.start(1)
		h.ears[1] = &ear{at: n.Elapsed, next: 30}
		time.Sleep(2 * time.Second)
		h.listen(1, 1, "news.>")
		h.publish("news.x", 30, 5, 100, 10*time.Millisecond) // the link is still cut, and this is for it
		n.Mend([]string{"n0"}, []string{"n1"})
		n.Mend([]string{"n1"}, []string{"n0"})
		time.Sleep(3 * time.Second)
		h.publish("news.x", 35, 10, 100, 10*time.Millisecond)
		time.Sleep(2 * time.Second)
		fresh := h.ears[1]
		fresh.mu.Lock()
		require.Empty(t, fresh.wrong)
		require.EqualValues(t, 45, fresh.next)
		require.EqualValues(t, 15, fresh.delivered+fresh.reported, "the session of the earlier process takes some with it")
		require.GreaterOrEqual(t, fresh.delivered, uint64(10))
		fresh.dead = true
		fresh.mu.Unlock()
		_, reported, _ := h.check(45)
		require.Zero(t, reported)
	})
}

func TestWhatIsTooMuchToKeepIsReported(t *testing.T) {
	// This test cuts one subscriber off without a word, for longer than a link
	// lasts, and publishes more than lane and pipe take: the publisher waits
	// until the node is suspect, and no longer; when the cut is mended, the node
	// gets what was kept, and is told exactly how much was not.
	sim.Run(t, sim.Config{Seed: 2, DeadAfter: time.Minute}, func(t *testing.T, n *sim.Network) {
		const count = 250
		h := newAudience(t, n, 3, "news.>")
		h.publish("news.x", 0, 1, 100, time.Second)
		n.Partition([]string{"n0"}, []string{"n1"})
		slowest := time.Duration(0)
		for i := range count {
			begin := n.Elapsed()
			h.publish("news.x", 1+i, 1, 60_000, 0)
			slowest = max(slowest, n.Elapsed()-begin)
			time.Sleep(10 * time.Millisecond)
		}
		require.Less(t, slowest, 2*time.Second)
		time.Sleep(12 * time.Second)
		n.Heal()
		time.Sleep(15 * time.Second)
		h.publish("news.x", count+1, 1, 100, 2*time.Second)
		h.check(count + 2)
		missed := h.ears[1].missed()
		t.Logf("missed %d of %d, the publisher waited %v at most, %v", missed, count, slowest, h.nodes[0].Status().Drops)
		require.NotZero(t, missed)
		require.Zero(t, h.ears[2].missed()+h.ears[3].missed())
	})
}
