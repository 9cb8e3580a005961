// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/tests/harness"
)

// tally is a subscriber that counts.
type tally struct{ delivered, missed, inexact atomic.Uint64 }

func (s *tally) ServePublication(*patterns.Publication) { s.delivered.Add(1) }

func (s *tally) ServeGap(g patterns.Gap) {
	s.missed.Add(g.Missed)
	if !g.Exact {
		s.inexact.Add(1)
	}
}

func TestWhatAClientMissedIsCountedByItsRelay(t *testing.T) {
	// This test breaks the connection between a subscriber and its relay again
	// and again while somebody publishes at another relay: what was delivered
	// and what was told as missing is exactly what was sent.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	tap := harness.TapSocket(t, a)
	c, err := client.New(client.Config{Socket: tap.Addr()})
	require(t, err == nil, err)
	require(t, c.Start(t.Context()) == nil, "can't attach")
	t.Cleanup(func() { c.Close() })
	var got tally
	s, err := c.Subscribe(t.Context(), "news.>", &got, patterns.SubscribeOptions{})
	require(t, err == nil, err)

	const count, rounds = 30000, 15
	publisher := b.Client()
	for i := range count {
		if i%(count/rounds) == count/rounds/2 {
			tap.Cut()
		}
		err := publisher.Publish(t.Context(), "news.x", patterns.Message{Body: []byte("hello")})
		require(t, err == nil, err)
	}
	harness.Eventually(t, harness.Patience, "that all is delivered or told", func() error {
		if n := got.delivered.Load() + got.missed.Load(); n < count {
			return fmt.Errorf("%d of %d are", n, count)
		}
		return nil
	})
	t.Logf("%d delivered, %d told as missing", got.delivered.Load(), got.missed.Load())
	require(t, got.delivered.Load()+got.missed.Load() == count, "delivered and told is not what was sent")
	require(t, got.inexact.Load() == 0, "not exact")
	require(t, got.delivered.Load() > 0, "nothing comes")
	require(t, s.Status().Missed == got.missed.Load(), s.Status())
}
