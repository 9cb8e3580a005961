// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// listener keeps what a subscription gets.
type listener struct {
	mu   sync.Mutex
	got  []string
	pubs []patterns.Publication
	gaps []patterns.Gap
	hold chan struct{} // not nil: each message waits for it
}

func (l *listener) ServePublication(p patterns.Publication) {
	if l.hold != nil {
		<-l.hold
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, p.Topic+"="+string(p.Body))
	l.pubs = append(l.pubs, p)
}

func (l *listener) ServeGap(g patterns.Gap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gaps = append(l.gaps, g)
}

func (l *listener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.got)
}

func (l *listener) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.got...)
}

func subscribe(t testing.TB, n *node.Node, pattern string, l *listener, o patterns.SubscribeOptions) patterns.Subscription {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	s, err := n.Subscribe(ctx, pattern, l, o)
	require.NoError(t, err)
	require.Equal(t, pattern, s.Pattern())
	return s
}

func publish(t testing.TB, n *node.Node, topic, body string, opts ...patterns.PublishOption) {
	t.Helper()
	require.NoError(t, n.Publish(t.Context(), topic, patterns.Message{Body: []byte(body)}, opts...))
}

func TestWhatIsPublishedReachesWhoListens(t *testing.T) {
	// This test checks patterns of every kind on the publisher's and on other
	// nodes, right after Subscribe has returned: each message once, in order,
	// with headers and the publisher's id.
	a, b, c := trio(t)
	listeners := map[string]*listener{}
	for _, pattern := range []string{"geo.eu.fr", "geo.*.fr", "geo.>", "*.eu.fr", ">", "geo.us.>"} {
		for name, n := range map[string]*node.Node{"a": a, "b": b, "c": c} {
			l := &listener{}
			listeners[name+" "+pattern] = l
			subscribe(t, n, pattern, l, patterns.SubscribeOptions{})
		}
	}
	const count = 100
	for i := range count {
		require.NoError(t, a.Publish(t.Context(), "geo.eu.fr", patterns.Message{
			Headers: patterns.Headers{{Key: "k", Value: "v"}}, Body: fmt.Appendf(nil, "%d", i),
		}))
	}
	for name, l := range listeners {
		if strings.HasSuffix(name, "geo.us.>") {
			continue
		}
		until(t, func() bool { return l.count() >= count })
		for i, got := range l.all() {
			require.Equal(t, fmt.Sprintf("geo.eu.fr=%d", i), got, name)
		}
		require.Equal(t, a.Self().String(), l.pubs[0].From, name)
		require.Equal(t, "v", l.pubs[0].Headers.Get("k"))
		require.Empty(t, l.gaps)
	}
	require.Zero(t, listeners["b geo.us.>"].count())
}

func TestAQueueGetsEachMessageOnce(t *testing.T) {
	// This test checks that of the subscriptions of one queue, on three nodes,
	// one gets each message, that all have some, and that others get all.
	a, b, c := trio(t)
	for _, pattern := range []string{"work.*", ">"} {
		var queue []*listener
		for _, n := range []*node.Node{a, b, c, c} {
			l := &listener{}
			queue = append(queue, l)
			defer subscribe(t, n, pattern, l, patterns.SubscribeOptions{Queue: "q"}).Close(context.Background())
		}
		all := &listener{}
		defer subscribe(t, b, pattern, all, patterns.SubscribeOptions{}).Close(context.Background())
		const count = 400
		for i := range count {
			publish(t, a, "work.x", fmt.Sprint(i))
		}
		sum := func() (n int) {
			for _, l := range queue {
				n += l.count()
			}
			return n
		}
		until(t, func() bool { return sum() >= count && all.count() >= count })
		require.Equal(t, count, sum(), pattern)
		require.Equal(t, count, all.count(), pattern)
		for _, l := range queue {
			require.Greater(t, l.count(), count/8, pattern)
		}
	}
}

