// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
)

// listener remembers what a subscription gets.
type listener struct {
	mu    sync.Mutex
	got   []string
	gaps  []patterns.Gap
	hold  chan struct{} // not nil: waits at each message
	calls atomic.Int32
}

func (l *listener) ServePublication(p *patterns.Publication) {
	l.calls.Add(1)
	if l.hold != nil {
		<-l.hold
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, string(p.Body))
}

func (l *listener) ServeGap(g patterns.Gap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gaps = append(l.gaps, g)
}

func (l *listener) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.got)
}

func (l *listener) missed() []patterns.Gap {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.gaps)
}

func subscribe(t testing.TB, m patterns.Messenger, pattern string, l *listener, o patterns.SubscribeOptions) patterns.Subscription {
	t.Helper()
	s, err := m.Subscribe(t.Context(), pattern, l, o)
	require.NoError(t, err)
	return s
}

// run returns the numbers from first to last as texts.
func run(first, last int) (list []string) {
	for i := first; i <= last; i++ {
		list = append(list, fmt.Sprint(i))
	}
	return list
}

func publish(t testing.TB, m patterns.Messenger, topic string, first, last int) {
	t.Helper()
	for _, body := range run(first, last) {
		require.NoError(t, m.Publish(t.Context(), topic, patterns.Message{Body: []byte(body)}))
	}
}

// This test checks that topics attached are what they are embedded, in all
// four directions, with headers, in order.
func TestTopicsAreTheSameAttachedAndEmbedded(t *testing.T) {
	p := newPlace(t)
	p.relay()
	a, b := p.client(), p.client()
	for _, publisher := range []patterns.Messenger{a, p.node} {
		for _, subscriber := range []patterns.Messenger{b, p.node} {
			var l listener
			s := subscribe(t, subscriber, "a.*", &l, patterns.SubscribeOptions{})
			require.Equal(t, "a.*", s.Pattern())
			publish(t, publisher, "a.b", 1, 100)
			publish(t, publisher, "b.b", 1, 1)
			eventually(t, func() bool { return slices.Equal(l.all(), run(1, 100)) }, "not all came in order")
			require.Equal(t, uint64(100), s.Status().Delivered)
			require.NoError(t, s.Close(t.Context()))
			require.NoError(t, s.Close(t.Context()))
			publish(t, publisher, "a.b", 1, 1)
			require.Len(t, l.all(), 100)
		}
		require.ErrorIs(t, publisher.Publish(t.Context(), "a.*", patterns.Message{}), patterns.ErrTopic)
		require.ErrorIs(t, publisher.TryPublish("", patterns.Message{}), patterns.ErrTopic)
		_, err := publisher.Subscribe(t.Context(), "a.>.b", &listener{}, patterns.SubscribeOptions{})
		require.ErrorIs(t, err, patterns.ErrTopic)
	}
	got := make(chan *patterns.Publication, 1)
	_, err := b.Subscribe(t.Context(), "h", patterns.SubscriberFunc(func(p *patterns.Publication) { got <- p }), patterns.SubscribeOptions{})
	require.NoError(t, err)
	want := patterns.Headers{{Key: "k", Value: "v"}}
	require.NoError(t, a.Publish(t.Context(), "h", patterns.Message{Headers: want, Body: []byte("x")}))
	require.Equal(t, &patterns.Publication{Topic: "h", From: "peer", Headers: want, Body: []byte("x")}, <-got)
}

// This test checks that NoEcho leaves out what the client itself publishes, and
// that members of a queue share.
func TestEchoAndQueuesAreOfClients(t *testing.T) {
	p := newPlace(t)
	p.relay()
	a, b := p.client(), p.client()
	var silent, loud listener
	subscribe(t, a, "x", &silent, patterns.SubscribeOptions{NoEcho: true})
	subscribe(t, a, "x", &loud, patterns.SubscribeOptions{})
	publish(t, a, "x", 1, 1)
	publish(t, b, "x", 2, 2)
	eventually(t, func() bool { return len(loud.all()) == 2 }, "not all came")
	eventually(t, func() bool { return slices.Equal(silent.all(), run(2, 2)) }, "an echo")

	var q1, q2 listener
	subscribe(t, a, "jobs", &q1, patterns.SubscribeOptions{Queue: "workers"})
	subscribe(t, b, "jobs", &q2, patterns.SubscribeOptions{Queue: "workers"})
	publish(t, a, "jobs", 1, 100)
	eventually(t, func() bool { return len(q1.all())+len(q2.all()) == 100 }, "not all came, or twice")
	require.NotEmpty(t, q1.all())
	require.NotEmpty(t, q2.all())
}

