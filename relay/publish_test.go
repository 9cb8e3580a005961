// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/internal/fake"
)

// listener remembers what a subscription of the node itself gets.
type listener struct {
	mu   sync.Mutex
	got  []string
	gaps []patterns.Gap
}

func (r *listener) ServePublication(p *patterns.Publication) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, p.Topic+" "+string(p.Body))
}

func (r *listener) ServeGap(g patterns.Gap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaps = append(r.gaps, g)
}

func (r *listener) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.got...)
}

func record(t testing.TB, n *fake.Node, pattern string) *listener {
	t.Helper()
	r := &listener{}
	_, err := n.Subscribe(t.Context(), pattern, r, patterns.SubscribeOptions{})
	require.NoError(t, err)
	return r
}

func publishes(topic string, first, n int) (frames []session.Frame) {
	for i := range n {
		id := first + i
		frames = append(frames, &session.Publish{ID: uint64(id), Topic: topic, Body: fmt.Append(nil, id)})
	}
	return frames
}

// awaitPublished reads until so many publishes are answered well, and returns
// how the others failed.
func (b *binding) awaitPublished(n int) map[uint64]session.Outcome {
	b.t.Helper()
	failed := map[uint64]session.Outcome{}
	for done := 0; done < n; {
		switch f := b.next().(type) {
		case *session.Published:
			done += int(f.Count)
		case *session.PublishFailed:
			failed[f.ID] = f.Outcome
			done++
		}
	}
	return failed
}

// This test checks that publishes which are sent together are done in order,
// and answered together; and that one which fails is answered by itself.
func TestPublishesAreAnsweredTogether(t *testing.T) {
	_, n, cfg := start(t, nil)
	r := record(t, n, "a.>")
	b := attach(t, cfg.Socket)
	frames := publishes("a.b", 1, 99)
	frames = append(frames, &session.Publish{ID: 100, Topic: "a..b"})
	b.send(append(frames, publishes("a.c", 101, 50)...)...)
	require.Equal(t, &session.Published{First: 1, Count: 99}, expect[*session.Published](b))
	require.Equal(t, session.OutcomeTopic, expect[*session.PublishFailed](b).Outcome)
	require.Equal(t, &session.Published{First: 101, Count: 50}, expect[*session.Published](b))
	eventually(t, func() bool { return len(r.all()) == 149 }, "not all came")
	require.Equal(t, "a.b 99", r.all()[98])
	require.Equal(t, "a.c 101", r.all()[99])
}

// This test checks that ids which do not count up are the client's fault.
func TestPublishesCountUp(t *testing.T) {
	_, _, cfg := start(t, nil)
	for _, frames := range [][]session.Frame{
		publishes("a", 2, 1),
		append(publishes("a", 1, 1), publishes("a", 1, 1)...),
		append(publishes("a", 1, 1), publishes("a", 3, 1)...),
	} {
		b := attach(t, cfg.Socket)
		b.send(frames...)
		for {
			if f, ok := b.next().(*session.Error); ok {
				require.Equal(t, session.ReasonProtocol, f.Reason)
				break
			}
		}
		b.conn.Close()
	}
}

// gate has publishes on one topic wait until it is opened.
type gate struct {
	topic string
	open  chan struct{}
}

func (g *gate) hold(ctx context.Context, topic string, try bool) error {
	select {
	case <-g.open:
		return nil
	default:
	}
	switch {
	case topic != g.topic:
		return nil
	case try:
		return patterns.ErrWouldBlock
	}
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return &patterns.DeadlineError{Cause: ctx.Err()}
	}
}

