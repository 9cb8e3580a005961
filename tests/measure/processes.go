// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/tests/harness"
)

const rounds = 20

// echo replies with the body.
var echo = patterns.HandlerFunc(func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
	return patterns.Message{Body: r.Body}, nil
})

func serve(m *meter, r *harness.Relay, cluster string) {
	_, err := r.Client().Serve(context.Background(), cluster, echo, patterns.Limits{})
	m.must(err)
}

// join measures how long a relay takes from its start until a program beside
// it gets a reply from a member elsewhere in a network of two.
func join(m *meter) {
	network := harness.NewNetwork(m)
	relays := network.Relays(2)
	serve(m, relays[1], "echo")
	relays[0].Sees(1, "echo")
	var ready, served []time.Duration
	for i := range rounds {
		begin := time.Now()
		r := network.Relay(fmt.Sprint("j", i), harness.Seed(relays[0]))
		ready = append(ready, time.Since(begin))
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		c := r.Client()
		_, err := c.Request(ctx, "echo", patterns.Message{}, patterns.WaitForMember())
		m.must(err)
		served = append(served, time.Since(begin))
		cancel()
		c.Close()
		r.Terminate()
	}
	m.times("start of the process to its ready line", ready)
	m.times("start of the process to the first reply through it", served)
}

// register measures how long it takes from a registration until a caller at
// another relay has its first reply.
func register(m *meter) {
	relays := harness.NewNetwork(m).Relays(3)
	caller, member := relays[0].Client(), relays[2].Client()
	var acknowledged, called, after []time.Duration
	for i := range rounds {
		cluster := fmt.Sprint("c", i)
		begin := time.Now()
		registration, err := member.Serve(context.Background(), cluster, echo, patterns.Limits{})
		m.must(err)
		known := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		_, err = caller.Request(ctx, cluster, patterns.Message{}, patterns.WaitForMember())
		m.must(err)
		cancel()
		acknowledged = append(acknowledged, known.Sub(begin))
		called = append(called, time.Since(begin))
		after = append(after, time.Since(known))
		m.must(registration.Close(context.Background()))
	}
	m.times("call of Serve to its acknowledgement", acknowledged)
	m.times("acknowledgement to the first reply elsewhere", after)
	m.times("call of Serve to the first reply elsewhere", called)
}

// affected remembers the end of the last request that did not go straight
// through since the last reset.
type affected struct {
	load *harness.Load

	mu     sync.Mutex
	since  time.Time
	last   time.Time
	errors map[string]int
}

func (a *affected) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.since, a.last = time.Now(), time.Time{}
}

func (a *affected) note(how patterns.RequestReport, err error) {
	if err == nil && how.Attempts <= 1 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = time.Now()
	if err != nil {
		a.errors[err.Error()]++
	}
}

func (a *affected) after() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last.IsZero() {
		return 0
	}
	return a.last.Sub(a.since)
}

// asks sends one idempotent request and notes whether it was disturbed.
func (a *affected) asks(c *client.Client) func(n int) error {
	return func(int) error {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		var how patterns.RequestReport
		_, err := c.Request(ctx, "work", patterns.Message{}, patterns.Idempotent(), patterns.Report(&how))
		a.note(how, err)
		return err
	}
}

// ends ends the load, and says what became of it.
func (a *affected) ends(m *meter) {
	m.say("requests, and lost ones", "%d, %v", len(a.load.Stop()), a.errors)
}

// underLoad is three relays with a member each, and so many requests a second at the first.
func underLoad(m *meter, perSecond int, options ...harness.RelayOption) ([]*harness.Relay, *affected) {
	relays := harness.NewNetwork(m).Relays(3, options...)
	for _, r := range relays {
		serve(m, r, "work")
	}
	relays[0].Sees(3, "work")
	a := &affected{errors: map[string]int{}}
	a.load = harness.StartLoad(m, perSecond, a.asks(relays[0].Client()))
	return relays, a
}

// kill measures how long after the SIGKILL of a member's relay requests still
// run into it, under 2,000 requests per second.
func kill(m *meter) {
	relays, trouble := underLoad(m, 2000, harness.Remembering())
	var last, back []time.Duration
	for i := range rounds {
		victim := relays[1+i%2]
		wait(500 * time.Millisecond)
		trouble.reset()
		victim.Kill()
		wait(time.Second)
		last = append(last, trouble.after())
		begin := time.Now()
		victim.Restart()
		relays[0].Sees(3, "work")
		back = append(back, time.Since(begin))
	}
	m.times("SIGKILL to the end of the last affected request", last)
	m.times("start of the relay to its member being seen again", back)
	trouble.ends(m)
}

// stop measures how long after a SIGSTOP callers leave the member out.
func stop(m *meter) {
	relays, trouble := underLoad(m, 200)
	var out, in []time.Duration
	for range 5 {
		victim := relays[2]
		wait(time.Second)
		begin := time.Now()
		victim.Pause()
		until(m, "out of rotation", relays[0], victim, false)
		out = append(out, time.Since(begin))
		wait(time.Second)
		begin = time.Now()
		victim.Continue()
		until(m, "in rotation", relays[0], victim, true)
		in = append(in, time.Since(begin))
	}
	m.times("SIGSTOP to out of rotation", out)
	m.times("SIGCONT to in rotation", in)
	trouble.ends(m)
}

// until waits until the member at host is live, or is not.
func until(m *meter, what string, viewer, host *harness.Relay, live bool) {
	harness.Eventually(m, 20*time.Second, what, func() error {
		state, err := viewer.State("work", host)
		if err == nil && live != (state == "live") {
			err = errors.New("it is " + state)
		}
		return err
	})
}

// idle measures what a relay takes that has nothing to do, but an admin address.
func idle(m *meter) {
	network, watched := harness.NewNetwork(m), harness.Flags("--admin", ":0")
	first := network.Relay("1", watched)
	relays := []*harness.Relay{first, network.Relay("2", watched, harness.Seed(first)), network.Relay("3", watched, harness.Seed(first))}
	wait(10 * time.Second)
	before := make([]time.Duration, len(relays))
	for i, r := range relays {
		before[i] = r.CPU()
	}
	const span = 20 * time.Second
	wait(span)
	for i, r := range relays {
		m.say(fmt.Sprintf("relay %d: resident memory, processor time", i+1), "%.1f MB, %.2f %%",
			float64(r.RSS())/1e6, 100*float64(r.CPU()-before[i])/float64(span))
	}
}

// wait lets time pass: here it is what is measured against.
func wait(d time.Duration) { <-time.After(d) }
