// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/tests/harness"
)

const (
	floodBody  = 32 << 10 // bytes
	floodQueue = 32 << 20 // bytes that the member lets wait
	floodSpan  = 10 * time.Second
)

// flood measures what ten times as much work as a member can do takes of its
// relay's memory, and of an honest caller's time at another cluster.
func flood(m *meter) {
	relays := harness.NewNetwork(m).Relays(2)
	slow := relays[1].Client()
	work := patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
		time.Sleep(10 * time.Millisecond)
		return patterns.Message{}, nil
	})
	limits := patterns.Limits{Concurrency: 4, QueueBytes: floodQueue, QueueLength: 1 << 13} // 400 requests a second
	_, err := slow.Serve(context.Background(), "slow", work, limits)
	m.must(err)
	serve(m, relays[1], "echo")
	relays[0].Sees(1, "slow")
	relays[0].Sees(1, "echo")
	honest := asks(relays[0].Client())
	m.times("honest caller of another cluster, before", m.sequence(honest))
	before := relays[1].RSS()

	stop := make(chan struct{})
	var outcomes tally
	var wg sync.WaitGroup
	for range 10 {
		app := relays[0].Client()
		for range 400 { // in all ten times 400 requests a second, and more
			wg.Go(func() { outcomes.drive(app, stop) })
		}
	}
	var took []time.Duration
	most := 0
	for begin := time.Now(); time.Since(begin) < floodSpan; {
		start := time.Now()
		m.must(honest())
		took = append(took, time.Since(start))
		most = max(most, relays[1].RSS())
	}
	close(stop)
	wg.Wait()
	m.times("honest caller of another cluster, during", took)
	m.say("flood, by outcome", "%v", outcomes.String())
	m.say("relay of the flooded member", "%.1f MB before, at most %.1f MB; its queue may have %.1f MB",
		float64(before)/1e6, float64(most)/1e6, float64(floodQueue)/1e6)
}

// tally counts outcomes of the flood.
type tally struct{ answered, refused, late, other atomic.Uint64 }

func (c *tally) String() string {
	return fmt.Sprintf("%d answered, %d refused as overloaded, %d late, %d other", c.answered.Load(), c.refused.Load(), c.late.Load(), c.other.Load())
}

func (c *tally) drive(app *client.Client, stop <-chan struct{}) {
	body := make([]byte, floodBody)
	for {
		select {
		case <-stop:
			return
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, err := app.Request(ctx, "slow", patterns.Message{Body: body})
		cancel()
		switch {
		case err == nil:
			c.answered.Add(1)
		case errors.Is(err, patterns.ErrOverloaded):
			c.refused.Add(1)
		case errors.Is(err, context.DeadlineExceeded):
			c.late.Add(1)
		default:
			c.other.Add(1)
		}
	}
}

const (
	warmUp = time.Second
	span   = 3 * time.Second
)

// sequence calls f again and again and returns how long each call took.
func (m *meter) sequence(f func() error) []time.Duration {
	for begin := time.Now(); time.Since(begin) < warmUp; {
		m.must(f())
	}
	var took []time.Duration
	for begin := time.Now(); time.Since(begin) < span; {
		start := time.Now()
		m.must(f())
		took = append(took, time.Since(start))
	}
	return took
}

// asks returns a function that sends one request.
func asks(caller patterns.Messenger) func() error {
	body := make([]byte, 64)
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, err := caller.Request(ctx, "echo", patterns.Message{Body: body}, patterns.WaitForMember())
		return err
	}
}
