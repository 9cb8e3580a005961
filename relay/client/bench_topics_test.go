// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
)

// sink is a node that costs nothing: publishes go to the subscriptions there
// are, whatever their patterns, and surveys have members that reply at once.
type sink struct {
	patterns.Messenger
	members     int
	subscribers atomic.Pointer[[]patterns.Subscriber]
}

func (s *sink) TryPublish(topic string, m patterns.Message, _ ...patterns.PublishOption) error {
	if all := s.subscribers.Load(); all != nil {
		p := &patterns.Publication{Topic: topic, From: "peer", Headers: m.Headers, Body: m.Body}
		for _, x := range *all {
			x.ServePublication(p)
		}
	}
	return nil
}

func (s *sink) Subscribe(_ context.Context, pattern string, x patterns.Subscriber, _ patterns.SubscribeOptions) (patterns.Subscription, error) {
	for {
		old := s.subscribers.Load()
		all := []patterns.Subscriber{x}
		if old != nil && len(*old) < 4 { // enough to measure with
			all = append(all, *old...)
		}
		if s.subscribers.CompareAndSwap(old, &all) {
			return quiet(pattern), nil
		}
	}
}

func (s *sink) Survey(_ context.Context, _ string, m patterns.Message, each func(patterns.SurveyReply) error, _ patterns.SurveyOptions) (patterns.SurveyResult, error) {
	for range s.members {
		if err := each(patterns.SurveyReply{Member: "0123456789abcdef", Peer: "peer", Message: m}); err != nil {
			return patterns.SurveyResult{}, err
		}
	}
	return patterns.SurveyResult{Replies: s.members, Complete: true}, nil
}

// quiet is a subscription that gets nothing.
type quiet string

func (q quiet) Pattern() string                     { return string(q) }
func (q quiet) Status() patterns.SubscriptionStatus { return patterns.SubscriptionStatus{} }
func (q quiet) Close(context.Context) error         { return nil }

// attached returns clients of a relay over the node.
func attached(t testing.TB, node patterns.Messenger, n int, limits relay.Limits) (clients []*client.Client) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	r, err := relay.New(relay.Config{Node: node, Socket: socket, Limits: limits})
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context()))
	t.Cleanup(func() { r.Close() })
	for range n {
		c, err := client.New(client.Config{Socket: socket})
		require.NoError(t, err)
		require.NoError(t, c.Start(t.Context()))
		t.Cleanup(func() { c.Close() })
		clients = append(clients, c)
	}
	return clients
}

// BenchmarkPublish measures what attaching costs a publisher: one that waits
// for each message, many that do, and one that has many under way.
func BenchmarkPublish(b *testing.B) {
	c := attached(b, &sink{}, 1, relay.Limits{})[0]
	for _, size := range []int{16, 1 << 10} {
		m := patterns.Message{Body: make([]byte, size)}
		b.Run(fmt.Sprintf("wait/size=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Publish(b.Context(), "a.b", m); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("wait64/size=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(64)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := c.Publish(b.Context(), "a.b", m); err != nil {
						b.Error(err)
					}
				}
			})
		})
		b.Run(fmt.Sprintf("try/size=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tryPublish(b, c, m)
			}
		})
	}
}

// tryPublish waits only where too many are under way.
func tryPublish(b *testing.B, c *client.Client, m patterns.Message) {
	err := c.TryPublish("a.b", m)
	if errors.Is(err, patterns.ErrWouldBlock) {
		err = c.Publish(b.Context(), "a.b", m)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkPublishToSubscriber measures messages from one client through the
// relay to another one, none of which may be lost.
func BenchmarkPublishToSubscriber(b *testing.B) {
	for _, size := range []int{16, 1 << 10} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			clients := attached(b, &sink{}, 2, relay.Limits{})
			var got atomic.Int64
			room := make(chan struct{}, 2000) // what is under way fits into the queue
			s, err := clients[1].Subscribe(b.Context(), "a.b", patterns.SubscriberFunc(func(*patterns.Publication) {
				got.Add(1)
				<-room
			}), patterns.SubscribeOptions{})
			require.NoError(b, err)
			m := patterns.Message{Body: make([]byte, size)}
			b.ReportAllocs()
			for b.Loop() {
				room <- struct{}{}
				tryPublish(b, clients[0], m)
			}
			for len(room) > 0 {
				runtime.Gosched()
			}
			require.Equal(b, int64(b.N), got.Load())
			require.Zero(b, s.Status().Missed)
		})
	}
}

// BenchmarkSurvey measures a survey of so many members that reply at once.
func BenchmarkSurvey(b *testing.B) {
	for _, members := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("members=%d", members), func(b *testing.B) {
			c := attached(b, &sink{members: members}, 1, relay.Limits{})[0]
			b.ReportAllocs()
			for b.Loop() {
				result, err := c.Survey(b.Context(), "geo", patterns.Message{Body: []byte("hi")},
					func(patterns.SurveyReply) error { return nil }, patterns.SurveyOptions{})
				if err != nil || result.Replies != members {
					b.Fatal(err, result)
				}
			}
		})
	}
}

// This test checks that an idle subscription costs a few entries, on both
// sides, and no goroutine.
func TestAnIdleSubscriptionCostsLittle(t *testing.T) {
	const count = 20_000
	c := attached(t, &sink{}, 1, relay.Limits{Subscriptions: count})[0]
	measure := func() (heap, stacks uint64, goroutines int) {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, m.StackInuse, runtime.NumGoroutine()
	}
	heap, stacks, goroutines := measure()
	nobody := patterns.SubscriberFunc(func(*patterns.Publication) {})
	const atOnce = 100 // one after the other would be 20,000 times the way there and back
	var subscribers sync.WaitGroup
	for n := range atOnce {
		subscribers.Go(func() {
			for i := n; i < count; i += atOnce {
				_, err := c.Subscribe(t.Context(), fmt.Sprintf("orders.%d.new", i), nobody, patterns.SubscribeOptions{})
				assert.NoError(t, err)
			}
		})
	}
	subscribers.Wait()
	heapNow, stacksNow, goroutinesNow := measure()
	each := (int64(heapNow+stacksNow) - int64(heap+stacks)) / count
	t.Logf("%d bytes for each of %d subscriptions, client and relay together", each, count)
	require.Less(t, each, int64(4<<10))
	require.LessOrEqual(t, goroutinesNow, goroutines+5)
	_, err := c.Subscribe(t.Context(), "one.more", nobody, patterns.SubscribeOptions{})
	require.ErrorIs(t, err, client.ErrTooManySubscriptions)
}
