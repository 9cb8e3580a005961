// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/tests/harness"
)

// attached measures what one operation through two relays costs: processor time
// and wake-ups at the relay of who asks, at the other one, and at both programs
// together, which are in this process.
func attached(m *meter) {
	relays := harness.NewNetwork(m).Relays(2)
	near, far := relays[0].Client(), relays[1].Client()
	ctx := context.Background()
	_, err := far.Serve(ctx, "echo", echo, patterns.Limits{})
	m.must(err)
	relays[0].Sees(1, "echo")
	var heard listener
	_, err = far.Subscribe(ctx, "attached.a", &heard, patterns.SubscribeOptions{QueueLength: 1 << 16, QueueBytes: 1 << 28})
	m.must(err)
	body := make([]byte, 1<<10)
	publish := func(int) { m.must(near.Publish(ctx, "attached.a", patterns.Message{Body: body})) }
	request := func(int) {
		_, err := near.Request(ctx, "echo", patterns.Message{Body: body})
		m.must(err)
	}
	each(500, 1, request)
	each(20_000, 1, publish)
	wait(time.Second)
	for range 3 {
		heard.heard.Store(0)
		heard.missed.Store(0)
		costs(m, "publish 1 KB, 1 → 1", relays, 300_000, func(n int) {
			each(n, 1, publish)
			harness.Eventually(m, 20*time.Second, "every message is delivered or reported", func() error {
				if got := heard.heard.Load() + heard.missed.Load(); got != uint64(n) {
					return fmt.Errorf("%d of %d", got, n)
				}
				return nil
			})
		})
		costs(m, "request 1 KB, one at a time", relays, 6_000, func(n int) { each(n, 1, request) })
		costs(m, "request 1 KB, 64 in flight", relays, 30_000, func(n int) { each(n, 64, request) })
	}
}

// each calls f n times on so many goroutines.
func each(n, at int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range at {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				f(int(i))
			}
		})
	}
	wg.Wait()
}

// cost is what a process has used.
type cost struct {
	cpu    time.Duration
	wakes  int
	allocs uint64
}

func (c cost) minus(d cost) cost { return cost{c.cpu - d.cpu, c.wakes - d.wakes, c.allocs - d.allocs} }

func costOf(r *harness.Relay) cost { return cost{cpu: r.CPU(), wakes: r.Wakeups()} }

// ownCost is that of this process.
func ownCost(m *meter) cost {
	var u syscall.Rusage
	m.must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return cost{time.Duration(u.Utime.Nano() + u.Stime.Nano()), int(u.Nvcsw), s.Mallocs}
}

// costs runs n operations and says what one of them cost.
func costs(m *meter, what string, relays []*harness.Relay, n int, f func(n int)) {
	all := func() [3]cost { return [3]cost{costOf(relays[0]), costOf(relays[1]), ownCost(m)} }
	before, begin := all(), time.Now()
	f(n)
	took := time.Since(begin)
	after := all()
	var text string
	var sum cost
	for i, who := range [...]string{"first relay", "second relay", "programs"} {
		c := after[i].minus(before[i])
		sum = cost{sum.cpu + c.cpu, sum.wakes + c.wakes, sum.allocs + c.allocs}
		text += fmt.Sprintf("  %s %.2f µs %.2f wake-ups", who, c.cpu.Seconds()*1e6/float64(n), float64(c.wakes)/float64(n))
	}
	m.say(what, "%.0f/s  %.2f µs%s  programs %.2f allocations", float64(n)/took.Seconds(), sum.cpu.Seconds()*1e6/float64(n), text, float64(sum.allocs)/float64(n))
}