func TestAClientDoesNotHearItselfUnlessItWants(t *testing.T) {
	// This test checks NoEcho: by node and origin, for patterns of both kinds.
	a, b, _ := trio(t)
	for _, pattern := range []string{"news.>", "*.>"} {
		var own, other, remote, echo listener
		subscribe(t, a, pattern, &own, patterns.SubscribeOptions{NoEcho: true, Origin: 1})
		subscribe(t, a, pattern, &other, patterns.SubscribeOptions{NoEcho: true, Origin: 2})
		subscribe(t, b, pattern, &remote, patterns.SubscribeOptions{NoEcho: true, Origin: 1})
		subscribe(t, a, pattern, &echo, patterns.SubscribeOptions{Origin: 1})
		publish(t, a, "news.x", "1", patterns.Origin(1))
		until(t, func() bool { return other.count() == 1 && remote.count() == 1 && echo.count() == 1 })
		require.Zero(t, own.count())
	}
}

func TestGroupsWithKeysAreSealed(t *testing.T) {
	// This test checks that holders of a group's explicit key hear each other,
	// that who lacks it hears nothing, and that the root group gets no copy.
	network := newNetwork(t)
	key := []security.KeyVersion{{Version: 1, Key: security.Key(make([]byte, 32))}}
	key[0].Key[0] = 1
	keyed := func(c *node.Config) { c.ClusterKeys = map[string][]security.KeyVersion{"topic:orders": key} }
	a := start(t, network, keyed)
	b := start(t, network, keyed, a)
	c := start(t, network, nil, a, b)
	var heard, outsider, root listener
	subscribe(t, b, "orders.*", &heard, patterns.SubscribeOptions{})
	subscribe(t, c, "orders.*", &outsider, patterns.SubscribeOptions{})
	subscribe(t, c, ">", &root, patterns.SubscribeOptions{})
	require.NoError(t, a.Publish(t.Context(), "orders.new", patterns.Message{
		Headers: patterns.Headers{{Key: "k", Value: "v"}}, Body: []byte("x"),
	}))
	until(t, func() bool { return heard.count() == 1 })
	require.Equal(t, "v", heard.pubs[0].Headers.Get("k"))
	publish(t, a, "other", "y")
	until(t, func() bool { return root.count() == 1 })
	require.Equal(t, []string{"other=y"}, root.all())
	require.Zero(t, outsider.count())
}

func TestWrongTopicsAndTooMuchAreRefusedByName(t *testing.T) {
	// This test checks each named error of Publish and Subscribe, and that a
	// limit counts what is there, not what was.
	n := start(t, newNetwork(t), func(c *node.Config) { c.MaxSubscriptions = 2 })
	ctx := t.Context()
	for _, topic := range []string{"", "a..b", "a.*", ">"} {
		require.ErrorIs(t, n.Publish(ctx, topic, patterns.Message{}), patterns.ErrTopic, topic)
		require.ErrorIs(t, n.TryPublish(topic, patterns.Message{}), patterns.ErrTopic, topic)
	}
	_, err := n.Subscribe(ctx, "a.>.b", &listener{}, patterns.SubscribeOptions{})
	require.ErrorIs(t, err, patterns.ErrTopic)
	require.ErrorIs(t, n.Publish(ctx, "a", patterns.Message{Body: make([]byte, 1<<20+1)}), patterns.ErrTooLarge)
	require.EqualValues(t, 1, n.Status().Drops["pubsub.too_large"])
	long := patterns.Headers{{Key: "k", Value: strings.Repeat("v", patterns.MaxHeaderBytes)}}
	require.ErrorIs(t, n.TryPublish("a", patterns.Message{Headers: long}), patterns.ErrTooLarge)
	require.EqualValues(t, 2, n.Status().Drops["pubsub.too_large"])
	require.NoError(t, n.Publish(ctx, "a", patterns.Message{Body: make([]byte, 1<<20)}))

	first := subscribe(t, n, "a", &listener{}, patterns.SubscribeOptions{})
	subscribe(t, n, "b", &listener{}, patterns.SubscribeOptions{})
	_, err = n.Subscribe(ctx, "c", &listener{}, patterns.SubscribeOptions{})
	require.ErrorIs(t, err, patterns.ErrTooMany)
	require.EqualValues(t, 1, n.Status().Drops["pubsub.subscriptions"])
	require.NoError(t, first.Close(ctx))
	subscribe(t, n, "c", &listener{}, patterns.SubscribeOptions{})

	require.NoError(t, n.Close())
	require.ErrorIs(t, n.Publish(ctx, "a", patterns.Message{}), patterns.ErrClosed)
	_, err = n.Subscribe(ctx, "a", &listener{}, patterns.SubscribeOptions{})
	require.ErrorIs(t, err, patterns.ErrClosed)
}

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
