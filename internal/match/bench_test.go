// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
)

// BenchmarkMatch is the comparison of the package doc: each structure, 1,000
// and 100,000 subscriptions of five words, three mixes of reads and writes, 1 to
// 16 goroutines. An operation is one Match, or one Remove with the Add of the
// same.
func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		load := newWorkload(n)
		for _, c := range contestants() {
			s := sync.OnceValue(func() structure {
				s := c.empty()
				load.fill(s)
				for _, topic := range load.topics { // the inverted bitmap has to know them
					s.Match(topic, nil)
				}
				return s
			})
			for _, writes := range []int{0, 10, 50} {
				for _, goroutines := range []int{1, 2, 4, 8, 16} {
					b.Run(fmt.Sprintf("subs=%d/%s/writes=%d/goroutines=%d", n, c.name, writes, goroutines), func(b *testing.B) {
						operate(b, s(), load, writes, goroutines)
					})
				}
			}
		}
	}
}

// operate does b.N operations in all.
func operate(b *testing.B, s structure, load workload, writes, goroutines int) {
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for g := range goroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 6))
			dst := make([]int, 0, 1024)
			for range (b.N + g) / goroutines {
				if writes > 0 && r.IntN(100) < writes {
					// Each goroutine has patterns of its own.
					i := r.IntN(len(load.patterns)/16)*16 + g
					if i < len(load.patterns) {
						s.Remove(load.patterns[i], i)
						s.Add(load.patterns[i], i)
					}
					continue
				}
				dst = s.Match(load.topics[r.IntN(len(load.topics))], dst[:0])
			}
		})
	}
	wg.Wait()
}

// BenchmarkMemory reports what each structure keeps per subscription, without
// the patterns' own bytes, and what adding one costs.
func BenchmarkMemory(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		load := newWorkload(n)
		for _, c := range contestants() {
			b.Run(fmt.Sprintf("subs=%d/%s", n, c.name), func(b *testing.B) {
				var s structure
				var bytes float64
				for b.Loop() {
					b.StopTimer()
					before := heap()
					s = c.empty()
					b.StartTimer()
					load.fill(s)
					b.StopTimer()
					bytes = float64(heap()-before) / float64(n)
					b.StartTimer()
				}
				b.ReportMetric(bytes, "B/sub")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/sub")
				runtime.KeepAlive(s)
			})
		}
	}
}

// heap returns the bytes in use, after a collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
