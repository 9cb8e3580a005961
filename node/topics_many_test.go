// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

// memory is what the heap and the stacks take now.
func memory() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

func TestManySubscriptionsAreCheap(t *testing.T) {
	// This test has one node listen to 20,000 patterns of five words: an idle
	// subscription costs less than 2 KiB and no goroutine, their one lease
	// says something coarser, and each gets what is for it and nothing else.
	a, b, _ := trio(t)
	const count, workers = 20_000, 64
	listeners := make([]listener, count)
	goroutines, before, begin := runtime.NumGoroutine(), memory(), time.Now()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < count; i += workers {
				if _, err := b.Subscribe(t.Context(), fmt.Sprintf("sensor.room%d.*.kind.v%d", i%100, i), &listeners[i], patterns.SubscribeOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	took, each := time.Since(begin), int64(memory()-before)/count
	t.Logf("%d subscriptions in %v; %d bytes each, listener included", count, took, each)
	require.Less(t, each, int64(2048))
	require.Less(t, runtime.NumGoroutine(), goroutines+200, "but for workers that have just been needed")
	require.Equal(t, count, b.Status().Topics.Subscriptions)
	for i := 0; i < count; i += 997 {
		publish(t, a, fmt.Sprintf("sensor.room%d.x.kind.v%d", i%100, i), "m")
		until(t, func() bool { return listeners[i].count() == 1 })
	}
	publish(t, a, "sensor.room1.x.kind.v0", "nobody's")
	sum := 0
	for i := range listeners {
		sum += listeners[i].count()
	}
	require.Equal(t, (count+996)/997, sum)
}