// This test checks that TryPublish has many messages under way, in order with
// those of Publish, and that no more than the window are.
func TestTryPublishDoesNotWait(t *testing.T) {
	p := newPlace(t)
	open := make(chan struct{})
	p.node.PublishError = func(ctx context.Context, _ string, try bool) error {
		select {
		case <-open:
			return nil
		default:
		}
		if try {
			return patterns.ErrWouldBlock
		}
		select {
		case <-open:
			return nil
		case <-ctx.Done():
			return &patterns.DeadlineError{Cause: ctx.Err()}
		}
	}
	p.relay()
	c := p.client()
	var l listener
	subscribe(t, p.node, "x", &l, patterns.SubscribeOptions{})
	n := 0
	for ; c.TryPublish("x", patterns.Message{Body: fmt.Append(nil, n+1)}) == nil; n++ {
	}
	require.Equal(t, 1024, n)
	require.ErrorIs(t, c.TryPublish("x", patterns.Message{}), patterns.ErrWouldBlock)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var late *patterns.DeadlineError
	require.ErrorAs(t, c.Publish(ctx, "x", patterns.Message{}), &late)
	require.False(t, late.MaybeRan, "there was no room for it")
	close(open)
	require.NoError(t, c.Publish(t.Context(), "x", patterns.Message{Body: fmt.Append(nil, n+1)}))
	eventually(t, func() bool { return slices.Equal(l.all(), run(1, n+1)) }, "not all came in order")

	large := make([]byte, 1<<20)
	for n = 0; c.TryPublish("y", patterns.Message{Body: large}) == nil && n < 100; n++ {
	}
	t.Logf("%d messages of 1 MiB at once", n)
	require.NoError(t, c.Shutdown(t.Context()), "all of them are published")
}

// This test checks that a message that TryPublish took and the relay could not
// publish is not lost without a word.
func TestWhatTryPublishTookAndLostIsTold(t *testing.T) {
	p := newPlace(t)
	var fail atomic.Bool
	p.node.PublishError = func(context.Context, string, bool) error {
		if fail.Load() {
			return patterns.ErrUnreachable
		}
		return nil
	}
	r := p.relay()
	c := p.client()
	fail.Store(true)
	require.NoError(t, c.TryPublish("x", patterns.Message{}))
	require.ErrorIs(t, c.Publish(t.Context(), "x", patterns.Message{}), patterns.ErrUnreachable)
	fail.Store(false)
	err := c.TryPublish("x", patterns.Message{})
	require.ErrorIs(t, err, patterns.ErrUnreachable)
	require.ErrorContains(t, err, "1 messages")
	require.NoError(t, c.TryPublish("x", patterns.Message{}))
	require.NoError(t, c.Publish(t.Context(), "x", patterns.Message{}))

	p.node.PublishError = func(ctx context.Context, _ string, try bool) error {
		if try {
			return patterns.ErrWouldBlock
		}
		<-ctx.Done()
		return ctx.Err()
	}
	require.NoError(t, c.TryPublish("x", patterns.Message{}))
	published := make(chan error, 1)
	go func() { published <- c.Publish(t.Context(), "x", patterns.Message{}) }()
	eventually(t, func() bool { return r.Status().Clients[0].Requests == 2 }, "the relay has not got both")
	require.NoError(t, r.Close())
	require.ErrorIs(t, <-published, patterns.ErrInterrupted)
	require.ErrorIs(t, c.Shutdown(t.Context()), patterns.ErrInterrupted)
}

// This test checks that relays that are replaced in good order lose nothing of
// what is being published, whatever way, and keep the order.
func TestADrainedRelayLosesNoPublish(t *testing.T) {
	p := newPlace(t)
	r := p.relay()
	c := p.client()
	var l listener
	subscribe(t, p.node, "x", &l, patterns.SubscribeOptions{QueueLength: 1 << 20})
	var stop atomic.Bool
	done := make(chan int)
	go func() {
		n := 0
		for !stop.Load() {
			m := patterns.Message{Body: fmt.Append(nil, n+1)}
			if n%100 == 0 {
				if !assertNoError(t, c.Publish(t.Context(), "x", m)) {
					break
				}
				n++
				continue
			}
			if c.TryPublish("x", m) == nil {
				n++
				continue
			}
			time.Sleep(100 * time.Microsecond)
		}
		done <- n
	}()
	for range 4 {
		before := len(l.all())
		eventually(t, func() bool { return len(l.all()) > before+500 }, "no progress")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		require.NoError(t, r.Shutdown(ctx))
		cancel()
		r = p.relay()
	}
	stop.Store(true)
	n := <-done
	require.NoError(t, c.Publish(t.Context(), "x", patterns.Message{Body: fmt.Append(nil, n+1)}))
	eventually(t, func() bool { return len(l.all()) >= n+1 }, "not all came")
	require.Equal(t, run(1, n+1), l.all())
}

func assertNoError(t *testing.T, err error) bool {
	if err != nil {
		t.Error(err)
	}
	return err == nil
}

