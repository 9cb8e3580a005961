// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/arke-mesh/arke/sim"
)

var crowdSize = flag.Int("nodes", 1000, "how many nodes BenchmarkNodes runs beside 50")

// BenchmarkNodes measures whole nodes that all join through one at once: one in
// a hundred serves, one in fifty calls 20 times a second, for some seconds of
// virtual time.
func BenchmarkNodes(b *testing.B) {
	for _, count := range []int{50, *crowdSize} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			var events uint64
			var heap uint64
			var virtual time.Duration
			for b.Loop() {
				// A bubble wants a *testing.T; nothing here needs more of it.
				trace := sim.Run(&testing.T{}, sim.Config{Seed: 1}, full(count, 5*time.Second, &heap))
				events += trace.Events
				virtual += trace.End
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(virtual.Seconds()/b.Elapsed().Seconds(), "virtual/real")
			b.ReportMetric(float64(heap)/float64(count)/1024, "KB/node")
		})
	}
}

// full starts so many nodes at once and lets them work.
func full(count int, d time.Duration, heap *uint64) func(*testing.T, *sim.Network) {
	return func(t *testing.T, n *sim.Network) {
		s := newStory(t, n, count)
		s.start(0)
		for i := 1; i < count; i++ {
			n.Go(name(i), func() {
				s.start(i)
				switch {
				case i%100 == 1 || i < 3:
					s.serve(i)
				case i%50 == 7:
					time.Sleep(d * 2 / 5)
					s.call(i, 40)
				}
			})
		}
		n.Run(d)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		*heap = max(*heap, m.HeapInuse+m.StackInuse)
	}
}
