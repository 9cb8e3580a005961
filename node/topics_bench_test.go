// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/patterns"
)

// counter counts what a subscription gets and misses.
type counter struct{ got, missed atomic.Int64 }

func (c *counter) ServePublication(*patterns.Publication) { c.got.Add(1) }

func (c *counter) ServeGap(g patterns.Gap) { c.missed.Add(int64(g.Missed)) }

// benchmarkPublish has publishers and subscribers on nodes of their own, on
// loopback; each publisher sends b.N messages as fast as it may. It reports
// deliveries a second, and how many were reported missing.
func benchmarkPublish(b *testing.B, publishers, subscribers, size int) {
	network := newNetwork(b)
	var nodes []*node.Node
	for range publishers + subscribers {
		nodes = append(nodes, start(b, network, nil, nodes...))
	}
	counters := make([]*counter, subscribers)
	for i := range counters {
		counters[i] = &counter{}
		_, err := nodes[publishers+i].Subscribe(b.Context(), "bench.*", counters[i], patterns.SubscribeOptions{QueueLength: 1 << 20, QueueBytes: 1 << 30})
		require.NoError(b, err)
	}
	for _, n := range nodes[:publishers] {
		publish(b, n, "bench.x", "first")
	}
	received := func() (got, missed int64) {
		for _, c := range counters {
			got, missed = got+c.got.Load(), missed+c.missed.Load()
		}
		return got, missed
	}
	all := func(n int) {
		until(b, func() bool { got, missed := received(); return got+missed >= int64(n) })
	}
	all(publishers * subscribers)
	m := patterns.Message{Body: make([]byte, size)}
	b.ReportAllocs()
	b.ResetTimer()
	begin := time.Now()
	var wg sync.WaitGroup
	for _, n := range nodes[:publishers] {
		wg.Go(func() {
			for range b.N {
				if err := n.Publish(b.Context(), "bench.x", m); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	all((b.N + 1) * publishers * subscribers)
	took := time.Since(begin)
	b.StopTimer()
	got, missed := received()
	b.ReportMetric(float64(got)/took.Seconds(), "delivered/s")
	b.ReportMetric(float64(missed), "missed")
}

// BenchmarkPublish is the throughput of topics between nodes on loopback.
func BenchmarkPublish(b *testing.B) {
	for _, c := range []struct{ publishers, subscribers, size int }{
		{1, 1, 16}, {1, 1, 1024}, {1, 4, 1024}, {4, 4, 1024},
	} {
		b.Run(fmt.Sprintf("%dto%d/%dB", c.publishers, c.subscribers, c.size), func(b *testing.B) {
			benchmarkPublish(b, c.publishers, c.subscribers, c.size)
		})
	}
}
