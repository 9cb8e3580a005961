// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/security"
)

// BenchmarkAttached measures one operation from a program through its relay and
// another one to a program there; all four are in this process, on real sockets.
func BenchmarkAttached(b *testing.B) {
	near, far := twoRelays(b)
	ctx := b.Context()
	body := make([]byte, 1<<10)
	_, err := far.Serve(ctx, "echo", patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
		return patterns.Message{Body: r.Body}, nil
	}), patterns.Limits{})
	require.NoError(b, err)
	ask := func(b *testing.B) {
		b.Helper()
		if _, err := near.Request(ctx, "echo", patterns.Message{Body: body}, patterns.WaitForMember()); err != nil {
			b.Error(err)
		}
	}
	ask(b) // the nodes know each other
	b.Run("request", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			ask(b)
		}
	})
	b.Run("request64", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				ask(b)
			}
		})
	})
	b.Run("publish", func(b *testing.B) {
		h := &hearer{all: make(chan struct{}, 1)}
		s, err := far.Subscribe(ctx, "bench.a", h, patterns.SubscribeOptions{QueueLength: 1 << 20, QueueBytes: 1 << 30})
		require.NoError(b, err)
		defer s.Close(ctx)
		h.wait(b, 1, func() { require.NoError(b, near.Publish(ctx, "bench.a", patterns.Message{Body: body})) })
		b.ReportAllocs()
		b.ResetTimer()
		h.wait(b, b.N, func() {
			for range b.N {
				if err := near.Publish(ctx, "bench.a", patterns.Message{Body: body}); err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(h.missed.Load()), "missed")
	})
}

// hearer counts what one subscription gets.
type hearer struct {
	heard, missed, want atomic.Int64
	all                 chan struct{}
}

func (h *hearer) ServePublication(*patterns.Publication) { h.note(1) }

func (h *hearer) ServeGap(g patterns.Gap) {
	h.missed.Add(int64(g.Missed))
	h.note(int64(g.Missed))
}

func (h *hearer) note(n int64) {
	if h.heard.Add(n) == h.want.Load() {
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
	file, err := security.GenerateNetworkFile("bench", rand.Reader)
	require.NoError(b, err)
	var seeds []string
	start := func() *client.Client {
		n, err := node.New(node.Config{Network: file, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Seeds: seeds, NoMDNS: true})
		require.NoError(b, err)
		b.Cleanup(func() { n.Close() })
		require.NoError(b, n.Start(b.Context()))
		seeds = n.Status().Addrs
		socket := filepath.Join(b.TempDir(), "r.sock")
		r, err := relay.New(relay.Config{Node: n, Peer: n.Self().String(), Socket: socket})
		require.NoError(b, err)
		require.NoError(b, r.Start(b.Context()))
		b.Cleanup(func() { r.Close() })
		c, err := client.New(client.Config{Socket: socket})
		require.NoError(b, err)
		require.NoError(b, c.Start(b.Context()))
		b.Cleanup(func() { c.Close() })
		return c
	}
	return start(), start()
}