// This test checks that a topic which must wait keeps its order, keeps no other
// topic waiting, and is bounded by the limits of calls.
func TestATopicThatWaitsHoldsUpNoOther(t *testing.T) {
	r, n, cfg := start(t, func(cfg *relay.Config) { cfg.Limits.Requests = 10 })
	g := &gate{topic: "slow", open: make(chan struct{})}
	n.PublishError = g.hold
	got := record(t, n, ">")
	b := attach(t, cfg.Socket)
	b.send(publishes("slow", 1, 5)...)
	b.send(publishes("fast", 6, 100)...)
	require.Empty(t, b.awaitPublished(100))
	eventually(t, func() bool { return len(got.all()) == 100 }, "not all came")
	require.Equal(t, 5, r.Status().Clients[0].Requests)

	b.send(publishes("slow", 106, 10)...)
	for id := range uint64(5) {
		f := expect[*session.PublishFailed](b)
		require.Equal(t, 111+id, f.ID)
		require.Equal(t, session.OutcomeLimit, f.Outcome)
	}
	require.Equal(t, uint64(5), r.Status().Drops["request.too_many"])
	close(g.open)
	require.Empty(t, b.awaitPublished(10))
	eventually(t, func() bool { return len(got.all()) == 110 }, "not all came")
	slow := got.all()[100:]
	require.Equal(t, []string{
		"slow 1", "slow 2", "slow 3", "slow 4", "slow 5", "slow 106", "slow 107", "slow 108", "slow 109", "slow 110",
	}, slow)
	eventually(t, func() bool { return r.Status().Clients[0].Requests == 0 }, "places are not given back")
}

// This test checks that more topics than have queues of their own wait in order,
// too.
func TestManyTopicsThatWaitKeepTheirOrder(t *testing.T) {
	_, n, cfg := start(t, nil)
	open := make(chan struct{})
	n.PublishError = func(ctx context.Context, topic string, try bool) error {
		return (&gate{topic: topic, open: open}).hold(ctx, topic, try)
	}
	got := record(t, n, ">")
	b := attach(t, cfg.Socket)
	const topics, rounds = 100, 5
	var frames []session.Frame
	for i := range topics * rounds {
		frames = append(frames, publishes(fmt.Sprint("t", i%topics), i+1, 1)...)
	}
	b.send(frames...)
	time.Sleep(10 * time.Millisecond)
	close(open)
	require.Empty(t, b.awaitPublished(topics*rounds))
	eventually(t, func() bool { return len(got.all()) == topics*rounds }, "not all came")
	last := map[string]int{}
	for _, line := range got.all() {
		var topic string
		var id int
		_, err := fmt.Sscan(line, &topic, &id)
		require.NoError(t, err)
		require.Greater(t, id, last[topic], topic)
		last[topic] = id
	}
}

// This test checks that a publish which waits ends at its deadline.
func TestAPublishThatWaitsHasAnEnd(t *testing.T) {
	_, n, cfg := start(t, nil)
	g := &gate{topic: "slow", open: make(chan struct{})}
	n.PublishError = g.hold
	b := attach(t, cfg.Socket)
	b.send(&session.Publish{ID: 1, Timeout: 30_000, Topic: "slow"}, &session.Publish{ID: 2, Timeout: 1, Topic: "slow"})
	require.Equal(t, map[uint64]session.Outcome{1: session.OutcomeDeadline, 2: session.OutcomeDeadline}, b.awaitPublished(2))
}

// This test checks that a drain answers what was published before it, and
// looks at nothing that comes too late.
func TestADrainAnswersWhatWasPublished(t *testing.T) {
	r, n, cfg := start(t, nil)
	g := &gate{topic: "slow", open: make(chan struct{})}
	n.PublishError = g.hold
	b := attach(t, cfg.Socket)
	b.send(publishes("slow", 1, 3)...)
	eventually(t, func() bool { return r.Status().Clients[0].Requests == 3 }, "they do not wait")
	ended := make(chan error, 1)
	go func() { ended <- r.Shutdown(context.Background()) }()
	expect[*session.Drain](b)
	close(g.open)
	require.Empty(t, b.awaitPublished(3))
	expect[*session.Goodbye](b)
	b.conn.Close()
	require.NoError(t, <-ended)
}
