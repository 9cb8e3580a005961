// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub_test

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/arke-mesh/arke/sim"
	"github.com/arke-mesh/arke/sim/link"
)

var chaosSeeds = flag.Int("chaos", 1, "seeds of the test of order in a network that fails all the time")

// trouble breaks something for a while, again and again.
func trouble(n *sim.Network, r *rand.Rand, nodes int, until time.Duration) {
	some := func() (out []string) {
		for range 1 + r.IntN(3) {
			out = append(out, fmt.Sprint("n", r.IntN(nodes)))
		}
		return out
	}
	for at := n.Elapsed(); at < until; at += time.Duration(100+r.IntN(400)) * time.Millisecond {
		a, b, d := some(), some(), time.Duration(100+r.IntN(1+r.IntN(15000)))*time.Millisecond
		switch r.IntN(4) {
		case 0:
			n.At(at, "cut", func() { n.Partition(a, b) })
			n.At(at+d, "mend", func() { n.Mend(a, b); n.Mend(b, a) })
		case 1:
			n.At(at, "one way", func() { n.CutOneWay(a, b) })
			n.At(at+d, "mend", func() { n.Mend(a, b) })
		case 2:
			n.At(at, "pause", func() { n.Pause(a[0]) })
			n.At(at+d, "resume", func() { n.Resume(a[0]) })
		case 3:
			n.At(at, "corrupt", func() { n.Corrupt(a[0], b[0]) })
		}
	}
}

func TestDeliveredAndReportedIsSentWhateverBreaks(t *testing.T) {
	// This test publishes to a large and to a small audience of the same group,
	// so that what one node gets comes directly and through trees, while links
	// break, nodes hang and packets are lost: each message comes in order and
	// once, or is reported.
	t.Parallel()
	for seed := range *chaosSeeds {
		lossy := func(string, string) link.Model {
			return link.Model{Latency: 5 * time.Millisecond, Jitter: 3 * time.Millisecond, Loss: 10_000}
		}
		sim.Run(t, sim.Config{Seed: uint64(seed), Link: lossy}, func(t *testing.T, n *sim.Network) {
			const nodes, few, count = 28, 7, 600
			h := newHall(t, n, nodes)
			for i := few + 1; i <= nodes; i++ {
				h.ears[i].rank = 16
			}
			h.listen(1, few, "n.>")
			h.listen(few+1, nodes, "n.*")
			time.Sleep(3 * time.Second) // so that sizes of gaps are exact
			r := rand.New(rand.NewPCG(uint64(seed), 11))
			trouble(n, r, nodes+1, n.Elapsed()+25*time.Second)
			all := uint64(0)
			done := make(chan struct{})
			n.Go("publish", func() {
				defer close(done)
				for i := range count {
					topic := "n.all"
					if i%3 == 0 {
						topic = "n.x.y"
					}
					size := 24
					if i%50 == 0 {
						size = 200_000 // in parts
					}
					m := h.numbered(i, size)
					binary.BigEndian.PutUint64(m.Body[16:], all)
					if topic == "n.all" {
						all++
					}
					if err := h.nodes[0].Publish(context.Background(), topic, m); err != nil {
						t.Error(i, err)
					}
					time.Sleep(40 * time.Millisecond)
				}
			})
			<-done
			n.Calm()
			n.Heal()
			time.Sleep(60 * time.Second)
			delivered, reported, _ := h.checkEach(func(node int) uint64 {
				if node > few {
					return all
				}
				return count
			})
			t.Logf("seed %d: delivered %d, reported missing %d, %v", seed, delivered, reported, h.nodes[0].Status().Topics)
		})
	}
}
