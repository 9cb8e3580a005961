// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"crypto/rand"
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/security"
)

// BenchmarkAttached measures one operation from a program through its relay and
// another one to a program there; all four are in this process, on real sockets.
func BenchmarkAttached(b *testing.B) {
	near, far := twoRelays(b)
	operations(b, near, far)
}

// BenchmarkEmbedded measures the same between two nodes.
func BenchmarkEmbedded(b *testing.B) {
	near, far := twoNodes(b)
	operations(b, near, far)
}

// operations measures what one costs, in all processes that take part.
func operations(b *testing.B, near, far patterns.Messenger) {
	ctx := b.Context()
	_, err := far.Serve(ctx, "echo", patterns.HandlerFunc(echo), patterns.Limits{})
	require.NoError(b, err)
	body := make([]byte, 1<<10)
	ask := func() {
		if _, err := near.Request(ctx, "echo", patterns.Message{Body: body}, patterns.WaitForMember()); err != nil {
			b.Error(err)
		}
	}
	ask() // the nodes know each other
	b.Run("request", func(b *testing.B) {
		measured(b, func() {
			for range b.N {
				ask()
			}
		})
	})
	b.Run("request64", func(b *testing.B) {
		b.SetParallelism(64 / runtime.GOMAXPROCS(0))
		measured(b, func() {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					ask()
				}
			})
		})
	})
	for _, size := range []int{16, 1 << 10} {
		b.Run(fmt.Sprintf("publish%d", size), func(b *testing.B) { publications(b, near, far, size) })
	}
}

// publications measures one topic with one publisher and one subscriber. As many
// are under way as fit the default windows.
func publications(b *testing.B, near, far patterns.Messenger, size int) {
	const ahead = 8 << 10
	ctx := b.Context()
	h := &hearer{all: make(chan struct{}, 1), some: make(chan struct{}, 1<<20)}
	s, err := far.Subscribe(ctx, "bench.a", h, patterns.SubscribeOptions{QueueLength: 1 << 20})
	require.NoError(b, err)
	defer s.Close(ctx)
	body := make([]byte, size)
	publish := func() {
		if err := near.Publish(ctx, "bench.a", patterns.Message{Body: body}); err != nil {
			b.Error(err)
		}
	}
	time.Sleep(300 * time.Millisecond) // it is known
	h.wait(b, 1, publish)
	measured(b, func() {
		h.wait(b, b.N, func() {
			for i := range b.N {
				if i >= ahead && i%hearEvery == 0 {
					<-h.some
				}
				publish()
			}
		})
	})
	b.ReportMetric(float64(h.missed.Load()), "missed")
}

// measured runs f and reports what an operation costs.
func measured(b *testing.B, f func()) {
	b.ReportAllocs()
	b.ResetTimer()
	cpu, switches := spent(b)
	f()
	b.StopTimer()
	cpu2, switches2 := spent(b)
	b.ReportMetric(float64(cpu2-cpu)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(switches2-switches)/float64(b.N), "switches/op")
}

// spent is what this process has used so far.
func spent(b *testing.B) (cpu time.Duration, switches int64) {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Nvcsw
}

// hearEvery is how many messages a subscriber acknowledges together.
const hearEvery = 512

// hearer counts what one subscription gets.
type hearer struct {
	heard, missed, want atomic.Int64
	all                 chan struct{}
	some                chan struct{} // each hearEvery messages
}

func (h *hearer) ServePublication(patterns.Publication) { h.note(1) }

func (h *hearer) ServeGap(g patterns.Gap) {
	h.missed.Add(int64(g.Missed))
	h.note(int64(g.Missed))
}

func (h *hearer) note(n int64) {
	heard := h.heard.Add(n)
	if heard/hearEvery > (heard-n)/hearEvery {
		h.some <- struct{}{}
	}
	if heard == h.want.Load() {
		h.all <- struct{}{}
	}
}

// wait waits until all n messages that publish sends have come, or are missed.
func (h *hearer) wait(b *testing.B, n int, publish func()) {
	h.heard.Store(0)
	h.missed.Store(0)
	h.want.Store(int64(n))
	publish()
	select {
	case <-h.all:
	case <-time.After(time.Minute):
		b.Fatalf("%d of %d messages", h.heard.Load(), n)
	}
}

// twoRelays runs two nodes on loopback with a relay each, and returns a client of
// each.
func twoRelays(b *testing.B) (near, far *client.Client) {
	attach := func(n *node.Node) *client.Client {
		_, cfg := startOn(b, n, nil)
		c, err := client.New(client.Config{Socket: cfg.Socket})
		require.NoError(b, err)
		require.NoError(b, c.Start(b.Context()))
		b.Cleanup(func() { c.Close() })
		return c
	}
	x, y := twoNodes(b)
	return attach(x), attach(y)
}

// twoNodes runs two nodes on loopback.
func twoNodes(b *testing.B) (near, far *node.Node) {
	file, err := security.GenerateNetworkFile("bench", rand.Reader)
	require.NoError(b, err)
	var seeds []string
	start := func() *node.Node {
		n := nodeOf(b, file, seeds...)
		require.NoError(b, n.Start(b.Context()))
		seeds = n.Status().Addrs
		return n
	}
	return start(), start()
}