// This test checks that a program that is slow fills its own subscription, by
// its policy, and is told how much it missed; that another one of the same
// client is not held up; and that it gets everything when it may block.
func TestASlowSubscriberIsToldOfItsGap(t *testing.T) {
	for _, overflow := range []patterns.Overflow{patterns.OverflowOldest, patterns.OverflowNewest} {
		p := newPlace(t)
		p.relay()
		c := p.client()
		slow := &listener{hold: make(chan struct{})}
		var fast listener
		s := subscribe(t, c, "x", slow, patterns.SubscribeOptions{QueueLength: 20, Overflow: overflow})
		subscribe(t, c, "x", &fast, patterns.SubscribeOptions{})
		for i := range 10 {
			publish(t, p.node, "x", i*20+1, i*20+20)
			eventually(t, func() bool { return len(fast.all()) == i*20+20 }, "a slow one holds up another one")
		}
		close(slow.hold)
		publish(t, p.node, "x", 201, 201)
		eventually(t, func() bool {
			status := s.Status()
			return status.Delivered+status.Missed == 201
		}, "delivered and missed is not what was sent")
		require.Equal(t, uint64(len(slow.all())), s.Status().Delivered)
		require.GreaterOrEqual(t, s.Status().Delivered, uint64(20))
		require.Greater(t, s.Status().Missed, uint64(100))
		for _, g := range slow.missed() {
			require.Equal(t, patterns.GapSlow, g.Reason)
			require.True(t, g.Exact)
		}
	}
}

// This test checks that a subscription that blocks loses nothing of what is
// published on its node.
func TestASubscriptionThatBlocksLosesNothing(t *testing.T) {
	p := newPlace(t)
	p.relay()
	c := p.client()
	var l listener
	s := subscribe(t, c, "x", &l, patterns.SubscribeOptions{QueueLength: 4, Overflow: patterns.OverflowBlock})
	publish(t, p.node, "x", 1, 500)
	eventually(t, func() bool { return slices.Equal(l.all(), run(1, 500)) }, "something is lost")
	require.Zero(t, s.Status().Missed)
}

// This test checks that closing delivers what waits, as long as it may.
func TestClosingASubscriptionDeliversWhatWaits(t *testing.T) {
	p := newPlace(t)
	r := p.relay()
	c := p.client()
	l := &listener{hold: make(chan struct{})}
	s := subscribe(t, c, "x", l, patterns.SubscribeOptions{QueueLength: 10})
	publish(t, p.node, "x", 1, 10)
	closed := make(chan error, 1)
	go func() { closed <- s.Close(t.Context()) }()
	eventually(t, func() bool { return len(p.node.Subscriptions()) == 0 }, "it does not begin")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Close(ctx), context.DeadlineExceeded)
	close(l.hold)
	require.NoError(t, <-closed)
	require.Equal(t, run(1, 10), l.all())
	require.Zero(t, r.Status().Clients[0].Subscriptions)

	stuck := &listener{hold: make(chan struct{})}
	s = subscribe(t, c, "x", stuck, patterns.SubscribeOptions{QueueLength: 10})
	publish(t, p.node, "x", 1, 10)
	eventually(t, func() bool { return stuck.calls.Load() == 1 }, "nothing comes")
	ctx, cancel = context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Close(ctx), context.DeadlineExceeded)
	close(stuck.hold)
	eventually(t, func() bool { return r.Status().Clients[0].Subscriptions == 0 }, "the relay keeps it")
	eventually(t, func() bool { return len(stuck.all()) == 1 }, "more than what it was at")
}

// This test checks that one subscription more than the relay allows is the
// named error, and that Shutdown closes all.
func TestShutdownEndsSubscriptions(t *testing.T) {
	p := newPlace(t)
	p.change = func(cfg *relay.Config) { cfg.Limits.Subscriptions = 3 }
	p.relay()
	c := p.client()
	for range 3 {
		subscribe(t, c, "x", &listener{}, patterns.SubscribeOptions{})
	}
	_, err := c.Subscribe(t.Context(), "x", &listener{}, patterns.SubscribeOptions{})
	require.ErrorIs(t, err, client.ErrTooManySubscriptions)
	require.ErrorIs(t, err, patterns.ErrTooMany)
	require.NoError(t, c.Shutdown(t.Context()))
	require.Empty(t, p.node.Subscriptions())
	_, err = c.Subscribe(t.Context(), "x", &listener{}, patterns.SubscribeOptions{})
	require.ErrorIs(t, err, patterns.ErrClosed)
	require.ErrorIs(t, c.Publish(t.Context(), "x", patterns.Message{}), patterns.ErrClosed)
	require.ErrorIs(t, c.TryPublish("x", patterns.Message{}), patterns.ErrClosed)
}
