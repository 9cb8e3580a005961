// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

func TestIdleSubscriptionsCostNoGoroutineAndFewBytes(t *testing.T) {
	// This test makes 100,000 inboxes, gives each a message, and counts what is
	// there when they are idle again: no goroutine, and less than 256 bytes
	// each.
	const n = 100_000
	f := newFixture(t, 4, nil)
	got := patterns.SubscriberFunc(func(patterns.Publication) {})
	before, goroutines := heap(), runtime.NumGoroutine()
	for range n {
		f.box(got, patterns.SubscribeOptions{})
	}
	for _, b := range f.boxes {
		b.Put(message(1))
	}
	for _, b := range f.boxes {
		for b.Status().Delivered == 0 {
			runtime.Gosched()
		}
	}
	require.Eventually(t, func() bool { return f.set.Status().Working == 0 }, 10*time.Second, time.Millisecond)
	require.Less(t, runtime.NumGoroutine(), goroutines+10, "there are four workers, which are kept for others")
	each := (heap() - before) / n
	t.Logf("%d bytes per idle inbox", each)
	require.Less(t, each, int64(256))
	runtime.KeepAlive(f)
}

// counter is a Subscriber that counts.
type counter []uint64

func (c counter) ServePublication(patterns.Publication) { c[0]++ }
func (c counter) ServeGap(patterns.Gap)                 {}

// heap returns the bytes in use, after a collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkPut measures a message from Put to its Subscriber, and a channel with a
// goroutine at its end beside it.
func BenchmarkPut(b *testing.B) {
	p := message(1)
	b.Run("inbox", func(b *testing.B) {
		f := newFixture(b, 4, nil)
		box := f.box(make(counter, 1), patterns.SubscribeOptions{Overflow: patterns.OverflowBlock})
		b.ReportAllocs()
		for b.Loop() {
			_ = box.PutWait(context.Background(), p)
		}
		_ = box.Close(context.Background())
	})
	b.Run("inbox, woken each time", func(b *testing.B) {
		f := newFixture(b, 4, nil)
		done := make(chan struct{}, 1)
		box := f.box(patterns.SubscriberFunc(func(patterns.Publication) { done <- struct{}{} }), patterns.SubscribeOptions{})
		b.ReportAllocs()
		for b.Loop() {
			box.Put(p)
			<-done
		}
	})
	b.Run("channel", func(b *testing.B) {
		c := make(chan *patterns.Publication, 4096)
		done := make(chan struct{})
		go func() {
			defer close(done)
			n := make(counter, 1)
			for p := range c {
				n.ServePublication(*p)
			}
		}()
		b.ReportAllocs()
		for b.Loop() {
			c <- p
		}
		close(c)
		<-done
	})
}
