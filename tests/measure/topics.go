// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/tests/harness"
)

// topicSpan is how long the publishers publish.
const topicSpan = 2 * time.Second

// topics measures how many messages of 16 B and 1 KB a second go from
// publishers to subscribers, and what was lost: every subscription is on a
// topic that all publishers use.
func topics(m *meter) {
	near, far := m.nodes("topics")
	relays := harness.NewNetwork(m).Relays(2)
	for _, bytes := range []int{16, 1 << 10} {
		for _, shape := range [][2]int{{1, 1}, {1, 4}, {4, 4}} {
			m.fan("embedded", shape, bytes,
				func() patterns.Messenger { return near }, func() patterns.Messenger { return far })
			m.fan("through two relays", shape, bytes,
				func() patterns.Messenger { return relays[0].Client() }, func() patterns.Messenger { return relays[1].Client() })
		}
	}
}

// listener counts what one subscription gets.
type listener struct{ heard, missed atomic.Uint64 }

func (l *listener) ServePublication(*patterns.Publication) { l.heard.Add(1) }

func (l *listener) ServeGap(g patterns.Gap) { l.missed.Add(g.Missed) }

// fan runs publishers against subscribers, each a client of its own.
func (m *meter) fan(how string, shape [2]int, bytes int, publisher, subscriber func() patterns.Messenger) {
	ctx := context.Background()
	topic := fmt.Sprintf("measure.%p", &shape)
	listeners := make([]listener, shape[1])
	for i := range listeners {
		s, err := subscriber().Subscribe(ctx, topic, &listeners[i], patterns.SubscribeOptions{})
		m.must(err)
		defer s.Close(ctx)
	}
	wait(200 * time.Millisecond) // the acknowledgement is a moment before all publishers know
	var sent atomic.Uint64
	var wg sync.WaitGroup
	begin := time.Now()
	for range shape[0] {
		app := publisher()
		wg.Go(func() {
			body := make([]byte, bytes)
			for time.Since(begin) < topicSpan {
				if err := app.Publish(ctx, topic, patterns.Message{Body: body}); err != nil {
					m.Errorf("publish: %v", err)
					return
				}
				sent.Add(1)
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	want := sent.Load() * uint64(shape[1])
	sums := func() (heard, missed uint64) {
		for i := range listeners {
			heard += listeners[i].heard.Load()
			missed += listeners[i].missed.Load()
		}
		return heard, missed
	}
	harness.Eventually(m, 20*time.Second, "every message is delivered or reported", func() error {
		if heard, missed := sums(); heard+missed != want {
			return fmt.Errorf("%d delivered and %d reported of %d", heard, missed, want)
		}
		return nil
	})
	heard, missed := sums()
	m.say(fmt.Sprintf("publish %d → %d, %s, %d B", shape[0], shape[1], how, bytes),
		"%8.0f published/s  %8.0f delivered/s  %d reported missing", float64(sent.Load())/took.Seconds(), float64(heard)/took.Seconds(), missed)
}
