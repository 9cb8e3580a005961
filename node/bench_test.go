// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/arke-mesh/arke/patterns"
)

// BenchmarkRequest is one request after the other between two nodes on
// loopback: the round trip.
func BenchmarkRequest(b *testing.B) {
	network := newNetwork(b)
	host := start(b, network, nil)
	caller := start(b, network, nil, host)
	serve(b, host, "echo", echo, patterns.Limits{})
	m := patterns.Message{Body: make([]byte, 1024)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := caller.Request(b.Context(), "echo", m); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRequests keeps 128 requests under way: the throughput.
func BenchmarkRequests(b *testing.B) {
	network := newNetwork(b)
	host := start(b, network, nil)
	caller := start(b, network, nil, host)
	serve(b, host, "echo", echo, patterns.Limits{Concurrency: 256})
	m := patterns.Message{Body: make([]byte, 1024)}
	b.ReportAllocs()
	var failed atomic.Int64
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(b.N))
	for range 128 {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := caller.Request(b.Context(), "echo", m); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := failed.Load(); n > 0 {
		b.Fatal(n, "failed")
	}
}
