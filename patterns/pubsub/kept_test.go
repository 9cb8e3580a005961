// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// inbound gives the engine a frame of the messages of a session from that number on, in
// memory that is written over unless it is kept, and says whether it is.
func (l *lone) inbound(session, number uint64, bodies ...string) (kept bool) {
	frame := severalOf(wire.Publish{Session: session, Run: run1, Number: number}, "news.a", bodies...)
	if kept = l.comes("p", wire.KindPublish, frame); !kept {
		for i := range frame {
			frame[i] = 'x'
		}
	}
	return kept
}

func TestAFrameIsKeptOnlyForSubscriptionsHere(t *testing.T) {
	// This test looks at what becomes of a frame's memory: its reader has it back if
	// nobody listens, or only clients do, whose messages are copied, or if the frame has
	// to wait for one before it. What subscriptions get stays as it was in any case.
	alone(t, func(t *testing.T, l *lone) {
		require.False(t, l.inbound(1, 1, "nobody", "hears", "this"))

		proxy := l.NewProxy(sinkOf(func(*Delivery) {}), 1)
		require.NoError(t, proxy.Subscribe(t.Context(), 1, "news.>", patterns.SubscribeOptions{}))
		require.False(t, l.inbound(1, 4, "for", "clients"))

		got := l.listens(t, "news.>")
		require.True(t, l.inbound(1, 6, "one"))
		require.False(t, l.inbound(1, 9, "four", "five"), "it is early")
		require.False(t, l.inbound(1, 7, "two", "three"), "something waits for it")
		require.False(t, l.inbound(1, 7, "two", "three"), "it is late")
		for _, want := range []string{"one", "two", "three", "four", "five"} {
			require.Equal(t, "news.a "+want, got.next(t))
		}
	})
}

func TestNoSubscriberWritesOverTheNextMessage(t *testing.T) {
	// This test appends to a body, which is in one memory with those behind it.
	alone(t, func(t *testing.T, l *lone) {
		got := make(chan string, 3)
		_, err := l.Engine.Subscribe(t.Context(), "news.>", patterns.SubscriberFunc(func(p patterns.Publication) {
			got <- string(p.Body)
			_ = append(p.Body, "and much more than there is room for"...)
		}), patterns.SubscribeOptions{})
		require.NoError(t, err)
		require.True(t, l.inbound(1, 1, "one", "two", "three"))
		for _, want := range []string{"one", "two", "three"} {
			require.Equal(t, want, <-got)
		}
	})
}
