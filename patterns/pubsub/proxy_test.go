// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// pad is a sink that writes down what it gets.
type pad struct {
	lines []string
	calls int // of Deliver
}

func (p *pad) Deliver(d *Delivery, ids []uint64) {
	p.calls++
	for _, tail := range d.Tails {
		hs, body, err := wire.DecodeHeaders(tail)
		p.lines = append(p.lines, fmt.Sprintf("%s of %s: %s %d %v %v", d.Topic, string(d.Publisher), body, len(hs), ids, err))
	}
}

func (p *pad) Gap(g patterns.Gap, ids []uint64) {
	p.lines = append(p.lines, fmt.Sprintf("%s %d %v", g.Reason, g.Missed, ids))
}

func (p *pad) said() []string {
	out := p.lines
	p.lines = nil
	return out
}

func (l *lone) proxy(t *testing.T, origin uint64, patternByID map[uint64]string, o patterns.SubscribeOptions) (*Proxy, *pad) {
	p := &pad{}
	out := l.NewProxy(p, origin)
	ids := make([]uint64, 0, len(patternByID))
	for id := range patternByID {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		require.NoError(t, out.Subscribe(t.Context(), id, patternByID[id], o))
	}
	return out, p
}

func TestAProxyGetsOneCallForEachMessage(t *testing.T) {
	// This test has two clients of a relay with several subscriptions, and one of
	// the node itself: each client is called once for a message, with the ids that
	// it is for, inline, whether it comes from another node or is published here.
	alone(t, func(t *testing.T, l *lone) {
		_, one := l.proxy(t, 1, map[uint64]string{5: "news.>", 6: "news.a", 7: "news.b"}, patterns.SubscribeOptions{})
		out, two := l.proxy(t, 2, map[uint64]string{5: "news.*"}, patterns.SubscribeOptions{})
		got := l.listens(t, "news.a")

		l.publish("p", single{Publish: wire.Publish{Session: 1, Run: run1, Number: 1}, Topic: "news.a", Body: []byte("x"), Headers: []wire.Header{{Key: "k"}}})
		require.Equal(t, []string{"news.a of p: x 1 [5 6] <nil>"}, one.said())
		require.Equal(t, []string{"news.a of p: x 1 [5] <nil>"}, two.said())
		require.Equal(t, "news.a x", got.next(t))

		tail := append(wire.AppendHeaders(nil, []wire.Header{{Key: "k", Value: "v"}}), "here"...)
		nodes := 0
		err := l.PublishTail(t.Context(), "news.b", tail, patterns.PublishOptions{Confirm: &nodes})
		require.NoError(t, err)
		require.Equal(t, 1, nodes)
		require.Equal(t, []string{"news.b of self: here 1 [5 7] <nil>"}, one.said(), "what has not to be decoded is not")
		err = l.TryPublishTail("news.a", wire.AppendHeaders(nil, nil), patterns.PublishOptions{})
		require.NoError(t, err)
		require.Equal(t, "news.a ", got.next(t))
		err = l.TryPublishTail("news.a", []byte{0, 9}, patterns.PublishOptions{})
		require.ErrorIs(t, err, patterns.ErrTooLarge)

		one.said()
		two.said()
		out.Unsubscribe(t.Context(), 5)
		l.publish("p", single{Publish: wire.Publish{Session: 1, Run: run1, Number: 3}, Topic: "news.c"})
		l.marks("p", wire.PublishMark{Session: 1, Run: run1, Number: 3, Group: "news"})
		l.sources.find(sourceKey{"p", 1}, "news", "p", true).retireAll()
		require.Equal(t, []string{"lost 1 [5 6 7]", "news.c of p:  0 [5] <nil>"}, one.said())
		require.Empty(t, two.said())
	})
}

// retireAll gives up what is waited for.
func (s *source) retireAll() {
	s.mu.Lock()
	s.retire(&s.runs[len(s.runs)-1])
	s.todo.Run(&s.mu, s.do)
}

func TestAProxysOptionsAreThoseOfSubscriptions(t *testing.T) {
	// This test proves what holds for clients of a relay as for the node: no echo
	// by origin, one of a queue, limits of ids and policies, and the end.
	alone(t, func(t *testing.T, l *lone) {
		out, one := l.proxy(t, 1, map[uint64]string{1: "news.>"}, patterns.SubscribeOptions{NoEcho: true})
		_, two := l.proxy(t, 2, map[uint64]string{1: "news.>"}, patterns.SubscribeOptions{NoEcho: true})
		for origin, want := range map[uint64][2]int{1: {0, 1}, 2: {1, 0}, 3: {1, 1}} {
			require.NoError(t, l.Publish(t.Context(), "news.a", patterns.Message{}, patterns.PublishOptions{Origin: origin}))
			require.Equal(t, want, [2]int{len(one.said()), len(two.said())})
		}
		ctx := t.Context()
		require.ErrorIs(t, out.Subscribe(ctx, 1, "news.>", patterns.SubscribeOptions{}), patterns.ErrTooMany)
		require.ErrorIs(t, out.Subscribe(ctx, 2, "news..", patterns.SubscribeOptions{}), patterns.ErrTopic)
		require.Error(t, out.Subscribe(ctx, 2, "news", patterns.SubscribeOptions{Overflow: patterns.OverflowBlock}))
		ended, cancel := context.WithCancel(ctx)
		cancel()
		require.ErrorIs(t, out.Subscribe(ended, 2, "news", patterns.SubscribeOptions{}), context.Canceled)

		shared := patterns.SubscribeOptions{Queue: "q"}
		_, three := l.proxy(t, 3, map[uint64]string{8: "work", 9: "work"}, shared)
		_, four := l.proxy(t, 4, map[uint64]string{8: "work"}, shared)
		for range 9 {
			require.NoError(t, l.Publish(ctx, "work", patterns.Message{}, patterns.PublishOptions{}))
		}
		require.Len(t, three.said(), 6)
		require.Len(t, four.said(), 3)

		out.Close()
		out.Close()
		require.ErrorIs(t, out.Subscribe(ctx, 3, "news", patterns.SubscribeOptions{}), patterns.ErrClosed)
		require.NoError(t, l.Publish(ctx, "news.a", patterns.Message{}, patterns.PublishOptions{}))
		require.Empty(t, one.said())
		require.EqualValues(t, 2, out.Status().Delivered)
	})
}
