// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

func TestALeaseThatIsRefusedIsTriedAgain(t *testing.T) {
	// This test has the anchors refuse a lease for a while: who waits for it is
	// told, and what changes for others is registered later.
	registering(t, func(t *testing.T, l *lone, r *registrations) {
		queue := patterns.SubscribeOptions{Queue: "q"}
		_, err := l.Engine.Subscribe(t.Context(), "work", make(catcher, 10), queue)
		require.NoError(t, err)
		r.refuse(2)
		_, err = l.Engine.Subscribe(t.Context(), "work", make(catcher, 10), queue)
		require.NoError(t, err, "the queue is registered already")
		_, err = l.Engine.Subscribe(t.Context(), "work.a", make(catcher, 10), patterns.SubscribeOptions{})
		require.ErrorIs(t, err, patterns.ErrUnreachable)
		require.Equal(t, []wire.Interest{{Pattern: "work", Queue: "q", Weight: 1}}, r.told())
		time.Sleep(3 * env.RedialTime)
		require.Equal(t, []wire.Interest{{Pattern: "work", Queue: "q", Weight: 2}}, r.told())
	})
}

func TestALeaseBecomesFinerWhenPatternsGo(t *testing.T) {
	// This test has more patterns than a lease can name, all but one of which
	// go: the lease names that one in the end, and only from then on is the size
	// of a gap exact.
	registering(t, func(t *testing.T, l *lone, r *registrations) {
		var subs []patterns.Subscription
		for i := range 1000 {
			s, err := l.Engine.Subscribe(t.Context(), fmt.Sprintf("news.%d.%s", i, strings.Repeat("x", 100)), make(catcher, 10), patterns.SubscribeOptions{})
			require.NoError(t, err)
			subs = append(subs, s)
		}
		g := l.local.groups["news"]
		exact := func() bool { _, exact := g.members(); return exact }
		for i, s := range subs[1:] {
			require.NoError(t, s.Close(t.Context()))
			time.Sleep(10 * time.Millisecond)
			require.LessOrEqual(t, wire.InterestsSize(r.told()), env.MaxPayload)
			if len(r.told()) == 1 && i < len(subs)-2 {
				require.False(t, exact())
			}
		}
		require.Equal(t, []wire.Interest{{Pattern: subs[0].Pattern()}}, r.told())
		require.False(t, exact())
		time.Sleep(2 * env.UnsureTime)
		require.True(t, exact())
	})
}

func TestWhatALeaseCoversDoesNotWaitForTheNext(t *testing.T) {
	// This test subscribes while a lease is being renewed, which takes long where
	// it says much: whoever is within what both say is there at once, and has
	// nothing registered. Twenty thousand that waited made as many renewals.
	registering(t, func(t *testing.T, l *lone, r *registrations) {
		subscribe := func(pattern string) time.Duration {
			begun := time.Now()
			_, err := l.Engine.Subscribe(t.Context(), pattern, make(catcher, 10), patterns.SubscribeOptions{})
			require.NoError(t, err)
			return time.Since(begun)
		}
		subscribe("news.*")
		r.slow(time.Second)
		go subscribe("news.a.b")
		time.Sleep(500 * time.Millisecond)
		require.Zero(t, subscribe("news.c"))
		require.Greater(t, subscribe("news.c.d"), time.Second, "the lease before does not cover it, nor does the next one")
		require.Equal(t, 3, r.registered())
		time.Sleep(time.Minute)
		require.Equal(t, 3, r.registered())
		require.Subset(t, r.told(), []wire.Interest{{Pattern: "news.*"}, {Pattern: "news.a.b"}, {Pattern: "news.c.d"}})
	})
}
